//! A call of a tool, from its admission to its log line.

use std::sync::Arc;
use std::time::Duration;

use pingora_limits::inflight::Guard;
use shared::grant::GrantRefusal;
use shared::key::{KeyId, SecretId};
use shared::prices::Price;
use shared::problem::Code;
use shared::proof::Proof;
use shared::quota::QuotaStatus;
use shared::request_id::RequestId;
use shared::route::{CallMethod, ToolCall};
use shared::tier::Tier;
use shared::tool::Tool;
use shared::trace::TraceId;

use crate::client_request::ClientRequest;
use crate::trace::CallTrace;
use direct::Charged;
use direct::response_headers::ResponseInfo;
use transport::record;
use upstreams::{Pool, PoolPermit, TriedSet, Upstream, UpstreamIndex, UpstreamPermit};

/// The log record of a request, with the product's part.
pub(crate) type Record = record::Record<RequestLog>;

/// An admitted call. Dropping it releases what it holds.
#[derive(Debug)]
pub struct Call {
    /// The operation: GET or POST.
    pub method: CallMethod,
    /// The tool.
    pub tool: Tool,
    /// The pool of the tool, as it was configured when the call came.
    pub pool: Arc<Pool>,
    /// The action that the tool carries out: a checked [`shared::action::Action`].
    pub action: Box<str>,
    /// The id of the key that the call is made with.
    pub key_id: KeyId,
    /// The named secret that calls, in direct mode.
    pub secret_id: Option<SecretId>,
    /// The tier of the key.
    pub tier: Tier,
    /// Where the call is counted, in direct mode.
    pub charged: Option<Charged>,
    /// Its price, in direct mode.
    pub price: Price,
    /// The units that its response costs, in direct mode. `None` without a price, or if it is refunded.
    pub units: Option<u32>,
    /// Its trace, if calls are traced.
    pub trace: Option<Box<CallTrace>>,
    /// The upstream that is being tried or has responded.
    pub current: Option<UpstreamIndex>,
    /// Upstreams that failed.
    pub tried: TriedSet,
    /// The number of free retries: those that do not count as a failure of an upstream.
    pub free_retries: u32,
    /// Whether a retry was taken from the retry budget and not made yet.
    pub is_retry_reserved: bool,
    /// Its slot among the calls of its key.
    pub key_permit: Option<Guard>,
    /// Its slot among the calls of its key in its pool, if the pool limits them.
    pub pool_key_permit: Option<Guard>,
    /// Whether the queue of its pool was full, or the call has waited there for too long.
    pub is_queue_over: bool,
    /// Its slot among the calls of its pool.
    pub pool_permit: Option<PoolPermit>,
    /// Its slot among the calls of its upstream.
    pub upstream_permit: Option<UpstreamPermit>,
}

/// The product's part of the log record of a request.
#[derive(Debug)]
pub struct RequestLog {
    /// The id in the grant. Before a grant is verified, a random one.
    pub request_id: RequestId,
    /// Whether the request came over TLS, in direct mode.
    pub secure: bool,
    /// The caller's trace (W3C Trace Context), if the access log has it.
    pub trace_id: Option<TraceId>,
    /// The client and its request, if the access log has them.
    pub client: Option<Box<ClientRequest>>,
    /// The proof to the edge that the response is ours. `None` before a grant was verified, and in
    /// direct mode.
    pub proof: Option<Proof>,
    /// The quota status of the key, in direct mode.
    pub quota: Option<QuotaStatus>,
    /// Whether the call passed on the local budget, because its meter was out of reach.
    pub degraded: bool,
    /// Why its grant was refused.
    pub refused_grant: Option<Box<GrantRefusal>>,
    /// The problem that the request was refused with.
    pub refusal: Option<Code>,
    /// The call that was refused before its grant or key was verified.
    pub refused_call: Option<RefusedCall>,
}

impl Call {
    /// Returns a call that has taken no slot yet.
    pub fn new(called: &ToolCall<'_>, pool: Arc<Pool>, key_id: KeyId, tier: Tier) -> Self {
        Self {
            method: called.method,
            tool: called.tool,
            pool,
            action: called.action.as_str().into(),
            key_id,
            secret_id: None,
            tier,
            charged: None,
            price: Price::FREE,
            units: None,
            trace: None,
            current: None,
            tried: TriedSet::default(),
            free_retries: 0,
            is_retry_reserved: false,
            is_queue_over: false,
            key_permit: None,
            pool_key_permit: None,
            pool_permit: None,
            upstream_permit: None,
        }
    }

    /// Returns true if the method is idempotent (RFC 9110, section 9.2.2).
    pub const fn is_idempotent(&self) -> bool {
        match self.method {
            CallMethod::Get => true,
            CallMethod::Post => false,
        }
    }

    /// Returns the upstream that is being tried or has responded.
    pub fn upstream(&self) -> Option<&Upstream> {
        self.current.and_then(|index| self.pool.upstream(index))
    }

    /// Returns the upstreams that must not be tried again: those that failed, and the one that is
    /// being tried.
    pub fn tried_with_current(&self) -> TriedSet {
        let mut tried = self.tried;
        self.current.into_iter().for_each(|index| tried.add(index));
        tried
    }
}

/// A call that was refused before its grant or key was verified: what its request line says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RefusedCall {
    /// The operation.
    pub method: CallMethod,
    /// The tool.
    pub tool: Tool,
    /// The action.
    pub action: Box<str>,
}

impl From<ToolCall<'_>> for RefusedCall {
    fn from(call: ToolCall<'_>) -> Self {
        Self { method: call.method, tool: call.tool, action: call.action.as_str().into() }
    }
}

/// Returns what the response headers of direct mode show.
pub(crate) fn response_info(record: &Record) -> ResponseInfo<'_> {
    ResponseInfo {
        is_tls: record.log.secure,
        quota: record.log.quota.as_ref(),
        is_degraded: record.log.degraded,
        started: record.started.instant,
        tool_time: tool_time(record),
    }
}

/// Returns the time from sending the request to the start of the tool's response.
pub(crate) fn tool_time(record: &Record) -> Option<Duration> {
    let (sent, responded) = record.sent_at.zip(record.responded_at)?;
    Some(responded.duration_since(sent))
}
