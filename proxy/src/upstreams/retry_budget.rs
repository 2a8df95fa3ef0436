//! How many calls may be made a second time: a share of all calls, so that retries cannot become a storm of their own.

use transport::clock::Monotonic;

/// A retry is paid for with what calls leave behind.
#[derive(Clone, Copy, Debug)]
pub(super) struct RetryBudget {
    /// In thousandths of a retry.
    saved: u64,
    at: Monotonic,
}

const RETRY: u64 = 1_000;
/// What a pool with hardly any calls may retry in each second.
const FLOOR_PER_SECOND: u64 = 3;
/// What can be saved up.
const MOST: u64 = 10 * RETRY;

impl RetryBudget {
    /// A budget that nothing was taken from.
    #[must_use]
    pub(super) const fn new(now: Monotonic) -> Self {
        Self { saved: MOST, at: now }
    }

    /// After one more call, of which `percent` hundredths may be retried.
    #[must_use]
    pub(super) fn after_call(self, percent: u64) -> Self {
        Self { saved: self.saved.saturating_add(percent * RETRY / 100).min(MOST), ..self }
    }

    /// After a retry at `now`; `None` when there is nothing left for it.
    #[must_use]
    pub(super) fn after_retry(self, now: Monotonic) -> Option<Self> {
        let earned = now.since(self.at).saturating_mul(FLOOR_PER_SECOND * RETRY / 1_000);
        let saved = self.saved.saturating_add(earned).min(MOST).checked_sub(RETRY);
        saved.map(|saved| Self { saved, at: now.max(self.at) })
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
        let most = calls * seconds / 5 + FLOOR_PER_SECOND * seconds + MOST / RETRY;
        assert!(retries <= most && retries >= most - 5, "{retries} of at most {most}");
    }

    #[test]
    fn pool_with_one_call_a_second_retries_each() {
        assert_eq!(retries(1, 60, 20), 60);
    }

    #[test]
    fn zero_percent_leaves_the_floor() {
        assert_eq!(retries(1_000, 10, 0), MOST / RETRY + FLOOR_PER_SECOND * 10 - 1);
    }

    #[test]
    fn stopped_clock_earns_nothing() {
        let now = Monotonic::from_millis(5);
        let mut budget = RetryBudget::new(now);
        for _ in 0..MOST / RETRY {
            budget = budget.after_retry(now).unwrap();
        }
        assert!(budget.after_retry(now).is_none());
    }
}
