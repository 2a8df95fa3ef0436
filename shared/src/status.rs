//! Which tools are available: the answer of `GET /v1/status`.

use serde::{Deserialize, Serialize};

use crate::tool::Tool;

/// The availability of every tool, as the proxy sees it and the edge passes it on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StatusReport {
    /// The tools in one word.
    pub status: Overall,
    /// Every tool once, in the order of [`Tool::ALL`].
    pub tools: Vec<ToolStatus>,
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

/// Whether one tool is available.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolStatus {
    /// Which one.
    pub tool: Tool,
    /// Whether a call would find a healthy server.
    pub available: bool,
}

impl StatusReport {
    /// The report in which each tool is as `available` says.
    #[must_use]
    pub fn new(available: impl Fn(Tool) -> bool) -> Self {
        let tools: Vec<_> =
            Tool::ALL.into_iter().map(|tool| ToolStatus { tool, available: available(tool) }).collect();
        let status = match tools.iter().filter(|tool| tool.available).count() {
            0 => Overall::Outage,
            n if n == tools.len() => Overall::Operational,
            _ => Overall::Degraded,
        };
        Self { status, tools }
    }

    /// Reads what a proxy reports; `None` when it is no report. A tool it does not name is not available, and one
    /// that is not known here is left out: edge and proxy may be of different versions.
    #[must_use]
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

    /// The answer's body.
    #[must_use]
    pub fn to_json(&self) -> String {
        // Plain names and booleans always serialise.
        serde_json::to_string(self).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_names_every_tool_and_sums_up() {
        assert_eq!(StatusReport::new(|_| true).status, Overall::Operational);
        assert_eq!(StatusReport::new(|_| false).status, Overall::Outage);
        let report = StatusReport::new(|tool| tool != Tool::Qr);
        assert_eq!((report.status, report.tools.len()), (Overall::Degraded, Tool::ALL.len()));
        assert_eq!(StatusReport::from_json(&report.to_json()), Some(report));
    }

    #[test]
    fn tools_of_another_version_do_no_harm() {
        let text = r#"{"tools":[{"tool":"qr","available":true},{"tool":"hologram","available":true}]}"#;
        let report = StatusReport::from_json(text).unwrap();
        assert_eq!(report, StatusReport::new(|tool| tool == Tool::Qr));
        assert_eq!(StatusReport::from_json("[]"), None);
    }
}
