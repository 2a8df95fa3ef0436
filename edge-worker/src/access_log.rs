//! The access log: one JSON line for each request. It never contains a key, a secret, a query, an
//! address or a user agent. Field names are those of the proxy's access log.

use serde_json::{Map, Value, json};
use shared::{
    endpoint::Endpoint, key::KeyId, method::Method, sampling::Sampling, tier::Tier, time::UnixMillis,
    trace::trace_id,
};
use worker::console_log;

use crate::client_request::ClientRequest;

/// The log record of one request.
#[derive(Default)]
pub(crate) struct AccessRecord {
    pub(crate) endpoint: Option<Endpoint>,
    pub(crate) action: Option<String>,
    pub(crate) key_id: Option<KeyId>,
    pub(crate) tier: Option<Tier>,
    /// Whether the local budget admitted the call because the meter was unreachable.
    pub(crate) degraded: bool,
    /// The data center that responded, or that polled for key changes.
    pub(crate) origin: Option<String>,
    /// Milliseconds spent waiting for the client's body.
    pub(crate) body_wait_ms: u64,
    /// When the call was sent to an origin, and when the headers of its response arrived.
    pub(crate) origin_times: Option<(UnixMillis, UnixMillis)>,
    pub(crate) status: u16,
    pub(crate) code: Option<&'static str>,
}

impl AccessRecord {
    /// Returns the gateway's own milliseconds and, for a call that reached an origin, those spent
    /// there.
    pub(crate) fn durations(&self, request: &ClientRequest, now: UnixMillis) -> (u64, Option<u64>) {
        let total = now.since(request.now);
        let origin = self.origin_times.map(|(sent, responded)| responded.since(sent));
        (total.saturating_sub(origin.unwrap_or(0)).saturating_sub(self.body_wait_ms), origin)
    }

    /// Writes the line, unless the sampling leaves it out.
    pub(crate) fn write(&self, request: &ClientRequest, sampling: Sampling, now: UnixMillis) {
        if !self.degraded && !sampling.keeps(&request.id, self.status) {
            return;
        }
        let (overhead_ms, origin_ms) = self.durations(request, now);
        let mut line = Map::new();
        let mut add = |name: &str, value: Value| {
            if !value.is_null() {
                line.insert(name.to_owned(), value);
            }
        };
        add("time", json!(request.now.to_rfc3339()));
        add("request_id", json!(request.id.to_string()));
        add("trace_id", json!(request.header("traceparent").and_then(trace_id)));
        // An unknown method is arbitrary text of the client.
        add("method", json!(Method::parse(&request.method).map_or("other", Method::as_str)));
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
        add("duration_ms", json!(now.since(request.now)));
        add("overhead_ms", json!(overhead_ms));
        add("origin_ms", json!(origin_ms));
        if self.degraded {
            add("degraded", json!(true));
        }
        if sampling != Sampling::ALL && self.status < 400 && !self.degraded {
            add("sample", json!(sampling.share()));
        }
        console_log!("{}", Value::from(line));
    }
}
