//! The counters of a local edge (`scripts/edge.mjs --counters`).

use std::collections::BTreeMap;

use hyper::Method;
use serde::Deserialize;

use crate::http::{HttpClient, HttpError};

/// Counters of a local edge since its start, or how far they have moved.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
pub(crate) struct EdgeCounters {
    /// Operations of the platform that are paid for.
    pub(crate) operations: Operations,
    /// Responses without a problem code, by class such as `2xx`.
    pub(crate) responses: BTreeMap<String, u64>,
    /// Responses with a problem, by code.
    pub(crate) problems: BTreeMap<String, u64>,
    /// Requests that it sent to origins.
    pub(crate) origin_requests: u64,
}

/// Operations of the platform by kind.
pub(crate) type Operations = BTreeMap<String, u64>;

/// Reads the counters.
///
/// # Errors
/// Returns an error if there is no response.
pub(crate) async fn read(edge: &HttpClient) -> Result<EdgeCounters, HttpError> {
    let counters = edge.send(Method::GET, "/", None, &[]).await?;
    // A response of another shape counts nothing, and the books say so as a difference.
    Ok(serde_json::from_value(counters).unwrap_or_default())
}

impl EdgeCounters {
    /// Returns how far the counters have moved.
    pub(crate) fn since(&self, before: &Self) -> Self {
        Self {
            operations: difference(&self.operations, &before.operations),
            responses: difference(&self.responses, &before.responses),
            problems: difference(&self.problems, &before.problems),
            origin_requests: self.origin_requests.saturating_sub(before.origin_requests),
        }
    }

    /// Returns the number of responses of a class that have no problem code.
    pub(crate) fn class(&self, class: u16) -> u64 {
        self.responses.get(&format!("{class}xx")).copied().unwrap_or(0)
    }
}

/// Returns how far each counter has moved.
pub(crate) fn difference<K: Ord + Clone>(
    now: &BTreeMap<K, u64>,
    before: &BTreeMap<K, u64>,
) -> BTreeMap<K, u64> {
    let at = |key| before.get(key).copied().unwrap_or(0);
    // A server that was restarted within the run counts from zero, which is less than before.
    now.iter().map(|(key, count)| (key.clone(), count.saturating_sub(at(key)))).collect()
}
