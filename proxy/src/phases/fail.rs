//! When a tool cannot serve: another upstream if nothing was sent, else a 503 that says why and until when.

use pingora_core::{Error, ErrorSource, ErrorType, RetryType};
use pingora_proxy::{FailToProxy, Session};
use shared::{
    problem::{Code, Problem},
    request::stalled,
    route::CallMethod,
};

use crate::{
    client::{self, Awaited, ClientStream},
    clock::Monotonic,
    ctx::{Call, RequestCtx},
    metrics::Bound,
    phases::{answer, select},
    pools::{Evidence, Pool},
    respond,
    state::State,
};

/// A connection could not be made: nothing was sent, so that any method may try the next healthy upstream.
pub fn connect(state: &State, ctx: &mut RequestCtx, mut error: Box<Error>) -> Box<Error> {
    ended(state, ctx, true);
    let (Some(call), Some(place)) = (ctx.call.clone(), ctx.place.take()) else { return error };
    let pool = &call.pool;
    if let Some(upstream) = pool.upstream(place) {
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
    let found = select::next(pool, ctx, call.key_id);
    let in_time = ctx.started.elapsed() < pool.config.settings.answer_timeout;
    let again = found && in_time;
    if again {
        state.metrics.retried(call.tool, "connect");
    }
    error.set_retry(again);
    error
}

/// An upstream's call came to its end, as far as it says something of the upstream.
pub fn ended(state: &State, ctx: &RequestCtx, failed: bool) {
    let Some(call) = &ctx.call else { return };
    let Some(upstream) = ctx.place.and_then(|place| call.pool.upstream(place)) else { return };
    let now = Monotonic::now();
    if call.pool.call_ended(upstream, failed, now) {
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

/// Something failed after a connection was there. A GET whose answer has not begun may go to another upstream, within
/// the budget; a connection that the upstream had closed while it was idle is no failure of the upstream.
pub fn sent(
    state: &State,
    session: &Session,
    ctx: &mut RequestCtx,
    mut error: Box<Error>,
    reused: bool,
) -> Box<Error> {
    /// So many idle connections may turn out to be closed before that is a failure like any other.
    const STALE: u32 = 3;
    let stale = reused && matches!(error.retry, RetryType::ReusedOnly) && ctx.stale < STALE;
    error.set_retry(false);
    if error.context.as_ref().is_some_and(|context| context.as_str().contains("header larger than")) {
        error.etype = ErrorType::Custom(answer::HEADERS_TOO_LARGE);
    }
    let overdue = client::of(session).and_then(ClientStream::overdue);
    if overdue == Some(Awaited::Try) {
        state.metrics.hit(Bound::TryTimeout);
    }
    let of_the_tool = matches!(overdue, Some(Awaited::Answer | Awaited::Try))
        || (overdue.is_none() && *error.esource() != ErrorSource::Downstream);
    if of_the_tool && !stale {
        ended(state, ctx, true);
    }
    let (Some(call), true, None) = (ctx.call.clone(), of_the_tool, ctx.answered_at) else { return error };
    let repeatable = may_be_sent_again(&call) && !session.as_ref().retry_buffer_truncated();
    let pool = &call.pool;
    let since = ctx.complete_at.unwrap_or(ctx.started);
    if !repeatable || since.elapsed() >= pool.config.settings.answer_timeout {
        return error;
    }
    if stale {
        ctx.stale += 1;
        state.metrics.retried(call.tool, "stale");
        error.set_retry(true);
        return error;
    }
    let mut tried = ctx.tried;
    ctx.place.into_iter().for_each(|place| tried.add(place));
    let now = Monotonic::now();
    if !pool.has_another(tried, now) {
        return error;
    }
    if pool.may_retry(now) {
        ctx.tried = tried;
        state.metrics.retried(call.tool, "answer");
        error.set_retry(select::next(pool, ctx, call.key_id));
    } else {
        state.metrics.hit(Bound::RetryPercent);
    }
    error
}

/// The bound of time that was run into, if one was.
fn bound_of_time(error: &Error, overdue: Option<Awaited>) -> Option<Bound> {
    match (overdue, error.esource(), error.etype()) {
        (Some(Awaited::Request), ..) | (None, ErrorSource::Downstream, ErrorType::WriteTimedout) => {
            Some(Bound::IdleTimeout)
        }
        (Some(Awaited::Answer), ..) => Some(Bound::AnswerTimeout),
        (Some(Awaited::RestOfAnswer), ..) => Some(Bound::PauseTimeout),
        // Counted when the next server was to be tried.
        (Some(Awaited::Try) | None, ..) => None,
    }
}

/// The end of a request that failed: a problem, if the answer has not begun yet and somebody is there to read it.
pub async fn proxy(state: &State, session: &mut Session, error: &Error, ctx: &mut RequestCtx) -> FailToProxy {
    session.set_keepalive(None);
    let begun = session.response_written().is_some_and(|response| !response.status.is_informational());
    let overdue = client::of(session).and_then(ClientStream::overdue);
    if let Some(bound) = bound_of_time(error, overdue) {
        state.metrics.hit(bound);
    }
    let problem = if begun { None } else { problem(ctx, error, overdue) };
    if let Some(problem) = &problem {
        log::info!("request {}: {} ({})", ctx.request_id, problem.code().as_str(), error.etype().as_str());
        if let Err(error) = respond::refuse(session, ctx, state, problem).await {
            log::debug!("request {}: the client is gone: {}", ctx.request_id, error.etype().as_str());
        }
    }
    FailToProxy { error_code: problem.map_or(0, |problem| problem.status()), can_reuse_downstream: false }
}

/// What to say of an error; `None` when nobody is left to be told.
fn problem(ctx: &mut RequestCtx, error: &Error, overdue: Option<Awaited>) -> Option<Problem> {
    if let Some(problem) = ctx.problem.take() {
        return Some(problem);
    }
    let call = ctx.call.as_ref()?;
    match overdue {
        Some(Awaited::Request) => return Some(stalled()),
        Some(Awaited::Answer | Awaited::RestOfAnswer | Awaited::Try) => {
            return Some(failed(&call.pool, &ErrorType::ReadTimedout));
        }
        None => {}
    }
    match (error.esource(), error.etype()) {
        (
            ErrorSource::Downstream,
            ErrorType::ReadError | ErrorType::WriteError | ErrorType::WriteTimedout,
        ) => None,
        (ErrorSource::Downstream, ErrorType::ConnectionClosed) => None,
        (ErrorSource::Downstream, _) => {
            Some(Problem::new(Code::HeaderMalformed, "the body's framing is broken"))
        }
        (ErrorSource::Upstream | ErrorSource::Internal | ErrorSource::Unset, etype) => {
            Some(failed(&call.pool, etype))
        }
    }
}

/// An upstream failed in a certain way before its answer began. All are 503: to the client it is the tool that is
/// not there (spec section 7).
fn failed(pool: &Pool, etype: &ErrorType) -> Problem {
    let (code, proxy_error, detail) = match etype {
        ErrorType::ConnectTimedout => {
            (Code::ToolUnavailable, "connection_timeout", "no server of the tool could be reached in time")
        }
        ErrorType::ConnectRefused => {
            (Code::ToolUnavailable, "connection_refused", "no server of the tool takes connections")
        }
        ErrorType::ReadTimedout | ErrorType::WriteTimedout => {
            (Code::ToolTimeout, "http_response_timeout", "the tool did not answer in time")
        }
        ErrorType::ConnectionClosed | ErrorType::ReadError | ErrorType::WriteError => (
            Code::ToolUnavailable,
            "connection_terminated",
            "the tool broke the connection off before it answered",
        ),
        ErrorType::InvalidHTTPHeader | ErrorType::H1Error => {
            (Code::ToolUnavailable, "http_protocol_error", "the tool's answer is not HTTP")
        }
        ErrorType::Custom(answer::HEADERS_TOO_LARGE) => (
            Code::ToolUnavailable,
            "http_response_header_section_size",
            "the headers of the tool's answer are too large",
        ),
        ErrorType::ConnectNoRoute => {
            (Code::ToolUnavailable, "destination_ip_unroutable", "no way leads to the tool's servers")
        }
        ErrorType::TLSHandshakeTimedout => {
            (Code::ToolUnavailable, "connection_timeout", "no server of the tool could be reached in time")
        }
        ErrorType::InvalidCert => {
            (Code::ToolUnavailable, "tls_certificate_error", "the tool's server cannot prove who it is")
        }
        ErrorType::TLSHandshakeFailure | ErrorType::TLSWantX509Lookup | ErrorType::HandshakeError => {
            (Code::ToolUnavailable, "tls_protocol_error", "no safe connection to the tool could be made")
        }
        _ => (Code::ToolUnavailable, "destination_unavailable", "the tool cannot be reached"),
    };
    outage(pool, code, proxy_error, detail)
}

/// No upstream of the tool can be asked.
#[must_use]
pub fn unavailable(pool: &Pool, detail: &'static str) -> Problem {
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

fn outage(pool: &Pool, code: Code, proxy_error: &str, detail: &'static str) -> Problem {
    Problem::new(code, detail)
        .retry_after(pool.back_in(Monotonic::now()).div_ceil(1_000))
        .with_header("proxy-status", proxy_status(proxy_error))
}

/// RFC 9209, section 2.3: who says it, and what went wrong.
#[must_use]
pub fn proxy_status(error: &str) -> String {
    format!("utg-proxy; error={error}")
}
