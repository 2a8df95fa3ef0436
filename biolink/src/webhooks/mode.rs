//! Single deliveries and batches.

use serde::{Deserialize, Serialize};
use strum::IntoStaticStr;

use shared::time::UnixMillis;

/// Most events of a batch.
pub const MAX_BATCH_EVENTS: usize = 100;
/// Most bytes of the events of a batch.
pub const MAX_BATCH_BYTES: usize = 65_536;
/// The longest that an event waits for others, in milliseconds.
pub const MAX_BATCH_WAIT_MS: u64 = 10_000;

/// Milliseconds that each event adds to the level of a [`RateMeter`]: ten events drain in a second.
const EVENT_MS: u64 = 100;
/// The level above which the rate is high: ten events together.
const HIGH_MS: u64 = 1_000;
/// The highest level, so that a burst ends within seconds after its last event.
const MAX_LEVEL_MS: u64 = 10_000;

/// The way in which events are delivered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// Single deliveries up to ten events a second, and batches above.
    Auto,
    /// One request for each event. What maps the members of one event would break at a batch.
    /// Why: docs/decisions/webhooks.md, "An event comes alone unless its receiver asked for batches".
    #[default]
    Single,
    /// Requests with up to [`MAX_BATCH_EVENTS`] events.
    Batch,
}

shared::named!(Mode);

/// A leaky bucket that measures whether an endpoint gets more than ten events a second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct RateMeter {
    level_ms: u64,
    at: UnixMillis,
    is_high: bool,
}

impl Mode {
    /// Returns true if events are delivered in batches now. `due` deliveries are due: after an outage,
    /// a full batch of them is reason enough.
    pub fn is_batching(self, meter: &RateMeter, now: UnixMillis, due: usize) -> bool {
        match self {
            Self::Auto => meter.is_high(now) || due >= MAX_BATCH_EVENTS,
            Self::Single => false,
            Self::Batch => true,
        }
    }
}

impl RateMeter {
    /// Records events that the endpoint is to get.
    pub fn record(&mut self, now: UnixMillis, events: u64) {
        let drained = self.drained(now);
        let level_ms = drained.saturating_add(events.saturating_mul(EVENT_MS)).min(MAX_LEVEL_MS);
        let is_high = level_ms > HIGH_MS || (self.is_high && drained > 0);
        // A clock that goes back must not drain the same time twice.
        *self = Self { level_ms, at: now.max(self.at), is_high };
    }

    /// Returns true if there were more than ten events a second. It stays true until the bucket is
    /// empty, so that the mode does not change with every event.
    pub fn is_high(&self, now: UnixMillis) -> bool {
        self.is_high && self.drained(now) > 0
    }

    const fn drained(&self, now: UnixMillis) -> u64 {
        self.level_ms.saturating_sub(now.since(self.at))
    }
}

#[cfg(test)]
mod tests {
    use shared::json;

    use super::*;

    const NOW: UnixMillis = UnixMillis(1_000_000);

    /// Returns true if the rate is high after `seconds` with an event every `every_ms`.
    fn is_high_after(seconds: u64, every_ms: u64) -> bool {
        let mut meter = RateMeter::default();
        for at in (0..seconds * 1000).step_by(usize::try_from(every_ms).unwrap()) {
            meter.record(NOW.plus(at), 1);
        }
        meter.is_high(NOW.plus(seconds * 1000))
    }

    #[test]
    fn more_than_ten_events_a_second_are_a_high_rate() {
        assert!(!is_high_after(3_600, 100));
        assert!(is_high_after(60, 90));
        let mut meter = RateMeter::default();
        meter.record(NOW, 10);
        assert!(!meter.is_high(NOW));
        meter.record(NOW, 1);
        assert!(meter.is_high(NOW));
    }

    #[test]
    fn high_rate_ends_when_the_bucket_is_empty() {
        let mut meter = RateMeter::default();
        meter.record(NOW, 1_000_000);
        assert!(meter.is_high(NOW.plus(MAX_LEVEL_MS - 1)) && !meter.is_high(NOW.plus(MAX_LEVEL_MS)));
        meter.record(NOW.plus(9_500), 1);
        assert!(meter.is_high(NOW.plus(10_000)), "600 ms are left");
        meter.record(NOW.plus(20_000), 1);
        assert!(!meter.is_high(NOW.plus(20_000)));
        meter.record(NOW, 1);
        assert_eq!(meter.at, NOW.plus(20_000), "a clock that goes back");
        let text = serde_json::to_string(&meter).unwrap();
        assert_eq!(json::from_str(&text), Ok(meter));
    }

    #[test]
    fn mode_decides_on_batches() {
        let (calm, mut busy) = (RateMeter::default(), RateMeter::default());
        busy.record(NOW, 11);
        for (mode, expected) in
            [(Mode::Auto, [false, true, true]), (Mode::Single, [false; 3]), (Mode::Batch, [true; 3])]
        {
            let found = [(calm, 99), (calm, 100), (busy, 1)];
            let found = found.map(|(meter, due)| mode.is_batching(&meter, NOW, due));
            assert_eq!(found, expected, "{mode:?}");
            assert_eq!(json::variant(mode.as_str()), Ok(mode));
        }
    }
}
