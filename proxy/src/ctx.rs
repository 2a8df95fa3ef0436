//! What one request has learned so far.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use pingora_limits::inflight::Guard;
use shared::{
    key::KeyId, problem::Code, proof::Proof, quota::Standing, request_id::RequestId, route::CallMethod,
    tier::Tier, time::UtcDay, tool::Tool,
};

use crate::{
    access_log::RefusedCall,
    clock::Moment,
    direct::response_headers::ResponseInfo,
    drain::UnderWay,
    respond,
    upstreams::{Pool, PoolPermit, TriedSet, UpstreamIndex, UpstreamPermit},
    wire::WireHead,
};

/// One request, from its headers to its log line.
pub struct RequestCtx {
    /// When its headers were complete.
    pub started: Moment,
    /// Whether it came over TLS, in direct mode.
    pub secure: bool,
    /// The client's trace, where it is to be told.
    pub trace_id: Option<Box<str>>,
    /// The grant's request id; before a grant was verified, one of our own.
    pub request_id: RequestId,
    /// What proves to the edge that the response is ours. None before a grant was verified, and in direct mode.
    pub proof: Option<Proof>,
    /// The call, once it is known whose it is.
    pub call: Option<Call>,
    /// The call that was refused before its grant or key was verified.
    pub refused_call: Option<RefusedCall>,
    /// How the key stands, in direct mode, as the client is told.
    pub standing: Option<Standing>,
    /// The day on which the call is counted, in direct mode.
    pub charged: Option<UtcDay>,
    /// What the proxy answered itself.
    pub refusal: Option<Code>,
    /// What is to be answered instead of what the error says.
    pub problem: Option<shared::problem::Problem>,
    /// The upstream that is being tried or has answered.
    pub place: Option<UpstreamIndex>,
    /// Upstreams that failed.
    pub tried: TriedSet,
    /// Connections that were tried.
    pub tries: u32,
    /// How often a connection turned out to have been closed by the upstream before it was used again.
    pub stale: u32,
    /// Bytes of the body so far.
    pub body: u64,
    /// Whether the client waits to be told to send its body.
    pub expects_continue: bool,
    /// How long its client took to send what was buffered of its body before a tool was called.
    pub buffering: Duration,
    /// When the whole request was there for the tool: its time began.
    pub complete_at: Option<Instant>,
    /// When the request was sent to the upstream and when its answer began.
    pub sent_at: Option<Instant>,
    /// See [`Self::sent_at`].
    pub answered_at: Option<Instant>,
    /// Its place among the calls of its pool.
    pub seat: Option<PoolPermit>,
    /// Its place among the calls of its upstream.
    pub upstream_seat: Option<UpstreamPermit>,
    /// Its place among the calls of its key.
    pub key_guard: Option<Guard>,
    /// Its place among the requests under way.
    pub under_way: UnderWay,
}

/// A call that may be made.
#[derive(Clone, Debug)]
pub struct Call {
    /// Which of the two operations.
    pub method: CallMethod,
    /// The tool.
    pub tool: Tool,
    /// Its servers, as they were configured when the call came.
    pub pool: Arc<Pool>,
    /// What it is asked to do: a checked [`shared::action::Action`].
    pub action: Box<str>,
    /// Whose call it is.
    pub key_id: KeyId,
    /// What the key is paid for.
    pub tier: Tier,
}

impl RequestCtx {
    /// A request that has just arrived.
    #[must_use]
    pub fn new(under_way: UnderWay) -> Self {
        Self {
            started: Moment::now(),
            secure: false,
            trace_id: None,
            request_id: respond::random_id(),
            proof: None,
            call: None,
            refused_call: None,
            standing: None,
            charged: None,
            refusal: None,
            problem: None,
            place: None,
            tried: TriedSet::default(),
            tries: 0,
            stale: 0,
            body: 0,
            expects_continue: false,
            buffering: Duration::ZERO,
            complete_at: None,
            sent_at: None,
            answered_at: None,
            seat: None,
            upstream_seat: None,
            key_guard: None,
            under_way,
        }
    }

    /// Returns what the response headers of direct mode show.
    pub(crate) fn response_info(&self) -> ResponseInfo<'_> {
        let tool_time = self.sent_at.zip(self.answered_at);
        ResponseInfo {
            is_tls: self.secure,
            quota: self.standing.as_ref(),
            started: self.started.instant,
            tool_time: tool_time.map(|(sent, answered)| answered.duration_since(sent)),
        }
    }

    /// When the request had come as far as it is buffered, as if it had come at once: what its client took is left out.
    #[must_use]
    pub fn buffered_at(&self) -> Instant {
        self.started.instant + self.buffering
    }

    /// Notes the client's trace (W3C Trace Context), if it is in one.
    pub fn traced(&mut self, wire: &WireHead<'_>) {
        let parent =
            wire.only("traceparent").ok().flatten().and_then(|value| std::str::from_utf8(value).ok());
        self.trace_id = parent.and_then(shared::trace::trace_id).map(Box::from);
    }
}
