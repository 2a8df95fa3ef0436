//! Outlier detection by slowness: compares the time of a response with the median of the other
//! upstreams. Pure.
//!
//! Why: docs/decisions/proxy.md, "A slow response is a failure among seven".

use std::time::{Duration, Instant};

use config::EjectConfig;

/// The last response times of an upstream, in microseconds: a ring buffer.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ResponseTimes {
    times: [u32; WINDOW],
    /// Number of times recorded so far.
    recorded: usize,
    last: Option<TimedResponse>,
}

/// A response whose time is known.
#[derive(Clone, Copy, Debug)]
pub(super) struct TimedResponse {
    /// When its call was sent.
    pub(super) sent: Instant,
    pub(super) took: Duration,
    /// Its number among the responses of the pool, from 1.
    pub(super) number: u64,
}

/// What the time of a response says of its upstream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Speed {
    /// It is as fast as the others.
    Usual,
    /// It is slow beside the others.
    Slow,
    /// Nothing: it was slow, and the others are not known to be faster now.
    Unknown,
}

/// Its median follows when four responses in a row are slow, before five eject an upstream. If all
/// upstreams become slow together, none is an outlier.
const WINDOW: usize = 7;
/// Minimum number of times for a median.
const MIN_TIMES: usize = 4;

impl ResponseTimes {
    /// Adds the time of a response in place of the oldest one. Returns the number of the one before, or 0.
    pub(super) fn record(&mut self, response: TimedResponse) -> u64 {
        let micros = u32::try_from(response.took.as_micros()).unwrap_or(u32::MAX);
        if let Some(slot) = self.times.get_mut(self.recorded % WINDOW) {
            *slot = micros;
        }
        self.recorded = self.recorded.saturating_add(1);
        self.last.replace(response).map_or(0, |before| before.number)
    }

    /// Returns the last response.
    pub(super) const fn last(&self) -> Option<TimedResponse> {
        self.last
    }

    /// Returns the median, or `None` if fewer than four times are known.
    pub(super) fn median(&self) -> Option<u32> {
        // A copy, because finding the median sorts it.
        let mut times = self.times;
        let known = times.get_mut(..self.recorded.min(WINDOW)).filter(|known| known.len() >= MIN_TIMES)?;
        upper_median(known)
    }
}

/// Judges the time of a response. It is slow if it took at least `slow_min`, and more than `slow_factor`
/// times the median of `peers`, the medians of the other upstreams.
///
/// These follow only after four responses. So at least half of their last responses must be fast too, of
/// those that say how fast they are now: to calls that were sent later and answered before, or else those
/// since the response number `before`, the one of this upstream before this one. Otherwise all that became
/// slow together were ejected one after the other, the one first whose responses came first.
pub(super) fn judge(
    response: &TimedResponse,
    before: u64,
    peers: impl Iterator<Item = u32>,
    last: impl Iterator<Item = TimedResponse>,
    rules: &EjectConfig,
) -> Speed {
    let Some(typical) = typical(peers).filter(|_| rules.slow_factor > 0) else { return Speed::Usual };
    let is_slow = |took: Duration| {
        took >= rules.slow_min
            && took.as_micros() > u128::from(typical.max(1)) * u128::from(rules.slow_factor)
    };
    // Before the responses of the others are collected, which only a slow call has to pay for.
    if !is_slow(response.took) {
        return Speed::Usual;
    }
    let last: Vec<_> = last.filter(|last| last.number > before || last.sent > response.sent).collect();
    let has_later = last.iter().any(|last| last.sent > response.sent);
    let evidence = || last.iter().filter(|last| !has_later || last.sent > response.sent);
    let fast = evidence().filter(|last| !is_slow(last.took)).count();
    if fast > 0 && fast * 2 >= evidence().count() { Speed::Slow } else { Speed::Unknown }
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

    /// Judges a response that was sent at 1,000 ms and followed number 10. Others have a time of sending, a
    /// duration and a number.
    fn speed(millis: u64, peers: &[u32], last: &[(u64, u64, u64)], rules: &EjectConfig) -> Speed {
        let begun = Instant::now();
        let timed = |&(sent, took, number): &(u64, u64, u64)| TimedResponse {
            sent: begun + Duration::from_millis(sent),
            took: Duration::from_millis(took),
            number,
        };
        let peers = peers.iter().map(|millis| millis * 1_000);
        judge(&timed(&(1_000, millis, 20)), 10, peers, last.iter().map(timed), rules)
    }

    fn is_slow(millis: u64, peers: &[u32]) -> bool {
        speed(millis, peers, &[(0, 0, 11)], &rules()) == Speed::Slow
    }

    #[test]
    fn response_beyond_the_factor_of_the_median_is_slow() {
        assert!(is_slow(251, &[50]) && !is_slow(250, &[50]));
        assert!(is_slow(300, &[40, 50, 2_000]), "one slow peer does not move the median");
        assert!(!is_slow(300, &[10, 100]), "of two peers the slower one counts");
        assert!(!is_slow(10_000, &[]), "without peers nothing is slow");
        let off = EjectConfig { slow_factor: 0, ..rules() };
        assert_eq!(speed(60_000, &[1], &[(0, 0, 11)], &off), Speed::Usual);
    }

    #[test]
    fn slow_response_says_nothing_unless_others_are_fast_now() {
        for (last, expected) in [
            // Since the response before, half of the others were fast.
            (&[(900, 50, 11)][..], Speed::Slow),
            (&[(900, 50, 11), (900, 300, 12)], Speed::Slow),
            (&[(900, 300, 11), (900, 50, 12), (900, 300, 13)], Speed::Unknown),
            (&[(900, 300, 11)], Speed::Unknown),
            (&[(800, 50, 10)], Speed::Unknown),
            (&[], Speed::Unknown),
            // What was sent later and answered before counts, if there is any.
            (&[(1_001, 50, 9)], Speed::Slow),
            (&[(900, 300, 11), (1_001, 50, 12)], Speed::Slow),
            (&[(900, 50, 11), (1_001, 300, 12)], Speed::Unknown),
        ] {
            assert_eq!(speed(300, &[50, 50, 50], last, &rules()), expected, "{last:?}");
            assert_eq!(speed(250, &[50, 50, 50], last, &rules()), Speed::Usual, "{last:?}");
        }
    }

    #[test]
    fn response_within_the_least_time_is_not_slow() {
        assert!(!is_slow(99, &[0, 1, 1]) && is_slow(100, &[0, 1, 1]));
    }

    #[test]
    fn median_needs_four_times_and_follows_four_slow_ones() {
        let timed =
            |millis| TimedResponse { sent: Instant::now(), took: Duration::from_millis(millis), number: 1 };
        let mut times = ResponseTimes::default();
        for expected in [None, None, None, Some(10_000)] {
            times.record(timed(10));
            assert_eq!(times.median(), expected);
        }
        for _ in 0..20 {
            times.record(timed(10));
        }
        for expected in [10_000, 10_000, 10_000, 900_000] {
            times.record(timed(900));
            assert_eq!(times.median(), Some(expected));
        }
    }
}
