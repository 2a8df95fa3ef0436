//! The access log: one JSON line for each request. It never contains a key, a secret, a query, an
//! address or a user agent. Field names are those of the proxy's access log. The log of a key's calls,
//! which its holder reads, has less of the same.
//!
//! Why: docs/decisions/edge.md, "The access log samples successes, and invocation logs are off".

use portal::endpoint::Endpoint;
use portal::route::Route;
use serde::Serialize;
use shared::json;
use shared::key::{KeyId, SecretId, VerifiedKey};
use shared::meter::LoggedCall;
use shared::method::Method;
use shared::problem::Code;
use shared::sampling::Sampling;
use shared::tier::Tier;
use shared::time::UnixMillis;
use shared::tool::Tool;
use shared::trace::{Span, SpanContext, SpanId, TRACEPARENT, TraceId};
use worker::console_log;

use crate::runtime::client_request::ClientRequest;

/// The way of a call to the origins, whatever its outcome.
#[derive(Default)]
pub(crate) struct ForwardPath {
    /// Milliseconds spent waiting for the client's body.
    pub(crate) body_wait_ms: u64,
    pub(crate) span: Option<Span>,
    /// The data centers that were tried before the one that responded.
    pub(crate) tried: Vec<String>,
    /// The data center that responded.
    pub(crate) origin: Option<String>,
    /// When the call was sent to that origin, and when the headers of its response arrived.
    pub(crate) times: Option<(UnixMillis, UnixMillis)>,
}

impl ForwardPath {
    /// Returns the value of `Proxy-Status` (RFC 9209) of a response that was not the first origin's, or
    /// `None` for any other.
    pub(crate) fn proxy_status(&self) -> Option<String> {
        let next = self.origin.as_ref().filter(|_| !self.tried.is_empty())?;
        Some(format!("edge; next-hop=\"{next}\"; details=\"tried before: {}\"", self.tried.join(" ")))
    }

    /// Returns the gateway's own milliseconds and, for a call that reached an origin, those spent
    /// there.
    pub(crate) fn durations(&self, request: &ClientRequest, now: UnixMillis) -> (u64, Option<u64>) {
        let total = now.since(request.now);
        let origin = self.times.map(|(sent, responded)| responded.since(sent));
        // A client that uploads slowly must not count as overhead of the gateway.
        (total.saturating_sub(origin.unwrap_or(0)).saturating_sub(self.body_wait_ms), origin)
    }
}

/// The facts about the call of a tool that a request is or stands for. Empty for any other request.
#[derive(Default)]
pub(crate) struct Called {
    /// Whether the local budget admitted the call because the meter was unreachable.
    pub(crate) degraded: bool,
    /// The units that the call costs, if it has a price and is not refunded.
    pub(crate) units: Option<u32>,
    /// The way of the call to the origins.
    pub(crate) path: ForwardPath,
    /// Whether the call is in the log of its key.
    pub(crate) is_logged: bool,
    /// The result of the call that a message of MCP stands for. The message itself has 200.
    pub(crate) result: Option<CallResult>,
}

/// The log record of one request: who sent it and what it asks for. Handlers only write it.
#[derive(Default)]
pub(crate) struct AccessRecord {
    endpoint: Option<Endpoint>,
    /// The tool that is called.
    tool: Option<Tool>,
    /// The action of the tool, or the tool of MCP.
    action: Option<String>,
    key_id: Option<KeyId>,
    /// The named secret of the key that the request was authenticated with.
    secret_id: Option<SecretId>,
    /// The key that the request was authenticated with.
    key: Option<VerifiedKey>,
    tier: Option<Tier>,
    /// The data center whose proxy sent the request.
    asking: Option<String>,
}

/// The end of a request, for its line.
pub(crate) struct Ended<'a> {
    pub(crate) status: u16,
    /// The code of the problem that the response is.
    pub(crate) code: Option<Code>,
    pub(crate) called: &'a Called,
}

/// The end of a call, for the log of its key.
pub(crate) struct CallEnded<'a> {
    pub(crate) status: u16,
    /// The code of the problem with which the call was refused.
    pub(crate) code: Option<&'a str>,
    /// Bytes of the response's body, if a tool has stated them.
    pub(crate) response_bytes: Option<u64>,
}

/// The result of a call that another request stands for.
#[derive(Clone, Copy)]
pub(crate) struct CallResult {
    pub(crate) status: u16,
    /// The code of the problem that the response is.
    pub(crate) code: Option<Code>,
}

impl AccessRecord {
    /// Records the endpoint, and what a request calls if it calls a tool.
    pub(crate) fn record_route(&mut self, route: &Route<'_>) {
        self.record_endpoint(Endpoint::of(route));
        self.record_call(route);
    }

    /// Records the endpoint.
    pub(crate) const fn record_endpoint(&mut self, endpoint: Endpoint) {
        self.endpoint = Some(endpoint);
    }

    /// Records what a request calls, if it calls a tool.
    pub(crate) fn record_call(&mut self, route: &Route<'_>) {
        if let Route::CallTool(call) = route {
            self.tool = Some(call.tool);
            self.action = Some(call.action.as_str().to_owned());
        }
    }

    /// Records the tool of MCP that is called.
    pub(crate) fn record_tool_of_mcp(&mut self, name: String) {
        self.action = Some(name);
    }

    /// Records the key that the request was authenticated with.
    pub(crate) const fn record_key(&mut self, key: &VerifiedKey) {
        self.key_id = Some(key.id);
        self.key = Some(*key);
    }

    /// Records the key that the request is about.
    pub(crate) const fn record_key_id(&mut self, id: KeyId) {
        self.key_id = Some(id);
    }

    /// Records the tier of the key, if it is known.
    pub(crate) const fn record_tier(&mut self, tier: Option<Tier>) {
        self.tier = tier;
    }

    /// Records the named secret of the key, if the request was authenticated with one.
    pub(crate) const fn record_secret(&mut self, id: Option<SecretId>) {
        self.secret_id = id;
    }

    /// Records the data center whose proxy sent the request.
    pub(crate) fn record_asking(&mut self, data_center: String) {
        self.asking = Some(data_center);
    }

    /// Returns the key that the request was authenticated with, whose log is written too.
    pub(crate) const fn key(&self) -> Option<VerifiedKey> {
        self.key
    }

    /// Returns the entry of the log of the key.
    pub(crate) fn logged_call(
        &self,
        request: &ClientRequest,
        (path, request_bytes): (&ForwardPath, Option<u64>),
        ended: &CallEnded<'_>,
        now: UnixMillis,
    ) -> LoggedCall {
        let (edge_ms, tool_ms) = path.durations(request, now);
        // Tool and action already say the path of a tool call.
        let path = self.endpoint.filter(|_| self.tool.is_none()).map(Endpoint::path);
        LoggedCall {
            tool: self.tool.map(|tool| tool.as_str().to_owned()),
            action: self.action.clone(),
            path,
            code: ended.code.map(str::to_owned),
            secret_id: self.secret_id,
            tool_ms,
            edge_ms: Some(edge_ms),
            request_bytes,
            response_bytes: ended.response_bytes,
            ..LoggedCall::new(request.id, request.now, ended.status)
        }
    }

    /// Writes the line, unless the sampling leaves it out.
    pub(crate) fn write(
        &self,
        request: &ClientRequest,
        &Ended { status, code, called: &Called { degraded, units, ref path, .. } }: &Ended<'_>,
        sampling: Sampling,
        now: UnixMillis,
    ) {
        // A degraded call is rare and may exceed a budget: sampling must never hide one.
        if !degraded && !sampling.keeps(&request.id, status) {
            return;
        }
        let (overhead_ms, origin_ms) = path.durations(request, now);
        let caller = request.header(TRACEPARENT).and_then(SpanContext::parse);
        let trace = path.span.map(|span| span.context).or(caller);
        let line = Line {
            time: request.now.to_rfc3339(),
            request_id: request.id.to_string(),
            trace_id: trace.map(|trace| trace.trace_id),
            span_id: path.span.map(|span| span.context.span_id),
            parent_span_id: caller.map(|caller| caller.span_id),
            // An unknown method is arbitrary text of the client.
            method: request.method.parse::<Method>().map_or("other", Method::as_str),
            route: self.endpoint.map(Endpoint::path),
            tool: self.tool,
            action: self.action.as_deref(),
            key_id: self.key_id,
            secret_id: self.secret_id,
            tier: self.tier,
            status,
            code: code.map(Code::as_str),
            origin: path.origin.as_deref().or(self.asking.as_deref()),
            tried: &path.tried,
            duration_ms: now.since(request.now),
            overhead_ms,
            origin_ms,
            units,
            degraded: degraded.then_some(true),
            // Only a line that could have been left out stands for others that were.
            sample: (sampling != Sampling::ALL && status < 400 && !degraded).then(|| sampling.share()),
        };
        if let Ok(line) = json::to_string(&line) {
            console_log!("{line}");
        }
    }
}

/// The line, as JSON. A field without a value is left out.
#[derive(Serialize)]
struct Line<'a> {
    time: String,
    request_id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    trace_id: Option<TraceId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    span_id: Option<SpanId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    parent_span_id: Option<SpanId>,
    method: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    route: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool: Option<Tool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    action: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    key_id: Option<KeyId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    secret_id: Option<SecretId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tier: Option<Tier>,
    status: u16,
    #[serde(skip_serializing_if = "Option::is_none")]
    code: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    origin: Option<&'a str>,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    tried: &'a [String],
    duration_ms: u64,
    overhead_ms: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    origin_ms: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    units: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    degraded: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    sample: Option<f64>,
}
