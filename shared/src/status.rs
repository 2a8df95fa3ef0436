//! The availability of each tool: now (`GET /v1/status`) and over 90 days, with incidents.

mod accepted_types;
pub mod history;
pub mod incident;
pub mod message;

use serde::{Deserialize, Serialize};

pub use accepted_types::{AcceptedTypes, AcceptedTypesCache};

use crate::json;
use crate::problem::Problem;
use crate::time::UnixMillis;
use crate::tool::Tool;

/// The availability of every tool, as the proxy sees it and the edge passes it on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StatusReport {
    /// The tools in one word.
    pub status: Overall,
    /// Every tool once, in the order of [`Tool::ALL`].
    pub tools: Vec<ToolStatus>,
    /// What a proxy tells only its edge beside that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub accepts: Option<AcceptedTypes>,
}

/// The tools in one word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Overall {
    /// All are available.
    Operational,
    /// Some are not.
    Degraded,
    /// None is.
    Outage,
}

/// The availability of one tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolStatus {
    /// The tool.
    pub tool: Tool,
    /// Whether a call would find a healthy server.
    pub available: bool,
}

impl StatusReport {
    /// Returns the report, in which `available` decides on each tool.
    pub fn new(available: impl Fn(Tool) -> bool) -> Self {
        let tools: Vec<_> =
            Tool::ALL.into_iter().map(|tool| ToolStatus { tool, available: available(tool) }).collect();
        let status = match tools.iter().filter(|tool| tool.available).count() {
            0 => Overall::Outage,
            n if n == tools.len() => Overall::Operational,
            _ => Overall::Degraded,
        };
        Self { status, tools, accepts: None }
    }

    /// Reads what a proxy reports; `None` when it is no report. A tool it does not name is not
    /// available, and one that is not known here is left out: edge and proxy may be of different
    /// versions.
    pub fn from_json(text: &str) -> Option<Self> {
        let reported: serde_json::Value = serde_json::from_str(text).ok()?;
        let tools = reported.get("tools")?.as_array()?;
        let available = |tool: Tool| {
            tools.iter().any(|entry| {
                entry.get("tool").and_then(serde_json::Value::as_str) == Some(tool.as_str())
                    && entry.get("available").and_then(serde_json::Value::as_bool) == Some(true)
            })
        };
        Some(Self::new(available))
    }

    /// Returns the response's body.
    pub fn to_json(&self) -> String {
        // Plain names and booleans always serialize.
        json::to_string(self).unwrap_or_default()
    }
}

/// The result of a request for a report.
pub type StatusOutcome = Result<StatusReport, Problem>;

/// The last outcome, kept for a second, so that readers of the public status do not each cost a
/// request to an origin. One reader asks for the next outcome; until it is there, the others are
/// served the last one for another second.
#[derive(Debug, Default)]
pub struct StatusCache {
    last: Option<(UnixMillis, StatusOutcome)>,
    asked_at: Option<UnixMillis>,
}

impl StatusCache {
    const FRESH_MS: u64 = 1_000;
    const STALE_MS: u64 = 2 * Self::FRESH_MS;

    /// Returns an empty cache.
    pub const fn new() -> Self {
        Self { last: None, asked_at: None }
    }

    /// Returns the outcome to serve. If there is none, the caller must ask an origin and
    /// [`store`](Self::store) what came of it.
    pub fn get(&mut self, now: UnixMillis) -> Option<StatusOutcome> {
        let asked = self.asked_at.is_some_and(|at| now.since(at) < Self::FRESH_MS);
        let limit = if asked { Self::STALE_MS } else { Self::FRESH_MS };
        let outcome =
            self.last.as_ref().filter(|(at, _)| now.since(*at) < limit).map(|(_, last)| last.clone());
        if outcome.is_none() {
            self.asked_at = Some(now);
        }
        outcome
    }

    /// Takes an outcome that came at `now`.
    pub fn store(&mut self, outcome: StatusOutcome, now: UnixMillis) {
        self.last = Some((now, outcome));
        self.asked_at = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outcome_is_served_for_a_second_and_while_one_reader_asks_again() {
        let mut cache = StatusCache::new();
        let report = StatusReport::new(|_| true);
        assert_eq!(cache.get(UnixMillis(5_000)), None);
        assert_eq!(cache.get(UnixMillis(5_001)), None, "nobody waits for another's request");
        cache.store(Ok(report.clone()), UnixMillis(5_100));
        assert_eq!(cache.get(UnixMillis(6_099)), Some(Ok(report.clone())));
        assert_eq!(cache.get(UnixMillis(6_100)), None, "this one asks");
        assert_eq!(cache.get(UnixMillis(6_101)), Some(Ok(report.clone())), "the others are served");
        assert_eq!(cache.get(UnixMillis(7_100)), None, "but not for ever");
        let outage = Problem::new(crate::problem::codes::TOOL_UNAVAILABLE, "none");
        cache.store(Err(outage.clone()), UnixMillis(7_200));
        assert_eq!(cache.get(UnixMillis(7_300)), Some(Err(outage)), "an outage costs no more than a report");
    }

    #[test]
    fn report_names_every_tool_and_a_summary() {
        assert_eq!(StatusReport::new(|_| true).status, Overall::Operational);
        assert_eq!(StatusReport::new(|_| false).status, Overall::Outage);
        let report = StatusReport::new(|tool| tool != Tool::Qr);
        assert_eq!((report.status, report.tools.len()), (Overall::Degraded, Tool::ALL.len()));
        assert_eq!(StatusReport::from_json(&report.to_json()), Some(report));
    }

    #[test]
    fn unknown_tool_in_a_report_is_ignored() {
        let text = r#"{"tools":[{"tool":"qr","available":true},{"tool":"hologram","available":true}]}"#;
        let report = StatusReport::from_json(text).unwrap();
        assert_eq!(report, StatusReport::new(|tool| tool == Tool::Qr));
        assert_eq!(StatusReport::from_json("[]"), None);
    }
}
