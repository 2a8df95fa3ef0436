//! The range of rates in which the knee is searched.

use std::time::Duration;

use thiserror::Error;

use crate::schedule::Stage;

/// The duration of a step if none is given.
pub(super) const DEFAULT_STEP: Duration = Duration::from_secs(10);

/// A range of rates.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct KneeRange {
    pub(super) from: f64,
    pub(super) to: f64,
}

/// A text that is not a range of rates.
#[derive(Debug, Error)]
#[error(
    "invalid range `{0}`: expected the lowest and the highest rate in calls per second, for example 100..5000"
)]
pub(super) struct KneeRangeError(String);

impl KneeRange {
    /// Returns the most calls that steps can have within a minute: all at the highest rate.
    pub(super) const fn fullest_minute(&self) -> Stage {
        Stage { duration: Duration::from_secs(60), from: self.to, to: self.to, burst: false }
    }

    /// Parses `100..5000`.
    pub(super) fn parse(text: &str) -> Result<Self, KneeRangeError> {
        let rate = |text: &str| {
            let rate: f64 = text.trim().trim_end_matches("/s").parse().ok()?;
            (rate.is_finite() && rate >= 1.0).then_some(rate)
        };
        let range =
            text.split_once("..").and_then(|(from, to)| Some(Self { from: rate(from)?, to: rate(to)? }));
        range.filter(|range| range.from < range.to).ok_or_else(|| KneeRangeError(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invalid_range_is_error_that_shows_a_range() {
        for text in ["100", "5..1", "0..10", "a..b", "10..10"] {
            let error = KneeRange::parse(text).unwrap_err().to_string();
            assert!(error.contains(&format!("`{text}`")) && error.contains("100..5000"), "{error}");
        }
        assert_eq!(KneeRange::parse("100..5000").unwrap(), KneeRange { from: 100.0, to: 5000.0 });
    }
}
