//! The rows of a report: calls with the same request, phase and outcome.

use serde::{Deserialize, Serialize};

use crate::summary::{Quantiles, Summary};
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
    });
    rows.collect()
}
