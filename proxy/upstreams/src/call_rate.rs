//! The limit of a pool's rate of calls. Pure.

use transport::clock::Monotonic;

/// A token bucket that holds the calls of one second.
#[derive(Clone, Copy, Debug)]
pub(super) struct CallRate {
    /// In thousandths of a call.
    tokens: u64,
    /// The time of the last refill.
    at: Monotonic,
}

const CALL: u64 = 1_000;

impl CallRate {
    /// Returns a full bucket, whatever the rate is.
    pub(super) const fn new(now: Monotonic) -> Self {
        Self { tokens: u64::MAX, at: now }
    }

    /// Returns the bucket after one more call at `now`.
    ///
    /// # Errors
    /// Returns the milliseconds until the next call passes, if the rate of `per_second` calls is
    /// exceeded.
    pub(super) fn after_call(self, per_second: u64, now: Monotonic) -> Result<Self, u64> {
        let per_second = per_second.max(1);
        // A thousandth of a call for each call a second in each millisecond.
        let earned = now.since(self.at).saturating_mul(per_second);
        let tokens = self.tokens.saturating_add(earned).min(per_second.saturating_mul(CALL));
        match tokens.checked_sub(CALL) {
            // Threads read the clock before the lock. An earlier reading must not earn the same
            // time twice.
            Some(tokens) => Ok(Self { tokens, at: now.max(self.at) }),
            None => Err((CALL - tokens).div_ceil(per_second)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> Monotonic {
        Monotonic::from_millis(millis)
    }

    #[test]
    fn rate_passes_a_second_at_once_and_then_its_share() {
        for (per_second, seconds) in [(1, 20), (7, 10), (1_000, 3)] {
            let mut rate = CallRate::new(at(0));
            let mut passed = 0;
            for call in 0..5 * per_second * seconds {
                if let Ok(after) = rate.after_call(per_second, at(call * 200 / per_second)) {
                    rate = after;
                    passed += 1;
                }
            }
            let expected = per_second + per_second * seconds;
            assert!((expected - 1..=expected).contains(&passed), "{passed} of {expected}");
        }
    }

    #[test]
    fn refusal_names_the_time_until_the_next_call_passes() {
        let mut rate = CallRate::new(at(0));
        for _ in 0..2 {
            rate = rate.after_call(2, at(1_000)).unwrap();
        }
        assert_eq!(rate.after_call(2, at(1_000)).unwrap_err(), 500);
        assert_eq!(rate.after_call(2, at(1_200)).unwrap_err(), 300);
        assert!(rate.after_call(2, at(1_500)).is_ok());
    }
}
