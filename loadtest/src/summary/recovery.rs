//! The time that a request takes to recover from an event.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::record::CallRecord;
use crate::timeline::Timeline;

/// The calls of a request that were sent after an event and before the next one. Calls that got
/// 429 are neither good nor bad.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Recovery {
    /// The index of the request.
    pub(crate) request: u16,
    /// The index of the event.
    pub(crate) event: usize,
    /// The time from the event to the first complete good response.
    pub(crate) first_good: Option<Duration>,
    /// The time from the event to the first complete bad response or failure.
    pub(crate) first_bad: Option<Duration>,
    /// The time from the event to the moment at which the last failed call was sent.
    pub(crate) last_bad: Option<Duration>,
    /// The time from the event to the moment at which the last good call was sent.
    last_good: Option<Duration>,
}

impl Recovery {
    /// Returns the time until calls succeed and no longer fail, or `None` if no call succeeded after the last
    /// one that failed: what fails to the end has not recovered.
    pub(crate) fn duration(&self) -> Option<Duration> {
        let good = self.first_good?;
        // The last call failed: it has not recovered, whatever it did before.
        if self.last_bad > self.last_good {
            return None;
        }
        Some(self.last_bad.map_or(Duration::ZERO, |bad| bad.max(good)))
    }
}

/// The recoveries of a run.
#[derive(Debug, Default)]
pub(crate) struct Recoveries(BTreeMap<(u16, usize), Recovery>);

impl Recoveries {
    /// Adds a call.
    pub(crate) fn record(&mut self, record: &CallRecord, timeline: &Timeline) {
        let Some(event) = timeline.event_before(record.sent) else { return };
        // The limit of a key is no sign of the outage.
        if record.status() == Some(429) {
            return;
        }
        let at = timeline.marks.get(event).map_or(Duration::ZERO, |mark| mark.at);
        let recovery = self.0.entry((record.request, event)).or_default();
        (recovery.request, recovery.event) = (record.request, event);
        let (sent, done) = (record.sent.saturating_sub(at), record.done.saturating_sub(at));
        if record.is_success() {
            recovery.first_good = Some(recovery.first_good.map_or(done, |first| first.min(done)));
            recovery.last_good = recovery.last_good.max(Some(sent));
        } else {
            recovery.first_bad = Some(recovery.first_bad.map_or(done, |first| first.min(done)));
            recovery.last_bad = Some(recovery.last_bad.map_or(sent, |last| last.max(sent)));
        }
    }

    pub(crate) fn finish(self) -> Vec<Recovery> {
        self.0.into_values().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::summary::tests::{call, status, summary};
    use crate::timeline::Mark;

    fn recovery(calls: &[(u64, u16)]) -> Option<u128> {
        let (at, settled) = (Duration::from_millis(1000), Duration::from_millis(1000));
        let timeline = Timeline { marks: vec![Mark { phase: "healed".to_owned(), at, settled }] };
        let records = calls.iter().map(|&(at_ms, code)| call(at_ms, status(code)));
        let found = summary(records, &timeline).recoveries;
        found[0].duration().map(|duration| duration.as_millis())
    }

    #[test]
    fn recovery_ends_at_last_failure() {
        assert_eq!(recovery(&[(500, 503), (1500, 503), (3000, 200)]), Some(2001));
        assert_eq!(recovery(&[(1500, 503), (3000, 200), (9000, 503), (9001, 200)]), Some(8000));
        assert_eq!(recovery(&[(1500, 503), (2500, 503)]), None);
        assert_eq!(recovery(&[(1500, 200), (2500, 503), (3500, 503)]), None);
        assert_eq!(recovery(&[(1500, 200), (2500, 200)]), Some(0));
        assert_eq!(recovery(&[(1500, 200), (2500, 429)]), Some(0));
    }
}
