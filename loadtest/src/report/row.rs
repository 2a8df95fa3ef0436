//! The rows of a report: calls with the same request, phase and outcome.

use serde::{Deserialize, Serialize};

use crate::summary::{Quantiles, Streams, Summary};
use crate::timeline::Timeline;

/// The calls with the same request, phase and outcome.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Row {
    /// The name of the request.
    pub(crate) request: String,
    /// The phase of the run, or an empty text before the first event.
    pub(crate) phase: String,
    /// The status, or `None` if there was no complete response.
    pub(crate) status: Option<u16>,
    /// The code of the problem, or the reason why there was no complete response.
    pub(crate) code: Option<String>,
    /// The number of calls.
    pub(crate) calls: u64,
    /// The latencies, counted from the due time of each call.
    pub(crate) latency_ms: Quantiles,
    /// The times of server-sent events, if the responses are streams of them.
    pub(crate) events: Option<EventRow>,
}

/// The times of the server-sent events of a row.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct EventRow {
    /// The least number of events of a stream.
    pub(crate) least: u32,
    /// The greatest number of events of a stream.
    pub(crate) most: u32,
    /// The times to the first event, counted from the due time of each call.
    pub(crate) first_ms: Quantiles,
    /// The longest time between two events of each stream.
    pub(crate) gap_ms: Quantiles,
}

impl EventRow {
    fn new(streams: &Streams) -> Option<Self> {
        let (least, most) = (streams.by_events.keys().next()?, streams.by_events.keys().last()?);
        Some(Self {
            least: *least,
            most: *most,
            first_ms: streams.first_event.quantiles(),
            gap_ms: streams.event_gap.quantiles(),
        })
    }

    /// Returns the number of events of a stream.
    pub(crate) fn count(&self) -> String {
        if self.least == self.most {
            self.least.to_string()
        } else {
            format!("{} to {}", self.least, self.most)
        }
    }
}

impl Row {
    /// Returns the request, phase and outcome.
    pub(crate) fn label(&self) -> String {
        let phase = if self.phase.is_empty() { String::new() } else { format!(" [{}]", self.phase) };
        format!("{}{phase}: {}", self.request, self.outcome())
    }

    /// Returns the status and the code.
    pub(crate) fn outcome(&self) -> String {
        let status = self.status.map(|status| status.to_string());
        let parts: Vec<&str> = status.as_deref().into_iter().chain(self.code.as_deref()).collect();
        parts.join(" ")
    }
}

/// Returns the rows of a report, sorted by request, phase, status and code.
pub(super) fn rows(summary: &Summary, timeline: &Timeline, requests: &[String]) -> Vec<Row> {
    let rows = summary.groups.iter().map(|(key, group)| Row {
        request: requests.get(usize::from(key.request)).cloned().unwrap_or_default(),
        phase: timeline.phase_name(key.phase),
        status: key.outcome.status(),
        code: key.outcome.code(),
        calls: group.calls,
        latency_ms: group.latencies.quantiles(),
        events: EventRow::new(&group.streams),
    });
    rows.collect()
}
