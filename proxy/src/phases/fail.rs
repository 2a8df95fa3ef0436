//! When a tool cannot serve: another upstream if nothing was sent, else a 503 that says why and until when.

use pingora_core::{Error, ErrorType};
use shared::{
    origin::{Execution, failure_detail},
    problem::{Code, Problem},
    route::CallMethod,
};

use crate::{
    clock::Monotonic,
    ctx::{Call, RequestCtx},
    metrics::Bound,
    phases::select,
    state::State,
    upstreams::{Evidence, Pool},
};

/// A connection could not be made: nothing was sent, so that any method may try the next healthy upstream. Of calls that
/// have waited for the same connection one has it as its `own`: what failed once says as much of the upstream as once.
pub fn connect(state: &State, ctx: &mut RequestCtx, mut error: Box<Error>, own: bool) -> Box<Error> {
    if own {
        ended(state, ctx, true, Monotonic::now());
    }
    let (Some(call), Some(place)) = (ctx.call.clone(), ctx.place.take()) else { return error };
    let pool = &call.pool;
    if let Some(upstream) = pool.upstream(place).filter(|_| own) {
        state.metrics.connect_failed(call.tool, &upstream.name);
        if *error.etype() == ErrorType::ConnectTimedout {
            state.metrics.hit(Bound::ConnectTimeout);
        }
        if let Some(health) =
            upstream.observe(Evidence::ConnectFailed, &pool.config.settings.probe, Monotonic::now())
        {
            log::info!("{} {} is {}: {}", call.tool, upstream.name, health.as_str(), error.etype().as_str());
        }
    }
    ctx.tried.add(place);
    let found = select::next(pool, ctx, call.key_id, Monotonic::now());
    let in_time = ctx.buffered_at().elapsed() < pool.config.settings.answer_timeout;
    let again = found && in_time;
    if again {
        state.metrics.retried(call.tool, "connect");
    }
    error.set_retry(again);
    error
}

/// An upstream's call came to its end, as far as it says something of the upstream.
pub fn ended(state: &State, ctx: &RequestCtx, failed: bool, now: Monotonic) {
    let Some(call) = &ctx.call else { return };
    let Some(upstream) = ctx.place.and_then(|place| call.pool.upstream(place)) else { return };
    if failed && ctx.answered_at.is_none() {
        upstream.record_failure();
    }
    if call.pool.record_outcome(upstream, failed, now) {
        state.metrics.ejected(call.tool, &upstream.name);
        log::warn!(
            "{} {} is out for {} ms: its calls failed",
            call.tool,
            upstream.name,
            upstream.ejected_for(now)
        );
    }
}

/// Whether a call does the same when the tool gets it twice (RFC 9110, section 9.2.2).
#[must_use]
pub const fn may_be_sent_again(call: &Call) -> bool {
    match call.method {
        CallMethod::Get => true,
        CallMethod::Post => false,
    }
}

/// How a call broke off before its answer began.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// Its server failed.
    Failed,
    /// The connection had waited, and turned out to be closed.
    Stale,
    /// Its server says that it has not looked at the request.
    Unprocessed,
}

/// So many times a failure that is not the server's may happen to a call before it is one like any other.
const STALE: u32 = 3;

impl Failure {
    /// Whether the server is not to blame, and the call goes to it again at once.
    #[must_use]
    pub const fn costs_nothing(self, ctx: &RequestCtx) -> bool {
        match self {
            Self::Failed => false,
            Self::Stale | Self::Unprocessed => ctx.stale < STALE,
        }
    }

    /// Its name in metrics.
    const fn as_str(self) -> &'static str {
        match self {
            Self::Failed => "answer",
            Self::Stale => "stale",
            Self::Unprocessed => "unprocessed",
        }
    }
}

/// Whether a call that failed after it was sent goes to another connection, which is then chosen: the tool has not looked
/// at it, or it does the same when the tool gets it twice; its answer has not begun, and time and budget allow.
pub fn may_try_again(state: &State, ctx: &mut RequestCtx, failure: Failure) -> bool {
    let (Some(call), None) = (ctx.call.clone(), ctx.answered_at) else { return false };
    let pool = &call.pool;
    let since = ctx.complete_at.unwrap_or_else(|| ctx.buffered_at());
    let safe = failure == Failure::Unprocessed || may_be_sent_again(&call);
    if !safe || since.elapsed() >= pool.config.settings.answer_timeout {
        return false;
    }
    if failure.costs_nothing(ctx) {
        ctx.stale += 1;
        state.metrics.retried(call.tool, failure.as_str());
        return true;
    }
    let mut tried = ctx.tried;
    ctx.place.into_iter().for_each(|place| tried.add(place));
    let now = Monotonic::now();
    if !pool.has_untried(tried, now) {
        return false;
    }
    if !pool.try_spend_retry(now) {
        state.metrics.hit(Bound::RetryPercent);
        return false;
    }
    ctx.tried = tried;
    state.metrics.retried(call.tool, Failure::Failed.as_str());
    select::next(pool, ctx, call.key_id, now)
}

/// How a tool's server failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// No connection was made in time.
    ConnectTimeout,
    /// It takes no connections.
    Refused,
    /// No way leads to it.
    NoRoute,
    /// It cannot prove who it is.
    Certificate,
    /// TLS could not be agreed upon.
    Tls,
    /// It did not answer in time.
    Timeout,
    /// It broke the connection off.
    Terminated,
    /// What it says is not HTTP.
    Malformed,
    /// Its headers are beyond what clients are sent.
    HeadersTooLarge,
    /// Anything else.
    Unreachable,
}

impl From<&ErrorType> for Cause {
    fn from(etype: &ErrorType) -> Self {
        match etype {
            ErrorType::ConnectTimedout | ErrorType::TLSHandshakeTimedout => Self::ConnectTimeout,
            ErrorType::ConnectRefused => Self::Refused,
            ErrorType::ConnectNoRoute => Self::NoRoute,
            ErrorType::InvalidH2 => Self::Malformed,
            ErrorType::InvalidCert => Self::Certificate,
            ErrorType::TLSHandshakeFailure | ErrorType::TLSWantX509Lookup | ErrorType::HandshakeError => {
                Self::Tls
            }
            _ => Self::Unreachable,
        }
    }
}

/// What to say of an upstream that failed before its answer began. All are 503: to the client it is the tool that is
/// not there (spec section 7).
#[must_use]
pub fn failed(pool: &Pool, method: CallMethod, cause: Cause, execution: Execution) -> Problem {
    let (code, proxy_error, what) = match cause {
        Cause::ConnectTimeout => {
            (Code::ToolUnavailable, "connection_timeout", "no server of the tool could be reached in time")
        }
        Cause::Refused => {
            (Code::ToolUnavailable, "connection_refused", "no server of the tool takes connections")
        }
        Cause::Timeout => (Code::ToolTimeout, "http_response_timeout", "the tool did not answer in time"),
        Cause::Terminated => (
            Code::ToolUnavailable,
            "connection_terminated",
            "the tool broke the connection off before it answered",
        ),
        Cause::Malformed => (Code::ToolUnavailable, "http_protocol_error", "the tool's answer is not HTTP"),
        Cause::HeadersTooLarge => (
            Code::ToolUnavailable,
            "http_response_header_section_size",
            "the headers of the tool's answer are too large",
        ),
        Cause::NoRoute => {
            (Code::ToolUnavailable, "destination_ip_unroutable", "no way leads to the tool's servers")
        }
        Cause::Certificate => {
            (Code::ToolUnavailable, "tls_certificate_error", "the tool's server cannot prove who it is")
        }
        Cause::Tls => {
            (Code::ToolUnavailable, "tls_protocol_error", "no safe connection to the tool could be made")
        }
        Cause::Unreachable => {
            (Code::ToolUnavailable, "destination_unavailable", "the tool cannot be reached")
        }
    };
    let detail = failure_detail(pool.config.tool, method, execution, what);
    outage(pool, code, proxy_error, detail)
}

/// No upstream of the tool can be asked.
#[must_use]
pub fn unavailable(pool: &Pool, method: CallMethod, what: &str) -> Problem {
    let detail = failure_detail(pool.config.tool, method, Execution::None, what);
    outage(pool, Code::ToolUnavailable, "destination_unavailable", detail)
}

/// A bound on what is done at once was run into, and is counted.
#[must_use]
pub fn full(state: &State, bound: Bound, detail: &'static str) -> Problem {
    state.metrics.hit(bound);
    overloaded(detail)
}

/// There is too much to do at this moment.
#[must_use]
pub fn overloaded(detail: &'static str) -> Problem {
    Problem::new(Code::ToolOverloaded, detail)
        .retry_after(1)
        .with_header("proxy-status", proxy_status("connection_limit_reached"))
}

fn outage(pool: &Pool, code: Code, proxy_error: &str, detail: String) -> Problem {
    Problem::new(code, detail)
        .retry_after(pool.recovers_in(Monotonic::now()).div_ceil(1_000))
        .with_header("proxy-status", proxy_status(proxy_error))
}

/// RFC 9209, section 2.3: who says it, and what went wrong.
#[must_use]
pub fn proxy_status(error: &str) -> String {
    format!("utg-proxy; error={error}")
}
