//! The settings of a simulated tool, and the patch that changes them at run time.

use std::time::Duration;

use serde::Deserialize;
use thiserror::Error;

use super::error_rate::{ErrorRate, spread};
use super::fault::Fault;

/// The maximum latency and jitter: 10 minutes, longer than any timeout.
const MAX_LATENCY_MS: u32 = 600_000;

/// The settings of a tool. The default is fast and healthy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// The delay before every response.
    pub latency: Duration,
    /// The maximum additional delay, uniformly distributed over calls.
    pub jitter: Duration,
    /// The share of calls that get a 500.
    pub error_rate: ErrorRate,
    /// Whether `/healthz` returns 200 or 503. Calls are not affected.
    pub healthy: bool,
    /// The fault to inject.
    pub fault: Option<Fault>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            latency: Duration::ZERO,
            jitter: Duration::ZERO,
            error_rate: ErrorRate::NEVER,
            healthy: true,
            fault: None,
        }
    }
}

impl Settings {
    /// Returns the delay of call number `nth`.
    pub(super) fn latency(&self, nth: u64) -> Duration {
        self.latency + self.jitter * (spread(nth) >> 12) / (1 << 20)
    }
}

/// A change of settings. Absent members keep their value. Unknown members are errors.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SettingsPatch {
    /// `Settings::latency` in milliseconds, at most 600,000.
    pub latency_ms: Option<u32>,
    /// `Settings::jitter` in milliseconds, at most 600,000.
    pub jitter_ms: Option<u32>,
    /// `Settings::error_rate`.
    pub error_rate: Option<ErrorRate>,
    /// `Settings::healthy`.
    pub healthy: Option<bool>,
    /// Whether the tool is stopped, with its listener and connections closed.
    pub stopped: Option<bool>,
}

/// A setting that is out of range.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("invalid {name} {value}: expected at most {MAX_LATENCY_MS}")]
pub struct SettingsError {
    /// The name of the setting.
    pub name: &'static str,
    /// The value in milliseconds.
    pub value: u32,
}

impl SettingsPatch {
    /// Returns the patched settings. Ignores `stopped`, which the server handles.
    ///
    /// # Errors
    /// Returns an error if latency or jitter exceeds 10 minutes.
    pub fn apply(&self, settings: Settings) -> Result<Settings, SettingsError> {
        for (name, value) in [("latency_ms", self.latency_ms), ("jitter_ms", self.jitter_ms)] {
            if let Some(value) = value.filter(|&value| value > MAX_LATENCY_MS) {
                return Err(SettingsError { name, value });
            }
        }
        let millis = |wait: u32| Duration::from_millis(wait.into());
        Ok(Settings {
            latency: self.latency_ms.map_or(settings.latency, millis),
            jitter: self.jitter_ms.map_or(settings.jitter, millis),
            error_rate: self.error_rate.unwrap_or(settings.error_rate),
            healthy: self.healthy.unwrap_or(settings.healthy),
            fault: settings.fault,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jitter_adds_at_most_its_value() {
        let settings = Settings {
            latency: Duration::from_millis(10),
            jitter: Duration::from_millis(5),
            ..Settings::default()
        };
        let waits: Vec<_> = (0..1000).map(|nth| settings.latency(nth)).collect();
        assert!(waits.iter().all(|wait| (10..15).contains(&wait.as_millis())));
        assert!(waits.iter().any(|wait| wait.as_millis() == 14));
    }

    #[test]
    fn patch_keeps_absent_settings() {
        let patch: SettingsPatch = serde_json::from_str(r#"{"latency_ms": 40}"#).unwrap();
        let unhealthy = Settings { healthy: false, ..Settings::default() };
        let patched = patch.apply(unhealthy).unwrap();
        assert_eq!(patched, Settings { latency: Duration::from_millis(40), ..unhealthy });
    }

    #[test]
    fn patch_with_unknown_member_or_bad_value_is_error() {
        for text in [r#"{"latency": 4}"#, r#"{"error_rate": 1.1}"#, r#"{"latency_ms": -1}"#] {
            assert!(serde_json::from_str::<SettingsPatch>(text).is_err(), "{text}");
        }
        let patch: SettingsPatch = serde_json::from_str(r#"{"jitter_ms": 600001}"#).unwrap();
        let error = SettingsError { name: "jitter_ms", value: 600_001 };
        assert_eq!(patch.apply(Settings::default()), Err(error));
    }
}
