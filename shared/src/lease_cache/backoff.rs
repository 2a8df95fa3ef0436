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
        // That of the first failure: the share of the local budget must have been fresh when the
        // outage began.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_up_to_the_longest_until_a_response() {
        let (mut backoff, mut now) = (Backoff::default(), UnixMillis(1_763_726_400_000));
        let first = now;
        for pause_ms in [1_000, 2_000, 4_000, 5_000, 5_000] {
            backoff.record_failure(now);
            assert_eq!((backoff.until(), backoff.remaining_ms(now)), (now.plus(pause_ms), pause_ms));
            assert!(backoff.is_active(now.plus(pause_ms - 1)) && !backoff.is_active(now.plus(pause_ms)));
            now = now.plus(pause_ms);
        }
        assert_eq!(backoff.failing_since(now), first);
        backoff.reset();
        assert_eq!((backoff.is_active(now), backoff.failing_since(now)), (false, now));
    }
}
