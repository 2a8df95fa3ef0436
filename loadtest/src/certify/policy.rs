//! A limit to certify, and the calls that test it.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use thiserror::Error;

use crate::duration;

/// Maximum number of calls of a limit: a run sends seven times as many.
const MAX_CALLS: u32 = 10_000;

/// A limit: a number of calls in any window of this length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LimitPolicy {
    pub(super) calls: u32,
    pub(super) window: Duration,
}

/// A text that is not a limit.
#[derive(Debug, PartialEq, Eq, Error)]
#[error(
    "invalid limit `{0}`: expected 1 to {MAX_CALLS} calls and a window of 1 s to 1 h, for example 100/60s"
)]
pub(super) struct PolicyError(String);

impl LimitPolicy {
    /// Returns the times of the calls, from a start that is `since_boundary` into a window of the clock.
    pub(super) fn schedule(self, since_boundary: Duration) -> Vec<Duration> {
        let Self { calls, window } = self;
        // The call that opens a window comes at a boundary of the clock, after a quiet window.
        let opening = window * 3 - since_boundary;
        // Half of the burst comes before the boundary and half after it: a fixed window admits both
        // halves.
        let burst_from = opening + window - window / 20;
        let evenly = |from: Duration, length: Duration| {
            (0..calls * 3).map(move |nth| from + length * nth / (calls * 3))
        };
        let steady = evenly(Duration::ZERO, window);
        steady.chain([opening]).chain(evenly(burst_from, window / 10)).collect()
    }
}

impl FromStr for LimitPolicy {
    type Err = PolicyError;

    fn from_str(text: &str) -> Result<Self, PolicyError> {
        let parse = || {
            let (calls, window) = text.split_once('/')?;
            let (calls, window) = (calls.parse().ok()?, duration::parse(window)?);
            let is_valid = (1..=MAX_CALLS).contains(&calls)
                && (Duration::from_secs(1)..=Duration::from_secs(3_600)).contains(&window);
            is_valid.then_some(Self { calls, window })
        };
        parse().ok_or_else(|| PolicyError(text.to_owned()))
    }
}

impl fmt::Display for LimitPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} calls in any {} s", self.calls, self.window.as_secs_f64())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limit_is_calls_and_a_window() {
        let policy = LimitPolicy { calls: 100, window: Duration::from_secs(60) };
        assert_eq!("100/60s".parse(), Ok(policy));
        assert_eq!(policy.to_string(), "100 calls in any 60 s");
        for text in ["", "100", "0/60s", "10001/60s", "100/60", "100/0s", "100/2h", "x/60s"] {
            assert_eq!(text.parse::<LimitPolicy>(), Err(PolicyError(text.to_owned())), "{text}");
        }
    }

    /// The burst lies around the end of the window that the single call opens, on the clock's boundary.
    #[test]
    fn schedule_has_a_steady_window_and_a_burst_at_a_boundary() {
        let policy = LimitPolicy { calls: 10, window: Duration::from_secs(60) };
        let times = policy.schedule(Duration::from_secs(25));
        assert_eq!(times.len(), 61);
        assert_eq!(times[0], Duration::ZERO);
        assert!(times[29] < Duration::from_secs(60));
        assert_eq!(times[30], Duration::from_secs(155), "25 s and 155 s are three minutes");
        assert_eq!(times[31], Duration::from_secs(212));
        let before = times[31..].iter().filter(|time| **time < Duration::from_secs(215)).count();
        assert_eq!((before, times[31..].len()), (15, 30));
    }
}
