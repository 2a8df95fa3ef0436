//! How a simulated tool is to behave, and the patch that changes it at run time.

use std::time::Duration;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use super::fault::Fault;

/// The longest wait that can be set, 10 minutes: long past every time-out, and still a bound.
const LONGEST_MS: u32 = 600_000;

/// How a tool behaves. The default is a fast and healthy one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settings {
    /// What every call waits before it is answered.
    pub latency: Duration,
    /// The most that is added to `latency`; evenly spread over calls.
    pub jitter: Duration,
    /// The share of calls that the tool answers with a 500 of its own.
    pub error_rate: Rate,
    /// Whether `/healthz` says 200 or 503. Calls are answered all the same.
    pub healthy: bool,
    /// What goes wrong on the wire.
    pub fault: Option<Fault>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            latency: Duration::ZERO,
            jitter: Duration::ZERO,
            error_rate: Rate::NEVER,
            healthy: true,
            fault: None,
        }
    }
}

impl Settings {
    /// How long call number `nth` waits.
    pub(super) fn wait(&self, nth: u64) -> Duration {
        self.latency + self.jitter * (spread(nth) >> 12) / (1 << 20)
    }
}

/// A share of all calls, in millionths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate(u32);

impl Rate {
    /// No call at all.
    pub const NEVER: Self = Self(0);
    /// Every call.
    pub const ALWAYS: Self = Self(1_000_000);

    /// Whether call number `nth` is one of those. The same numbers always are: out of any n calls in a row about
    /// `rate × n`, without a period that a load-test could fall in step with.
    pub(super) fn holds(self, nth: u64) -> bool {
        u64::from(spread(nth)) * 1_000_000 < u64::from(self.0) << 32
    }
}

impl<'de> Deserialize<'de> for Rate {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let share = f64::deserialize(deserializer)?;
        if !(0.0..=1.0).contains(&share) {
            return Err(de::Error::custom("error_rate is a share from 0 to 1"));
        }
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "between 0 and 1,000,000")]
        Ok(Self((share * 1e6).round() as u32))
    }
}

impl Serialize for Rate {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(f64::from(self.0) / 1e6)
    }
}

/// A change of settings: what is absent stays. Unknown members are refused.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Patch {
    /// See [`Settings::latency`], in milliseconds, at most 600,000.
    pub latency_ms: Option<u32>,
    /// See [`Settings::jitter`], in milliseconds, at most 600,000.
    pub jitter_ms: Option<u32>,
    /// See [`Settings::error_rate`].
    pub error_rate: Option<Rate>,
    /// See [`Settings::healthy`].
    pub healthy: Option<bool>,
    /// Whether the tool is gone: its listener and its connections closed.
    pub stopped: Option<bool>,
}

impl Patch {
    /// The settings after this patch; `stopped` is the server's to do.
    ///
    /// # Errors
    /// When a wait is longer than 10 minutes, in words for the caller.
    pub fn apply(&self, settings: Settings) -> Result<Settings, &'static str> {
        if self.latency_ms.max(self.jitter_ms).is_some_and(|wait| wait > LONGEST_MS) {
            return Err("latency_ms and jitter_ms are at most 600000");
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

/// The fractional part of nth × golden ratio as 32 bits: the evenest spread of a growing sequence.
fn spread(nth: u64) -> u32 {
    u32::try_from(nth.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_rate_is_kept_to_over_any_stretch_of_calls() {
        for from in [0, 7, 1_000_003] {
            let rate = Rate(250_000);
            let hit = (from..from + 1000).filter(|&nth| rate.holds(nth)).count();
            assert!((245..=255).contains(&hit), "{hit} of 1000");
        }
        assert!((0..1000).all(|nth| Rate::ALWAYS.holds(nth) && !Rate::NEVER.holds(nth)));
    }

    #[test]
    fn jitter_only_ever_adds_and_never_more_than_was_set() {
        let settings = Settings {
            latency: Duration::from_millis(10),
            jitter: Duration::from_millis(5),
            ..Settings::default()
        };
        let waits: Vec<_> = (0..1000).map(|nth| settings.wait(nth)).collect();
        assert!(waits.iter().all(|wait| (10..15).contains(&wait.as_millis())));
        assert!(waits.iter().any(|wait| wait.as_millis() == 14));
    }

    #[test]
    fn a_patch_leaves_what_it_does_not_name() {
        let patch: Patch = serde_json::from_str(r#"{"latency_ms": 40}"#).unwrap();
        let sick = Settings { healthy: false, ..Settings::default() };
        let patched = patch.apply(sick).unwrap();
        assert_eq!(patched, Settings { latency: Duration::from_millis(40), ..sick });
    }

    #[test]
    fn a_patch_with_an_unknown_member_or_a_value_out_of_range_is_refused() {
        for text in [r#"{"latency": 4}"#, r#"{"error_rate": 1.1}"#, r#"{"latency_ms": -1}"#] {
            assert!(serde_json::from_str::<Patch>(text).is_err(), "{text}");
        }
        let patch: Patch = serde_json::from_str(r#"{"jitter_ms": 600001}"#).unwrap();
        assert!(patch.apply(Settings::default()).is_err());
    }
}
