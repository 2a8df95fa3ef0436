//! The settings of a simulated tool, and the patch that changes them at run time.

use std::time::Duration;

use serde::{Deserialize, Deserializer};
use thiserror::Error;

use super::error_rate::ErrorRate;
use super::fault::Fault;
use super::latency::{DistributionError, LatencyDistribution};
use crate::random::spread;

/// The maximum latency and jitter: 10 minutes, longer than any timeout.
const MAX_LATENCY_MS: u32 = 600_000;
/// The maximum size of a response.
const MAX_BODY_BYTES: u32 = 64 << 20;

/// The settings of a tool. The default is fast and healthy.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Settings {
    /// The delay before every response.
    pub latency: Duration,
    /// The maximum additional delay, uniformly distributed over calls.
    pub jitter: Duration,
    /// A distribution of further delays.
    pub distribution: Option<LatencyDistribution>,
    /// The share of calls that get a 500.
    pub error_rate: ErrorRate,
    /// The share of calls that get no response.
    pub hang_rate: ErrorRate,
    /// The size of responses to actions without their own meaning, in place of a description of
    /// the request.
    pub body_bytes: Option<u32>,
    /// True if `/healthz` returns 200, not 503. Calls are not affected.
    pub healthy: bool,
    /// The fault to inject.
    pub fault: Option<Fault>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            latency: Duration::ZERO,
            jitter: Duration::ZERO,
            distribution: None,
            error_rate: ErrorRate::NEVER,
            hang_rate: ErrorRate::NEVER,
            body_bytes: None,
            healthy: true,
            fault: None,
        }
    }
}

impl Settings {
    /// Returns the delay of call number `nth`.
    pub(super) fn latency(&self, nth: u64) -> Duration {
        let distributed = self.distribution.map_or(Duration::ZERO, |distribution| distribution.sample(nth));
        self.latency + self.jitter * (spread(nth) >> 12) / (1 << 20) + distributed
    }
}

/// A change of settings. Absent members keep their value. Unknown members are errors.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SettingsPatch {
    /// `Settings::latency` in milliseconds, at most 600,000.
    pub latency_ms: Option<u32>,
    /// `Settings::jitter` in milliseconds, at most 600,000.
    pub jitter_ms: Option<u32>,
    /// `Settings::distribution`. Null clears it.
    #[serde(deserialize_with = "present")]
    pub latency: Option<Option<LatencyDistribution>>,
    /// `Settings::error_rate`.
    pub error_rate: Option<ErrorRate>,
    /// `Settings::hang_rate`.
    pub hang_rate: Option<ErrorRate>,
    /// `Settings::body_bytes`, at most 64 MiB. Null clears it.
    #[serde(deserialize_with = "present")]
    pub body_bytes: Option<Option<u32>>,
    /// `Settings::healthy`.
    pub healthy: Option<bool>,
    /// True if the tool is stopped, with its listener and connections closed.
    pub stopped: Option<bool>,
}

/// Reads a member that may be null. An absent one is `None`.
fn present<'de, T: Deserialize<'de>, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Option<T>>, D::Error> {
    Option::deserialize(deserializer).map(Some)
}

/// A setting that is out of range.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum SettingsError {
    /// A number is too large.
    #[error("invalid {name} {value}: expected at most {maximum}")]
    TooLarge {
        /// The name of the setting.
        name: &'static str,
        /// The value.
        value: u32,
        /// The maximum.
        maximum: u32,
    },
    /// The distribution of latencies is invalid.
    #[error(transparent)]
    Distribution(#[from] DistributionError),
}

impl SettingsPatch {
    /// Returns the patched settings. Ignores `stopped`, which the server handles.
    ///
    /// # Errors
    /// Returns an error if a delay exceeds 10 minutes or a size 64 MiB.
    pub fn apply(&self, settings: Settings) -> Result<Settings, SettingsError> {
        let bounded = [
            ("latency_ms", self.latency_ms, MAX_LATENCY_MS),
            ("jitter_ms", self.jitter_ms, MAX_LATENCY_MS),
            ("body_bytes", self.body_bytes.flatten(), MAX_BODY_BYTES),
        ];
        for (name, value, maximum) in bounded {
            if let Some(value) = value.filter(|&value| value > maximum) {
                return Err(SettingsError::TooLarge { name, value, maximum });
            }
        }
        let distribution = self.latency.map(|latency| latency.map(LatencyDistribution::check).transpose());
        let millis = |wait: u32| Duration::from_millis(wait.into());
        Ok(Settings {
            latency: self.latency_ms.map_or(settings.latency, millis),
            jitter: self.jitter_ms.map_or(settings.jitter, millis),
            distribution: distribution.transpose()?.unwrap_or(settings.distribution),
            error_rate: self.error_rate.unwrap_or(settings.error_rate),
            hang_rate: self.hang_rate.unwrap_or(settings.hang_rate),
            body_bytes: self.body_bytes.unwrap_or(settings.body_bytes),
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
        let text =
            r#"{"latency": {"kind": "exponential", "mean_ms": 5}, "body_bytes": 10, "hang_rate": 0.5}"#;
        let set = serde_json::from_str::<SettingsPatch>(text).unwrap().apply(patched).unwrap();
        assert_eq!(
            (set.distribution, set.body_bytes),
            (Some(LatencyDistribution::Exponential { mean_ms: 5.0 }), Some(10))
        );
        let clear: SettingsPatch =
            serde_json::from_str(r#"{"latency": null, "body_bytes": null, "hang_rate": 0}"#).unwrap();
        assert_eq!(clear.apply(set).unwrap(), patched);
    }

    #[test]
    fn patch_with_unknown_member_or_bad_value_is_error() {
        for text in [
            r#"{"latency": 4}"#,
            r#"{"delay_ms": 4}"#,
            r#"{"hang_rate": 2}"#,
            r#"{"error_rate": 1.1}"#,
            r#"{"latency_ms": -1}"#,
        ] {
            assert!(serde_json::from_str::<SettingsPatch>(text).is_err(), "{text}");
        }
        let patch: SettingsPatch = serde_json::from_str(r#"{"jitter_ms": 600001}"#).unwrap();
        let error = SettingsError::TooLarge { name: "jitter_ms", value: 600_001, maximum: 600_000 };
        assert_eq!(patch.apply(Settings::default()), Err(error));
    }
}
