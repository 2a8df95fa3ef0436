//! Outlier detection by slowness: compares the time of a response with the median of the other
//! upstreams. Pure.
//!
//! Why: docs/decisions/proxy.md, "A slow response is a failure among seven".

use std::time::Duration;

use crate::config::EjectConfig;

/// The last response times of an upstream, in microseconds: a ring buffer.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ResponseTimes {
    times: [u32; WINDOW],
    /// Number of times recorded so far.
    recorded: usize,
}

/// Its median follows when four responses in a row are slow, before five eject an upstream. If all
/// upstreams become slow together, none is an outlier.
const WINDOW: usize = 7;
/// Minimum number of times for a median.
const MIN_TIMES: usize = 4;

impl ResponseTimes {
    /// Adds the time of one more response, in place of the oldest one.
    pub(super) fn record(&mut self, took: Duration) {
        let micros = u32::try_from(took.as_micros()).unwrap_or(u32::MAX);
        if let Some(slot) = self.times.get_mut(self.recorded % WINDOW) {
            *slot = micros;
        }
        self.recorded = self.recorded.saturating_add(1);
    }

    /// Returns the median, or `None` if fewer than four times are known.
    pub(super) fn median(&self) -> Option<u32> {
        let mut times = self.times;
        let known = times.get_mut(..self.recorded.min(WINDOW)).filter(|known| known.len() >= MIN_TIMES)?;
        upper_median(known)
    }
}

/// Returns true if a response was slow: it took at least `slow_min`, and more than `slow_factor` times
/// the median of `peers`, the medians of the other upstreams.
pub(super) fn is_slow(took: Duration, peers: impl Iterator<Item = u32>, rules: &EjectConfig) -> bool {
    if rules.slow_factor == 0 || took < rules.slow_min {
        return false;
    }
    typical(peers)
        .is_some_and(|typical| took.as_micros() > u128::from(typical.max(1)) * u128::from(rules.slow_factor))
}

/// Returns the median of `peers`.
pub(super) fn typical(peers: impl Iterator<Item = u32>) -> Option<u32> {
    upper_median(&mut peers.collect::<Vec<_>>())
}

/// Returns the higher one of two medians, so that two unlike peers make no upstream an outlier.
fn upper_median(times: &mut [u32]) -> Option<u32> {
    times.sort_unstable();
    times.get(times.len() / 2).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules() -> EjectConfig {
        EjectConfig { slow_factor: 5, ..EjectConfig::default() }
    }

    fn is_slow(millis: u64, peers: &[u32]) -> bool {
        let peers = peers.iter().map(|millis| millis * 1_000);
        super::is_slow(Duration::from_millis(millis), peers, &rules())
    }

    #[test]
    fn response_beyond_the_factor_of_the_median_is_slow() {
        assert!(is_slow(251, &[50]) && !is_slow(250, &[50]));
        assert!(is_slow(300, &[40, 50, 2_000]), "one slow peer does not move the median");
        assert!(!is_slow(300, &[10, 100]), "of two peers the slower one counts");
        assert!(!is_slow(10_000, &[]), "without peers nothing is slow");
        let off = EjectConfig { slow_factor: 0, ..rules() };
        assert!(!super::is_slow(Duration::from_secs(60), [1].into_iter(), &off));
    }

    #[test]
    fn response_within_the_least_time_is_not_slow() {
        assert!(!is_slow(99, &[0, 1, 1]) && is_slow(100, &[0, 1, 1]));
    }

    #[test]
    fn median_needs_four_times_and_follows_four_slow_ones() {
        let mut times = ResponseTimes::default();
        for expected in [None, None, None, Some(10_000)] {
            times.record(Duration::from_millis(10));
            assert_eq!(times.median(), expected);
        }
        for _ in 0..20 {
            times.record(Duration::from_millis(10));
        }
        for expected in [10_000, 10_000, 10_000, 900_000] {
            times.record(Duration::from_millis(900));
            assert_eq!(times.median(), Some(expected));
        }
    }
}
