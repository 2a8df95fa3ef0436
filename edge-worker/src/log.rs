//! One JSON line for each request, and one for each cause that a client is not told. Never a key, a secret, a
//! query, an address or a user agent.

use serde_json::{Map, Value, json};
use shared::{endpoint::Endpoint, key::KeyId, route::Method, tier::Tier, time::UnixMillis};
use worker::{console_error, console_log};

use crate::incoming::Incoming;

/// What one request has turned out to be.
#[derive(Default)]
pub(crate) struct Line {
    pub(crate) endpoint: Option<Endpoint>,
    pub(crate) action: Option<String>,
    pub(crate) key_id: Option<KeyId>,
    pub(crate) tier: Option<Tier>,
    pub(crate) degraded: bool,
    /// The data centre that answered, or that asked for key changes.
    pub(crate) origin: Option<String>,
    /// Milliseconds spent waiting for the client to send.
    pub(crate) client_ms: u64,
    /// When the call was handed to an origin, and when the head of its answer was there.
    pub(crate) handed_over: Option<(UnixMillis, UnixMillis)>,
    pub(crate) status: u16,
    pub(crate) code: Option<&'static str>,
}

impl Line {
    /// Milliseconds of the gateway's own and, for a call that reached an origin, there.
    pub(crate) fn times(&self, incoming: &Incoming, now: UnixMillis) -> (u64, Option<u64>) {
        let total = now.since(incoming.now);
        let origin = self.handed_over.map(|(sent, answered)| answered.since(sent));
        (total.saturating_sub(origin.unwrap_or(0)).saturating_sub(self.client_ms), origin)
    }

    pub(crate) fn write(&self, incoming: &Incoming, now: UnixMillis) {
        let (edge_ms, origin_ms) = self.times(incoming, now);
        let mut line = Map::new();
        let mut add = |name: &str, value: Value| {
            if !value.is_null() {
                line.insert(name.to_owned(), value);
            }
        };
        add("time", json!(incoming.now.to_rfc3339()));
        add("request_id", json!(incoming.id.to_string()));
        // An unknown method is the client's text, and may be anything.
        add("method", json!(Method::parse(&incoming.method).map_or("other", Method::as_str)));
        add("route", json!(self.endpoint.map(Endpoint::path)));
        if let Some(Endpoint::CallTool(tool, _)) = self.endpoint {
            add("tool", json!(tool));
        }
        add("action", json!(self.action));
        add("key_id", json!(self.key_id));
        add("tier", json!(self.tier));
        add("status", json!(self.status));
        add("code", json!(self.code));
        add("origin", json!(self.origin));
        add("edge_ms", json!(edge_ms));
        add("origin_ms", json!(origin_ms));
        if self.degraded {
            add("degraded", json!(true));
        }
        console_log!("{}", Value::from(line));
    }
}

/// A cause that the client is told only the outcome of. `what` failed; `cause` is the runtime's own text.
pub(crate) fn cause(what: &str, incoming: Option<&Incoming>, cause: impl ToString) {
    let request_id = incoming.map(|incoming| incoming.id.to_string());
    console_error!(
        "{}",
        json!({ "level": "error", "what": what, "cause": cause.to_string(), "request_id": request_id })
    );
}

/// Every fault of the configuration at once.
pub(crate) fn misconfigured(faults: &[String]) {
    console_error!(
        "{}",
        json!({ "level": "error", "what": "the worker is not configured", "faults": faults })
    );
}
