//! The exponential backoff after a meter that does not respond.

use crate::time::UnixMillis;

/// Pause after the first failure, in milliseconds. It is short, because one lost message is no
/// outage.
const FIRST_MS: u64 = 1_000;
/// Longest pause, in milliseconds.
const LONGEST_MS: u64 = 5_000;

/// An exponential backoff. Requests that a call would wait for are sent only while it is not
/// active.
#[derive(Debug, Default)]
pub(super) struct Backoff {
    until: UnixMillis,
    pause_ms: u64,
    /// The moment of the first failure since the last response.
    failing_since: Option<UnixMillis>,
}

impl Backoff {
    /// Starts the next pause, twice as long as the one before.
    pub(super) fn record_failure(&mut self, now: UnixMillis) {
        self.pause_ms = self.pause_ms.saturating_mul(2).clamp(FIRST_MS, LONGEST_MS);
        self.until = now.plus(self.pause_ms);
        self.failing_since.get_or_insert(now);
    }

    /// Ends the pause and forgets past failures.
    pub(super) fn reset(&mut self) {
        *self = Self::default();
    }

    pub(super) fn is_active(&self, now: UnixMillis) -> bool {
        now < self.until
    }

    /// Returns the moment at which the pause ends, or ended.
    pub(super) const fn until(&self) -> UnixMillis {
        self.until
    }

    /// Returns the moment of the first failure since the last response; `now` without one.
    pub(super) fn failing_since(&self, now: UnixMillis) -> UnixMillis {
        self.failing_since.unwrap_or(now)
    }

    /// Returns the milliseconds until the meter is asked again.
    pub(super) const fn remaining_ms(&self, now: UnixMillis) -> u64 {
        self.until.since(now)
    }
}
