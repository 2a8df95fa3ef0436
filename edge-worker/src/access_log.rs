//! The access log: one JSON line for each request. It never contains a key, a secret, a query, an
//! address or a user agent. Field names are those of the proxy's access log. The log of a key's calls,
//! which its holder reads, has less of the same.
//!
//! Why: docs/decisions/edge.md, "The access log samples successes, and invocation logs are off".

use portal::endpoint::Endpoint;
use portal::route::Route;
use serde::Serialize;
use shared::json;
use shared::key::{KeyId, SecretId};
use shared::meter::LoggedCall;
use shared::method::Method;
use shared::problem::Code;
use shared::route::ToolCall;
use shared::sampling::Sampling;
use shared::tier::Tier;
use shared::time::UnixMillis;
use shared::tool::Tool;
use shared::trace::{Span, SpanContext, SpanId, TRACEPARENT, TraceId};
use worker::console_log;

use crate::caller::Caller;
use crate::context::RequestContext;
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
    /// The tool that is called.
    pub(crate) tool: Option<Tool>,
    /// The action of the tool, or the tool of MCP.
    pub(crate) action: Option<String>,
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

impl Called {
    /// Returns the facts that a call of a tool begins with.
    pub(crate) fn of(call: &ToolCall<'_>) -> Self {
        let action = Some(call.action.as_str().to_owned());
        Self { tool: Some(call.tool), action, ..Self::default() }
    }

    /// Returns the facts that a request begins with, whatever its route.
    pub(crate) fn of_route(route: &Route<'_>) -> Self {
        match route {
            Route::CallTool(call) => Self::of(call),
            _ => Self::default(),
        }
    }

    /// Returns the entry of the log of the key. `secret_id` is the named secret of the key that the request has.
    pub(crate) fn logged(
        &self,
        context: &RequestContext<'_>,
        (endpoint, secret_id): (Option<Endpoint>, Option<SecretId>),
        ended: &CallEnded<'_>,
        now: UnixMillis,
    ) -> LoggedCall {
        let request = context.request;
        let (edge_ms, tool_ms) = self.path.durations(request, now);
        LoggedCall {
            tool: self.tool.map(|tool| tool.as_str().to_owned()),
            action: self.action.clone(),
            // Tool and action already say the path of a tool call.
            path: endpoint.filter(|_| self.tool.is_none()).map(Endpoint::path),
            code: ended.code.map(str::to_owned),
            secret_id,
            tool_ms,
            edge_ms: Some(edge_ms),
            request_bytes: context.head.body_length(),
            response_bytes: ended.response_bytes,
            ..LoggedCall::new(request.id, request.now, ended.status)
        }
    }
}

/// Writes the line of a request, unless the sampling leaves it out.
pub(crate) fn write(
    request: &ClientRequest,
    (endpoint, caller): (Option<Endpoint>, &Caller),
    &Ended { status, code, called }: &Ended<'_>,
    sampling: Sampling,
    now: UnixMillis,
) {
    let &Called { degraded, units, ref path, .. } = called;
    // A degraded call is rare and may exceed a budget: sampling must never hide one.
    if !degraded && !sampling.keeps(&request.id, status) {
        return;
    }
    let (overhead_ms, origin_ms) = path.durations(request, now);
    let from = request.header(TRACEPARENT).and_then(SpanContext::parse);
    let trace = path.span.map(|span| span.context).or(from);
    let line = Line {
        time: request.now.to_rfc3339(),
        request_id: request.id.to_string(),
        trace_id: trace.map(|trace| trace.trace_id),
        span_id: path.span.map(|span| span.context.span_id),
        parent_span_id: from.map(|from| from.span_id),
        // An unknown method is arbitrary text of the client.
        method: request.method.parse::<Method>().map_or("other", Method::as_str),
        route: endpoint.map(Endpoint::path),
        tool: called.tool,
        action: called.action.as_deref(),
        key_id: caller.key_id,
        secret_id: caller.secret_id,
        tier: caller.tier,
        status,
        code: code.map(Code::as_str),
        origin: path.origin.as_deref().or(caller.data_center.as_deref()),
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
