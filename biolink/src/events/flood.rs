//! Visitors and networks that send too many events.

use std::collections::BTreeMap;

use shared::time::UnixMillis;

use super::event::EventKind;

/// Most visitors whose events are counted. Beyond them none is refused until the next minute.
const MAX_VISITORS: usize = 10_000;

/// Counts the events of each visitor, or each network, of a page within a minute.
#[derive(Debug)]
pub struct Flood {
    limit: u32,
    minute: u64,
    counts: BTreeMap<u64, u32>,
}

impl Flood {
    /// Returns a counter at zero that allows this many events in a minute.
    pub const fn new(limit: u32) -> Self {
        Self { limit, minute: 0, counts: BTreeMap::new() }
    }

    /// Records an event of a visitor. Returns true if the visitor has sent too many in this minute. A
    /// confirmed view belongs to a view that was recorded, so it is compared with the limit only.
    pub fn record(&mut self, visitor: u64, kind: EventKind, now: UnixMillis) -> bool {
        let minute = now.seconds() / 60;
        if self.minute != minute {
            self.minute = minute;
            self.counts.clear();
        }
        // To count too much is less bad than to drop the visits of a page that is suddenly popular.
        if self.counts.len() >= MAX_VISITORS && !self.counts.contains_key(&visitor) {
            return false;
        }
        let count = self.counts.entry(visitor).or_default();
        // Saturating: a flood must not wrap around to a visitor who is counted.
        *count = count.saturating_add(u32::from(kind != EventKind::Confirm));
        *count > self.limit
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::EVENTS_PER_MINUTE;

    #[test]
    fn visitor_over_the_limit_is_flood_until_the_next_minute() {
        let (mut flood, now) = (Flood::new(EVENTS_PER_MINUTE), UnixMillis(1_795_000_020_000));
        let mut view = |visitor, at| flood.record(visitor, EventKind::View, at);
        assert!((0..EVENTS_PER_MINUTE).all(|_| !view(1, now)));
        assert!(view(1, now) && !view(2, now));
        assert!(!view(1, now.plus(60_000)));
    }

    #[test]
    fn confirmed_view_is_flood_if_views_are() {
        let (mut flood, now) = (Flood::new(EVENTS_PER_MINUTE), UnixMillis(1_795_000_020_000));
        for _ in 0..EVENTS_PER_MINUTE {
            flood.record(1, EventKind::View, now);
            assert!(!flood.record(1, EventKind::Confirm, now));
        }
        assert!(flood.record(1, EventKind::View, now) && flood.record(1, EventKind::Confirm, now));
    }
}
