//! The two clocks: one that tells the time, and one that only goes forward.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use once_cell::sync::Lazy;
use shared::time::UnixMillis;

static START: Lazy<Instant> = Lazy::new(Instant::now);

/// The time of day. It may be set back by whoever keeps the machine's clock.
#[must_use]
pub fn now() -> UnixMillis {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    UnixMillis(millis(since))
}

/// Whole milliseconds, of which there are never more than fit.
#[must_use]
pub fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

/// The same moment on both clocks.
#[derive(Clone, Copy, Debug)]
pub struct Moment {
    /// The time of day.
    pub time: UnixMillis,
    /// What durations are measured from.
    pub instant: Instant,
}

impl Moment {
    /// This moment.
    #[must_use]
    pub fn now() -> Self {
        Self { time: now(), instant: Instant::now() }
    }
}

/// A moment, in milliseconds since the process looked at the clock first. It never goes back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Monotonic(u64);

impl Monotonic {
    /// This moment.
    #[must_use]
    pub fn now() -> Self {
        Self::at(Instant::now())
    }

    /// The moment of an instant; one before the process looked at the clock first is that.
    #[must_use]
    pub fn at(instant: Instant) -> Self {
        Self(millis(instant.duration_since(*START)))
    }

    /// What [`Self::millis`] was taken of.
    #[must_use]
    pub const fn from_millis(millis: u64) -> Self {
        Self(millis)
    }

    /// The moment as a number, to be kept in an atomic.
    #[must_use]
    pub const fn millis(self) -> u64 {
        self.0
    }

    /// The moment `delay` later.
    #[must_use]
    pub fn plus(self, delay: Duration) -> Self {
        Self(self.0.saturating_add(millis(delay)))
    }

    /// Milliseconds from `earlier` to this moment; 0 when it was not earlier.
    #[must_use]
    pub const fn since(self, earlier: Self) -> u64 {
        self.0.saturating_sub(earlier.0)
    }
}
