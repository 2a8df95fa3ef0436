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
}

/// The log record of one request.
#[derive(Default)]
pub(crate) struct AccessRecord {
    pub(crate) endpoint: Option<Endpoint>,
    /// The tool that is called.
    pub(crate) tool: Option<Tool>,
    /// The action of the tool, or the tool of MCP.
    pub(crate) action: Option<String>,
    pub(crate) key_id: Option<KeyId>,
    /// The named secret of the key that the request was authenticated with.
    pub(crate) secret_id: Option<SecretId>,
    /// The key that the request was authenticated with.
    pub(crate) key: Option<VerifiedKey>,
    pub(crate) tier: Option<Tier>,
    /// Whether the local budget admitted the call because the meter was unreachable.
    pub(crate) degraded: bool,
    /// The units that the call costs, if it has a price and is not refunded.
    pub(crate) units: Option<u32>,
    /// The way of a call to the origins.
    pub(crate) path: ForwardPath,
    /// The data center whose proxy sent the request.
    pub(crate) asking: Option<String>,
    pub(crate) status: u16,
    /// The result of the call that a message of MCP stands for. The message itself has 200.
    pub(crate) call: Option<CallResult>,
    /// The code of the problem that the response is.
    pub(crate) code: Option<Code>,
    /// Whether the call is in the log of its key.
    pub(crate) is_logged: bool,
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
    /// Records the key that the request was authenticated with.
    pub(crate) const fn record_key(&mut self, key: &VerifiedKey) {
        self.key_id = Some(key.id);
        self.key = Some(*key);
    }

    /// Records what a request calls, if it calls a tool.
    pub(crate) fn record_call(&mut self, route: &Route<'_>) {
        if let Route::CallTool(call) = route {
            self.tool = Some(call.tool);
            self.action = Some(call.action.as_str().to_owned());
        }
    }

    /// Returns the gateway's own milliseconds and, for a call that reached an origin, those spent
    /// there.
    pub(crate) fn durations(&self, request: &ClientRequest, now: UnixMillis) -> (u64, Option<u64>) {
        let total = now.since(request.now);
        let origin = self.path.times.map(|(sent, responded)| responded.since(sent));
        // A client that uploads slowly must not count as overhead of the gateway.
        (total.saturating_sub(origin.unwrap_or(0)).saturating_sub(self.path.body_wait_ms), origin)
    }

    /// Returns the entry of the log of the key.
    pub(crate) fn logged_call(
        &self,
        request: &ClientRequest,
        request_bytes: Option<u64>,
        ended: &CallEnded<'_>,
        now: UnixMillis,
    ) -> LoggedCall {
        let (edge_ms, tool_ms) = self.durations(request, now);
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
    pub(crate) fn write(&self, request: &ClientRequest, sampling: Sampling, now: UnixMillis) {
        // A degraded call is rare and may exceed a budget: sampling must never hide one.
        if !self.degraded && !sampling.keeps(&request.id, self.status) {
            return;
        }
        let (overhead_ms, origin_ms) = self.durations(request, now);
        let caller = request.header(TRACEPARENT).and_then(SpanContext::parse);
        let trace = self.path.span.map(|span| span.context).or(caller);
        let line = Line {
            time: request.now.to_rfc3339(),
            request_id: request.id.to_string(),
            trace_id: trace.map(|trace| trace.trace_id),
            span_id: self.path.span.map(|span| span.context.span_id),
            parent_span_id: caller.map(|caller| caller.span_id),
            // An unknown method is arbitrary text of the client.
            method: request.method.parse::<Method>().map_or("other", Method::as_str),
            route: self.endpoint.map(Endpoint::path),
            tool: self.tool,
            action: self.action.as_deref(),
            key_id: self.key_id,
            secret_id: self.secret_id,
            tier: self.tier,
            status: self.status,
            code: self.code.map(Code::as_str),
            origin: self.path.origin.as_deref().or(self.asking.as_deref()),
            tried: &self.path.tried,
            duration_ms: now.since(request.now),
            overhead_ms,
            origin_ms,
            units: self.units,
            degraded: self.degraded.then_some(true),
            // Only a line that could have been left out stands for others that were.
            sample: (sampling != Sampling::ALL && self.status < 400 && !self.degraded)
                .then(|| sampling.share()),
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
