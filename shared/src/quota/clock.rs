//! A clock that never goes back, whatever the machine's does.

use serde::{Deserialize, Serialize};

use crate::time::UnixMillis;

/// Readings of the machine's clock, made monotone. All that a quota promises, it promises on this
/// clock.
///
/// A machine's clock that is set back would open a window a second time. A small step (clocks of
/// two machines differ a little) holds this clock still until the machine's has caught up; after a
/// large one it runs on from where it was, so that windows keep sliding. A step forward looks like
/// time passing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Clock {
    latest: UnixMillis,
    ahead_ms: u64,
}

/// The largest step back that is waited out, in milliseconds.
const WAIT_OUT_MS: u64 = 2_000;

impl Clock {
    /// Returns the current moment, given the machine's clock. Never earlier than the value returned
    /// before.
    pub fn read(&mut self, now: UnixMillis) -> UnixMillis {
        let reading = now.plus(self.ahead_ms);
        let back = self.latest.since(reading);
        // Waited out, a step of an hour would stop every window for an hour.
        if back > WAIT_OUT_MS {
            self.ahead_ms = self.ahead_ms.saturating_add(back);
        }
        self.latest = self.latest.max(reading);
        self.latest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_step_back_is_waited_out() {
        let mut clock = Clock::default();
        assert_eq!(clock.read(UnixMillis(10_000)), UnixMillis(10_000));
        assert_eq!(clock.read(UnixMillis(9_000)), UnixMillis(10_000));
        assert_eq!(clock.read(UnixMillis(8_000)), UnixMillis(10_000));
        assert_eq!(clock.read(UnixMillis(10_500)), UnixMillis(10_500));
    }

    #[test]
    fn time_goes_on_after_a_large_step_back() {
        let mut clock = Clock::default();
        clock.read(UnixMillis(1_000_000));
        assert_eq!(clock.read(UnixMillis(5_000)), UnixMillis(1_000_000));
        assert_eq!(clock.read(UnixMillis(65_000)), UnixMillis(1_060_000));
    }
}
