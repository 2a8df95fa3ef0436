//! The clock of counts.
//!
//! Why: docs/decisions/direct-mode.md, "Counts go by the monotonic clock, keys expire by the time
//! of day".

use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Instant;

use shared::time::UnixMillis;
use transport::clock::{Moment, millis};

/// The time of day at the start of the process, plus what has passed on the monotonic clock since.
/// Setting the machine's clock gives no key a fresh minute or day, and locks none out. A restart or
/// an upgrade takes over the machine's time.
#[derive(Debug)]
pub(super) struct CountClock {
    start: Moment,
    /// Milliseconds by which the machine's clock was ahead when a step was reported last.
    reported: AtomicI64,
}

/// The smallest difference that is reported as a step, in milliseconds.
const STEP_MS: u64 = 61_000;

impl CountClock {
    /// Starts the clock.
    pub(super) const fn start(at: Moment) -> Self {
        Self { start: at, reported: AtomicI64::new(0) }
    }

    /// Returns the time of an instant. An instant before the start is the start.
    pub(super) fn at(&self, instant: Instant) -> UnixMillis {
        self.start.time.plus(millis(instant.duration_since(self.start.instant)))
    }

    /// Returns the milliseconds by which the machine's clock is ahead, if it was set by more than a
    /// minute since they were returned last.
    pub(super) fn observe(&self, at: Moment) -> Option<i64> {
        let counted = self.at(at.instant);
        let ahead = signed(at.time.since(counted)).saturating_sub(signed(counted.since(at.time)));
        let has_stepped = ahead.abs_diff(self.reported.load(Ordering::Relaxed)) > STEP_MS;
        has_stepped.then(|| {
            self.reported.store(ahead, Ordering::Relaxed);
            ahead
        })
    }
}

fn signed(millis: u64) -> i64 {
    i64::try_from(millis).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    const DAY_MS: u64 = 86_400_000;
    const NOW: UnixMillis = UnixMillis(1_763_712_000_000);

    #[test]
    fn step_of_the_machines_clock_moves_no_count() {
        let start = Moment { time: NOW, instant: Instant::now() };
        let clock = CountClock::start(start);
        let at = |seconds: u64, time: UnixMillis| Moment {
            time,
            instant: start.instant + Duration::from_secs(seconds),
        };
        assert_eq!(clock.observe(at(5, NOW.plus(5_900))), None, "less than a minute");
        // A day forward, and back.
        assert_eq!(clock.at(at(10, NOW.plus(DAY_MS)).instant), NOW.plus(10_000));
        assert_eq!(clock.observe(at(10, NOW.plus(10_000 + DAY_MS))), Some(86_400_000));
        assert_eq!(clock.observe(at(20, NOW.plus(20_000 + DAY_MS))), None, "it was reported");
        assert_eq!(clock.observe(at(30, NOW.plus(30_000))), Some(0));
        assert_eq!(clock.observe(at(40, NOW.plus(40_000).minus(DAY_MS))), Some(-86_400_000));
        assert_eq!(clock.at(at(40, NOW).instant), NOW.plus(40_000));
        // What was read before the start is not earlier.
        assert_eq!(clock.at(start.instant.checked_sub(Duration::from_secs(1)).unwrap()), NOW);
    }
}
