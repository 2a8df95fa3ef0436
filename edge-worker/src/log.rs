//! Log lines in JSON: one for each request, and one for each internal error. They never contain a key,
//! a secret, a query, an address or a user agent. Field names are those of the proxy's access log.

use serde_json::{Map, Value, json};
use shared::{endpoint::Endpoint, key::KeyId, method::Method, tier::Tier, time::UnixMillis, trace::trace_id};
use worker::{console_error, console_log};

use crate::incoming::Incoming;

/// The fields of one request's line.
#[derive(Default)]
pub(crate) struct Line {
    pub(crate) endpoint: Option<Endpoint>,
    pub(crate) action: Option<String>,
    pub(crate) key_id: Option<KeyId>,
    pub(crate) tier: Option<Tier>,
    pub(crate) degraded: bool,
    /// The data center that responded, or that polled for key changes.
    pub(crate) origin: Option<String>,
    /// Milliseconds spent waiting for the client's body.
    pub(crate) client_ms: u64,
    /// When the call was sent to an origin, and when the headers of its response arrived.
    pub(crate) handed_over: Option<(UnixMillis, UnixMillis)>,
    pub(crate) status: u16,
    pub(crate) code: Option<&'static str>,
}

impl Line {
    /// Returns the gateway's own milliseconds and, for a call that reached an origin, those spent there.
    pub(crate) fn times(&self, incoming: &Incoming, now: UnixMillis) -> (u64, Option<u64>) {
        let total = now.since(incoming.now);
        let origin = self.handed_over.map(|(sent, answered)| answered.since(sent));
        (total.saturating_sub(origin.unwrap_or(0)).saturating_sub(self.client_ms), origin)
    }

    pub(crate) fn write(&self, incoming: &Incoming, now: UnixMillis) {
        let (overhead_ms, origin_ms) = self.times(incoming, now);
        let mut line = Map::new();
        let mut add = |name: &str, value: Value| {
            if !value.is_null() {
                line.insert(name.to_owned(), value);
            }
        };
        add("time", json!(incoming.now.to_rfc3339()));
        add("request_id", json!(incoming.id.to_string()));
        add("trace_id", json!(incoming.header("traceparent").and_then(trace_id)));
        // An unknown method is arbitrary text of the client.
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
        add("duration_ms", json!(now.since(incoming.now)));
        add("overhead_ms", json!(overhead_ms));
        add("origin_ms", json!(origin_ms));
        if self.degraded {
            add("degraded", json!(true));
        }
        console_log!("{}", Value::from(line));
    }
}

/// Logs an internal error, of which the client sees only the outcome. `cause` is the runtime's text.
pub(crate) fn cause(what: &str, incoming: Option<&Incoming>, cause: impl ToString) {
    let request_id = incoming.map(|incoming| incoming.id.to_string());
    console_error!(
        "{}",
        json!({ "level": "error", "what": what, "cause": cause.to_string(), "request_id": request_id })
    );
}

/// Logs every fault of the configuration.
pub(crate) fn misconfigured(faults: &[String]) {
    console_error!(
        "{}",
        json!({ "level": "error", "what": "the worker is not configured", "faults": faults })
    );
}
