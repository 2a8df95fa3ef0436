//! The rate at which a key is used here, to size its leases.
//!
//! Why: docs/decisions/limits.md, "An isolate requests a lease only if its last calls were close".

use crate::time::UnixMillis;

/// The calls of the current interval and of the one before.
#[derive(Debug, Default)]
pub(super) struct Rate {
    interval: u64,
    current: u32,
    previous: u32,
    /// The moments of the last calls, the latest first.
    last: [Option<UnixMillis>; 4],
}

const INTERVAL_MS: u64 = 5_000;

/// The gap between two calls up to which a lease pays, in milliseconds. A lease costs the report of
/// its end, and has to save more calls than one.
const MAX_GAP_MS: u64 = 6_000;

impl Rate {
    pub(super) fn count(&mut self, now: UnixMillis) {
        self.roll(now);
        self.current = self.current.saturating_add(1);
        let [latest, second, third, _] = self.last;
        self.last = [Some(now), latest, second, third];
    }

    /// Returns true if calls are so rare that a lease would cost more than it saves: over none of the
    /// last gaps, their mean is small. A first call may be the only one.
    pub(super) fn is_sparse(&self) -> bool {
        let [Some(latest), earlier @ ..] = self.last else { return true };
        let pays = |(at, gaps): (Option<UnixMillis>, u64)| {
            at.is_some_and(|at| latest.since(at) <= MAX_GAP_MS.saturating_mul(gaps))
        };
        !earlier.into_iter().zip(1..).any(pays)
    }

    /// Returns the calls per 1,000 seconds over this interval and the one before; a burst counts
    /// from its first second.
    pub(super) fn per_1000_seconds(&mut self, now: UnixMillis) -> u32 {
        self.roll(now);
        // A new interval would look like a drop in the rate, and each lease would be too small for
        // a moment.
        let span_ms = if self.previous == 0 { 0 } else { INTERVAL_MS } + now.0 % INTERVAL_MS;
        let calls = u64::from(self.previous).saturating_add(u64::from(self.current));
        u32::try_from(calls.saturating_mul(1_000_000) / span_ms.max(INTERVAL_MS)).unwrap_or(u32::MAX)
    }

    fn roll(&mut self, now: UnixMillis) {
        let interval = now.0 / INTERVAL_MS;
        if interval != self.interval {
            self.previous = if interval == self.interval.wrapping_add(1) { self.current } else { 0 };
            self.current = 0;
            self.interval = interval;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rate_is_that_of_steady_calls_and_zero_when_idle() {
        let mut rate = Rate::default();
        for second in 0..20 {
            rate.count(UnixMillis(second * 1_000));
            rate.count(UnixMillis(second * 1_000 + 500));
        }
        let shown = rate.per_1000_seconds(UnixMillis(19_900));
        assert!((1_800..=2_200).contains(&shown), "{shown}");
        assert_eq!(rate.per_1000_seconds(UnixMillis(60_000)), 0);
    }
}
