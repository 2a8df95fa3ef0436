//! The backoff after a meter that does not respond.

use crate::time::UnixMillis;

/// The pause after the first silence, in milliseconds, and the longest. A message or two may be lost; only a meter
/// that stays silent is spared.
const FIRST_MS: u64 = 1_000;
const LONGEST_MS: u64 = 5_000;

#[derive(Debug, Default)]
pub(super) struct Outage {
    until: UnixMillis,
    pause_ms: u64,
}

impl Outage {
    /// Another silence: twice the pause before.
    pub(super) fn begin(&mut self, now: UnixMillis) {
        self.pause_ms = self.pause_ms.saturating_mul(2).clamp(FIRST_MS, LONGEST_MS);
        self.until = now.plus(self.pause_ms);
    }

    pub(super) fn end(&mut self) {
        *self = Self::default();
    }

    pub(super) fn lasts(&self, now: UnixMillis) -> bool {
        now < self.until
    }

    /// Returns the milliseconds until the meter is asked again.
    pub(super) const fn left_ms(&self, now: UnixMillis) -> u64 {
        self.until.since(now)
    }
}
