//! The two clocks: the time of day, and a monotonic clock.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use once_cell::sync::Lazy;
use shared::time::UnixMillis;

static START: Lazy<Instant> = Lazy::new(Instant::now);

/// Returns the time of day. It can jump when the clock of the machine is set.
pub fn now() -> UnixMillis {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    UnixMillis(millis(since))
}

/// Returns the time of the clock that timers use, which a simulation sets.
pub(crate) fn instant() -> Instant {
    tokio::time::Instant::now().into_std()
}

/// Returns whole milliseconds. They saturate.
pub fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

/// A moment on both clocks.
#[derive(Clone, Copy, Debug)]
pub struct Moment {
    /// The time of day.
    pub time: UnixMillis,
    /// The same moment on the monotonic clock, for durations.
    pub instant: Instant,
}

impl Moment {
    /// Returns the current moment.
    pub fn now() -> Self {
        Self { time: now(), instant: Instant::now() }
    }
}

/// A moment on the monotonic clock, in milliseconds since its first use in this process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Monotonic(u64);

impl Monotonic {
    /// Returns the current moment.
    pub fn now() -> Self {
        Self::at(Instant::now())
    }

    /// Returns the moment of an instant, or the first moment if it is earlier.
    pub fn at(instant: Instant) -> Self {
        Self(millis(instant.duration_since(*START)))
    }

    /// Returns the moment of a number from [`Self::millis`].
    pub const fn from_millis(millis: u64) -> Self {
        Self(millis)
    }

    /// Returns the moment as a number, for an atomic.
    pub const fn millis(self) -> u64 {
        self.0
    }

    /// Returns the moment `delay` later.
    #[must_use]
    pub fn plus(self, delay: Duration) -> Self {
        Self(self.0.saturating_add(millis(delay)))
    }

    /// Returns the milliseconds since `earlier`, or 0 if that is later.
    pub const fn since(self, earlier: Self) -> u64 {
        self.0.saturating_sub(earlier.0)
    }
}
