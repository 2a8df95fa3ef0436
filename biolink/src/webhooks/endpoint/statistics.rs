//! Statistics of an endpoint since its creation.

use serde::{Deserialize, Serialize};

use crate::webhooks::{AttemptResult, KindCounts, WebhookKind};

/// Upper ends of the classes of durations, in milliseconds. The last class has no end.
const BOUNDS_MS: [u64; 15] =
    [10, 20, 35, 50, 75, 100, 150, 250, 500, 1_000, 2_000, 3_500, 5_000, 10_000, 15_000];

/// Counters of an endpoint.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Statistics {
    /// Events that were delivered.
    pub delivered: u64,
    /// Events whose attempts are used up, or which the endpoint has refused with 410.
    pub failed: u64,
    /// Events that were dropped because too many waited.
    pub dropped: KindCounts,
    /// Attempts with a 2xx.
    pub successful_attempts: u64,
    /// Other attempts.
    pub failed_attempts: u64,
    /// The number of successful attempts in each class of durations.
    durations: [u64; BOUNDS_MS.len() + 1],
}

impl Statistics {
    /// Counts events that were dropped.
    pub fn record_dropped(&mut self, kind: WebhookKind, events: u64) {
        self.dropped.add(kind, events);
    }

    /// Counts an attempt.
    pub(super) fn record_attempt(&mut self, result: AttemptResult, duration_ms: u64) {
        if !result.is_success() {
            self.failed_attempts = self.failed_attempts.saturating_add(1);
            return;
        }
        self.successful_attempts = self.successful_attempts.saturating_add(1);
        let class = BOUNDS_MS.partition_point(|bound| *bound < duration_ms);
        if let Some(count) = self.durations.get_mut(class) {
            *count = count.saturating_add(1);
        }
    }

    /// Returns the duration that this share of successful attempts did not exceed, in milliseconds:
    /// the end of its class. `None` if there was no attempt.
    pub fn percentile_ms(&self, percent: u64) -> Option<u64> {
        let total: u64 = self.durations.iter().sum();
        let rank = total.saturating_mul(percent).div_ceil(100).max(1);
        let mut seen = 0u64;
        let class = self.durations.iter().position(|count| {
            seen = seen.saturating_add(*count);
            seen >= rank
        })?;
        Some(BOUNDS_MS.get(class).or(BOUNDS_MS.last()).copied().unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use shared::json;

    use super::*;

    fn recorded(durations: impl IntoIterator<Item = u64>) -> Statistics {
        let mut statistics = Statistics::default();
        for duration in durations {
            let result = AttemptResult::Response { status: 200, retry_after_ms: None };
            statistics.record_attempt(result, duration);
        }
        statistics
    }

    #[test]
    fn percentile_is_the_end_of_its_class() {
        let statistics = recorded((0..94).map(|_| 30).chain([800; 6]));
        assert_eq!(statistics.percentile_ms(50), Some(35));
        assert_eq!(statistics.percentile_ms(94), Some(35));
        assert_eq!(statistics.percentile_ms(95), Some(1_000));
        assert_eq!(recorded([10]).percentile_ms(95), Some(10));
        assert_eq!(recorded([20_000]).percentile_ms(50), Some(15_000));
        assert_eq!(Statistics::default().percentile_ms(50), None);
    }

    #[test]
    fn attempts_are_counted_by_result() {
        let mut statistics = recorded([1, 2]);
        statistics.record_attempt(AttemptResult::TimedOut, 15_000);
        assert_eq!((statistics.successful_attempts, statistics.failed_attempts), (2, 1));
        assert_eq!(statistics.percentile_ms(100), Some(10), "failures have no say");
        statistics.record_dropped(WebhookKind::Click, 7);
        assert_eq!(statistics.dropped.of(WebhookKind::Click), 7);
        let text = serde_json::to_string(&statistics).unwrap();
        assert_eq!(json::from_str(&text), Ok(statistics));
        assert_eq!(json::from_str("{}"), Ok(Statistics::default()));
    }
}
