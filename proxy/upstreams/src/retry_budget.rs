//! The retry budget of a pool. It limits retries to a share of all calls, which prevents retry
//! storms.

use transport::clock::Monotonic;

/// A token bucket that earns a share of calls plus three tokens a second. A retry costs one token.
#[derive(Clone, Copy, Debug)]
pub(super) struct RetryBudget {
    /// In thousandths of a token.
    tokens: u64,
    /// The time of the last refill.
    at: Monotonic,
}

const RETRY: u64 = 1_000;
/// Retries a second that every pool may make, however few calls it has.
const FLOOR_PER_SECOND: u64 = 3;
/// Capacity of the bucket.
const CAPACITY: u64 = 10 * RETRY;

impl RetryBudget {
    /// Creates a full bucket.
    pub(super) const fn new(now: Monotonic) -> Self {
        Self { tokens: CAPACITY, at: now }
    }

    /// Returns the budget after one more call, which earns `percent` hundredths of a token.
    #[must_use]
    pub(super) fn after_call(self, percent: u64) -> Self {
        Self { tokens: self.tokens.saturating_add(percent * RETRY / 100).min(CAPACITY), ..self }
    }

    /// Returns the budget after a retry at `now`, or `None` if it has less than one token.
    #[must_use]
    pub(super) fn after_retry(self, now: Monotonic) -> Option<Self> {
        let earned = now.since(self.at).saturating_mul(FLOOR_PER_SECOND * RETRY / 1_000);
        let tokens = self.tokens.saturating_add(earned).min(CAPACITY).checked_sub(RETRY);
        // The time is kept only with a retry: tokens of a refused one are earned when it is asked
        // again.
        tokens.map(|tokens| Self { tokens, at: now.max(self.at) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn retries(calls_per_second: u64, seconds: u64, percent: u64) -> u64 {
        let mut budget = RetryBudget::new(Monotonic::from_millis(0));
        let mut retries = 0;
        for call in 0..calls_per_second * seconds {
            budget = budget.after_call(percent);
            let now = Monotonic::from_millis(call * 1_000 / calls_per_second);
            if let Some(after) = budget.after_retry(now) {
                budget = after;
                retries += 1;
            }
        }
        retries
    }

    #[test]
    fn budget_allows_a_fifth_plus_three_retries_a_second() {
        let (calls, seconds) = (1_000, 20);
        let retries = retries(calls, seconds, 20);
        let max = calls * seconds / 5 + FLOOR_PER_SECOND * seconds + CAPACITY / RETRY;
        assert!(retries <= max && retries >= max - 5, "{retries} of at most {max}");
    }

    #[test]
    fn pool_with_one_call_a_second_retries_each() {
        assert_eq!(retries(1, 60, 20), 60);
    }

    #[test]
    fn zero_percent_leaves_the_floor() {
        assert_eq!(retries(1_000, 10, 0), CAPACITY / RETRY + FLOOR_PER_SECOND * 10 - 1);
    }

    #[test]
    fn stopped_clock_earns_nothing() {
        let now = Monotonic::from_millis(5);
        let mut budget = RetryBudget::new(now);
        for _ in 0..CAPACITY / RETRY {
            budget = budget.after_retry(now).unwrap();
        }
        assert!(budget.after_retry(now).is_none());
    }
}
