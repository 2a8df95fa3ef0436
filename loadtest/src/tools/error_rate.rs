//! An error rate that selects calls deterministically.

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use crate::random::spread;

/// The share of calls that fail, in millionths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ErrorRate(u32);

impl ErrorRate {
    /// No calls.
    pub const NEVER: Self = Self(0);
    /// All calls.
    pub const ALWAYS: Self = Self(1_000_000);

    /// Returns true if call number `nth` fails.
    ///
    /// Deterministic: of any `n` consecutive calls about `rate × n` fail, without a period that a
    /// load test could match.
    pub(super) fn selects(self, nth: u64) -> bool {
        u64::from(spread(nth)) * 1_000_000 < u64::from(self.0) << 32
    }
}

impl<'de> Deserialize<'de> for ErrorRate {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let share = f64::deserialize(deserializer)?;
        if !(0.0..=1.0).contains(&share) {
            return Err(de::Error::custom(format!("invalid rate {share}: expected 0 to 1")));
        }
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "between 0 and 1,000,000")]
        Ok(Self((share * 1e6).round() as u32))
    }
}

impl Serialize for ErrorRate {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_f64(f64::from(self.0) / 1e6)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn error_rate_holds_for_any_consecutive_calls() {
        for from in [0, 7, 1_000_003] {
            let rate = ErrorRate(250_000);
            let failed = (from..from + 1000).filter(|&nth| rate.selects(nth)).count();
            assert!((245..=255).contains(&failed), "{failed} of 1000");
        }
        assert!((0..1000).all(|nth| ErrorRate::ALWAYS.selects(nth) && !ErrorRate::NEVER.selects(nth)));
    }
}
