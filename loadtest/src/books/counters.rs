//! The counters of the gateway and of the simulated tools.

use std::collections::BTreeMap;

use hyper::Method;
use serde_json::Value;

use crate::edge_counters::{self, EdgeCounters, difference};
use crate::http::HttpClient;

/// The sources of counters.
#[derive(Clone, Debug, Default)]
pub(crate) struct CounterSources {
    /// The admin listener of the proxy, which serves `/metrics`.
    pub(crate) metrics: Option<HttpClient>,
    /// The control API of the simulated tools.
    pub(crate) control: Option<HttpClient>,
    /// The counters of a local edge.
    pub(crate) edge: Option<HttpClient>,
}

/// Counters at one moment, or how far they have moved.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counters {
    /// Responses of the simulated tools by status class.
    pub(crate) tools: Option<BTreeMap<u16, u64>>,
    /// Calls that the gateway counted by status class.
    pub(crate) calls: Option<BTreeMap<u16, u64>>,
    /// Problems that the gateway responded with, by code.
    pub(crate) problems: Option<BTreeMap<String, u64>>,
    /// The counters of the edge in front of the gateway.
    pub(crate) edge: Option<EdgeCounters>,
}

impl CounterSources {
    /// Reads all counters. Returns `None` if there is no source, or if one cannot be read.
    pub(crate) async fn read(&self) -> Option<Counters> {
        let mut counters = Counters::default();
        if let Some(client) = &self.control {
            let overview = client.send(Method::GET, "/", None, &[]).await.ok()?;
            counters.tools = Some(tool_responses(&overview));
        }
        if let Some(client) = &self.metrics {
            let (calls, problems) = gateway_counts(&client.text("/metrics").await.ok()?);
            (counters.calls, counters.problems) = (Some(calls), Some(problems));
        }
        if let Some(client) = &self.edge {
            counters.edge = Some(edge_counters::read(client).await.ok()?);
        }
        let is_any = counters.tools.is_some() || counters.calls.is_some() || counters.edge.is_some();
        // Without a source there is nothing to compare: no books rather than empty ones that
        // balance.
        is_any.then_some(counters)
    }
}

impl CounterSources {
    /// Returns the version and the commit of the gateway, if its metrics name them.
    pub(crate) async fn gateway_version(&self) -> Option<String> {
        let text = self.metrics.as_ref()?.text("/metrics").await.ok()?;
        build_info(&text)
    }
}

/// Reads `utg_build_info{commit="…",version="…"} 1`.
fn build_info(metrics: &str) -> Option<String> {
    let line = metrics.lines().find_map(|line| line.strip_prefix("utg_build_info{"))?;
    let label = |name: &str| {
        let (_, rest) = line.split_once(&format!("{name}=\""))?;
        rest.split_once('"').map(|(value, _)| value)
    };
    Some(format!("{} ({})", label("version")?, label("commit").unwrap_or("unknown commit")))
}

impl Counters {
    /// Returns how far the counters have moved.
    pub(crate) fn since(&self, before: &Self) -> Self {
        Self {
            tools: moved(self.tools.as_ref(), before.tools.as_ref()),
            calls: moved(self.calls.as_ref(), before.calls.as_ref()),
            problems: moved(self.problems.as_ref(), before.problems.as_ref()),
            edge: self.edge.as_ref().zip(before.edge.as_ref()).map(|(now, before)| now.since(before)),
        }
    }
}

fn moved<K: Ord + Clone>(
    now: Option<&BTreeMap<K, u64>>,
    before: Option<&BTreeMap<K, u64>>,
) -> Option<BTreeMap<K, u64>> {
    // A source that is missing in one of the two reads would show its whole count as moved.
    now.zip(before).map(|(now, before)| difference(now, before))
}

/// Sums `responses` of all tools.
fn tool_responses(overview: &Value) -> BTreeMap<u16, u64> {
    let mut sums = BTreeMap::new();
    let tools = overview.get("tools").and_then(Value::as_object).into_iter().flatten();
    for (class, count) in tools.filter_map(|(_, tool)| tool.get("responses")?.as_object()).flatten() {
        if let (Ok(class), Some(count)) = (class.trim_end_matches("xx").parse(), count.as_u64()) {
            *sums.entry(class).or_default() += count;
        }
    }
    sums
}

/// Sums calls by status class, and problems by code, in the text format of Prometheus.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "counters are whole and positive")]
fn gateway_counts(text: &str) -> (BTreeMap<u16, u64>, BTreeMap<String, u64>) {
    let (mut calls, mut problems) = (BTreeMap::new(), BTreeMap::new());
    for line in text.lines() {
        let Some((series, value)) = line.rsplit_once(' ') else { continue };
        let Ok(value) = value.parse::<f64>() else { continue };
        let label = |name: &str| Some(series.split_once(&format!("{name}=\""))?.1.split_once('"')?.0);
        if series.starts_with("utg_calls_total{") {
            let class = label("status").and_then(|class| class.trim_end_matches("xx").parse().ok());
            // There is a series for each route and tier; the driver knows neither, so they are
            // added up.
            *calls.entry(class.unwrap_or(0)).or_default() += value as u64;
        } else if series.starts_with("utg_refusals_total{")
            && let Some(code) = label("code")
        {
            *problems.entry(code.to_owned()).or_default() += value as u64;
        }
    }
    (calls, problems)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn version_of_the_gateway_is_that_of_its_metrics() {
        let text = "# HELP utg_build_info x\nutg_build_info{commit=\"abc\",version=\"1.2.3\"} 1\n";
        assert_eq!(build_info(text).as_deref(), Some("1.2.3 (abc)"));
        assert_eq!(build_info("up 1\n"), None);
    }

    use serde_json::json;

    #[test]
    fn counters_are_summed_over_tools_and_tiers() {
        let text = "# HELP utg_calls_total Calls\nutg_calls_total{status=\"2xx\",tier=\"free\",tool=\"qr\"} 3\n\
                    utg_calls_total{status=\"2xx\",tier=\"pro\",tool=\"pdf\"} 4\nutg_calls_total{status=\"none\",tier=\"pro\",tool=\"pdf\"} 1\n\
                    utg_refusals_total{code=\"quota-exceeded\"} 5\nutg_ready 1\n";
        let (calls, problems) = gateway_counts(text);
        assert_eq!(calls, BTreeMap::from([(2, 7), (0, 1)]));
        assert_eq!(problems, BTreeMap::from([("quota-exceeded".to_owned(), 5)]));
        let overview =
            json!({"tools": {"qr": {"responses": {"2xx": 2, "5xx": 1}}, "pdf": {"responses": {"2xx": 1}}}});
        assert_eq!(tool_responses(&overview), BTreeMap::from([(2, 3), (5, 1)]));
    }
}
