//! The events of a run, and the phases that they split it into.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

/// An event of a run. Times are counted from its start.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Mark {
    /// The name of the phase that follows.
    pub(crate) phase: String,
    /// The time at which the event began.
    pub(crate) at: Duration,
    /// The time from which calls belong to the phase. Before it, both results are correct.
    pub(crate) settled: Duration,
}

/// The events of a run, in the order of time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Timeline {
    pub(crate) marks: Vec<Mark>,
}

/// The number of a phase: 0 before the first event, then two numbers for each event, one while it
/// happens and one after it.
pub(crate) type PhaseId = u16;

impl Timeline {
    /// Returns the phase of a call by the times at which it was sent and done.
    pub(crate) fn phase_of(&self, sent: Duration, done: Duration) -> PhaseId {
        let begun = self.marks.iter().rposition(|mark| mark.at <= done);
        let Some((at, mark)) = begun.and_then(|at| Some((at, self.marks.get(at)?))) else { return 0 };
        let number = u16::try_from(at).unwrap_or(u16::MAX / 4) * 2 + 1;
        if sent >= mark.settled { number + 1 } else { number }
    }

    /// Returns the index of the last event that began before a call was sent.
    pub(crate) fn event_before(&self, sent: Duration) -> Option<usize> {
        self.marks.iter().rposition(|mark| mark.at <= sent)
    }

    /// Returns the name of a phase: empty before the first event, and with an arrow while an event
    /// happens.
    pub(crate) fn phase_name(&self, phase: PhaseId) -> String {
        let Some(event) = phase.checked_sub(1).map(|number| usize::from(number / 2)) else {
            return String::new();
        };
        let name = self.marks.get(event).map_or("", |mark| mark.phase.as_str());
        if phase % 2 == 1 { format!("→ {name}") } else { name.to_owned() }
    }
}

/// A timeline that a run's events are added to while calls are recorded.
#[derive(Clone, Debug)]
pub(crate) struct LiveTimeline {
    start: Instant,
    marks: Arc<Mutex<Timeline>>,
}

impl LiveTimeline {
    pub(crate) fn new(start: Instant) -> Self {
        Self { start, marks: Arc::default() }
    }

    /// Marks the beginning of an event. A call that is done later is no longer in the phase before
    /// it, because the time is taken under the lock.
    pub(crate) fn begin(&self, phase: &str) {
        let mut timeline = self.marks.lock().unwrap_or_else(PoisonError::into_inner);
        let mark = Mark { phase: phase.to_owned(), at: self.start.elapsed(), settled: Duration::MAX };
        timeline.marks.push(mark);
    }

    /// Marks the end of the event that began last. Its phase begins `settle` later.
    pub(crate) fn finish(&self, settle: Duration) {
        let mut timeline = self.marks.lock().unwrap_or_else(PoisonError::into_inner);
        let settled = self.start.elapsed().saturating_add(settle);
        if let Some(mark) = timeline.marks.last_mut() {
            mark.settled = settled;
        }
    }

    /// Returns the events so far.
    pub(crate) fn snapshot(&self) -> Timeline {
        self.marks.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn call_in_flight_during_event_is_in_neither_phase() {
        let secs = Duration::from_secs;
        let mark = |phase: &str, at, settled| Mark { phase: phase.to_owned(), at, settled };
        let timeline = Timeline {
            marks: vec![mark("stopped", secs(10), secs(11)), mark("restarted", secs(20), secs(25))],
        };
        let phase = |sent, done| timeline.phase_name(timeline.phase_of(secs(sent), secs(done)));
        assert_eq!(phase(8, 9), "");
        assert_eq!(phase(9, 10), "→ stopped");
        assert_eq!(phase(10, 18), "→ stopped");
        assert_eq!(phase(11, 19), "stopped");
        assert_eq!(phase(12, 21), "→ restarted");
        assert_eq!(phase(24, 26), "→ restarted");
        assert_eq!(phase(25, 26), "restarted");
    }
}
