//! The decision whether a failed call is retried, for all kinds of failure.
//!
//! Why: docs/decisions/proxy.md, "A POST on a closed idle connection is 503".

use std::time::Instant;

use pingora::ErrorType;
use shared::origin::Execution;

use super::{outage, upstream_peer};
use crate::call::{Call, Record};
use crate::observe::metrics::RetryCause;
use crate::state::State;
use transport::clock::{Monotonic, millis};
use transport::hooks::{AfterFailure, Attempt, Cause, Failure, FailureKind, Limit, OUT_OF_FILES};
use upstreams::{CallFailure, Evidence, Speed, Upstream};

/// Maximum number of free retries of a call.
const MAX_FREE_RETRIES: u32 = 3;

/// Decides about a call whose connection could not be opened. Any method may be retried, because
/// nothing was sent.
pub(crate) fn fail_to_connect(
    state: &State,
    call: &mut Call,
    record: &Record,
    error: &ErrorType,
) -> AfterFailure {
    if let Some(trace) = &mut call.trace {
        trace.end_attempt(None, Cause::from(error));
    }
    let now = Monotonic::now();
    if *error == OUT_OF_FILES {
        return out_of_files(state, call, now);
    }
    // After this branch: a process without file descriptors says nothing about the upstream, and
    // ejected healthy ones.
    record_failure(state, call, now);
    record_connect_failure(state, call, error, now);
    // An upstream that failed once is not asked again for this call, even if it is still the best
    // one.
    call.tried = call.tried_with_current();
    let found = upstream_peer::next(call, now);
    let in_time = record.buffered_at().elapsed() < call.pool.config.settings.answer_timeout;
    match found.filter(|_| in_time) {
        Some(attempt) => {
            state.metrics.pools.record_retry(call.tool, RetryCause::Connect);
            AfterFailure::Retry(attempt)
        }
        None => give_up(call, Cause::from(error), Execution::None),
    }
}

/// Decides about a call that the process has no file descriptor left for. An idle connection is closed
/// for it, if there is one. The upstream has done nothing wrong.
fn out_of_files(state: &State, call: &mut Call, now: Monotonic) -> AfterFailure {
    if call.free_retries < MAX_FREE_RETRIES && state.pools.load().close_idle() {
        call.free_retries += 1;
        if let Some(attempt) = upstream_peer::current(call, now) {
            return AfterFailure::Retry(attempt);
        }
    }
    let detail = "the proxy has no file descriptor left for a connection to the tool";
    AfterFailure::GiveUp(outage::full(state, Limit::OpenFiles, detail).into())
}

/// Decides about a call that failed after it was sent.
pub(crate) fn error_while_proxy(
    state: &State,
    call: &mut Call,
    record: &Record,
    failure: Failure,
) -> AfterFailure {
    if let Some(trace) = &mut call.trace {
        trace.end_attempt(record.sent_at, failure.cause);
    }
    match failure.cause {
        Cause::Status(status) => record_response(state, call, record, status, Instant::now()),
        // A stale connection is no failure of the upstream, which has only closed it at its own
        // timeout.
        _ if is_free_retry(call, failure.kind) => {}
        _ => record_failure(state, call, Monotonic::now()),
    }
    match plan_retry(state, call, record, failure) {
        Some(attempt) => AfterFailure::Retry(attempt),
        None => {
            let execution = match failure.kind {
                FailureKind::Unprocessed => Execution::None,
                FailureKind::Failed | FailureKind::Stale => Execution::Possible,
            };
            give_up(call, failure.cause, execution)
        }
    }
}

/// Decides whether a response with this status is discarded, because the call can be retried on an
/// available upstream. Reserves the retry in the retry budget.
pub(crate) fn discard_response(
    state: &State,
    call: &mut Call,
    record: &Record,
    status: u16,
    is_replayable: bool,
) -> bool {
    let settings = &call.pool.config.settings;
    if !settings.retry_statuses.contains(&status) || !is_replayable || !call.is_idempotent() {
        return false;
    }
    let now = Monotonic::now();
    let since = record.completed_at.unwrap_or_else(|| record.buffered_at());
    // A retry that cannot end in time would replace a response that the client could have.
    let in_time = since.elapsed() < settings.answer_timeout;
    if !in_time || !call.pool.has_available(call.tried_with_current(), now) {
        return false;
    }
    // One that was reserved when the attempt timed out is not spent twice.
    call.is_retry_reserved = call.is_retry_reserved || call.pool.try_spend_retry(now);
    if !call.is_retry_reserved {
        state.metrics.limits.record(Limit::RetryPercent);
    }
    call.is_retry_reserved
}

/// Chooses the upstream of a retry, and spends the retry budget. Returns `None` unless the request
/// was not processed or its method is idempotent, its response has not begun, and time and budget
/// allow.
fn plan_retry(state: &State, call: &mut Call, record: &Record, failure: Failure) -> Option<Attempt> {
    let is_safe = failure.kind == FailureKind::Unprocessed || call.is_idempotent();
    let since = record.completed_at.unwrap_or_else(|| record.buffered_at());
    let in_time = since.elapsed() < call.pool.config.settings.answer_timeout;
    // Once the response has begun, the client has a part of it.
    if !failure.is_replayable || record.responded_at.is_some() || !is_safe || !in_time {
        return None;
    }
    let now = Monotonic::now();
    if is_free_retry(call, failure.kind) {
        call.free_retries += 1;
        state.metrics.pools.record_retry(call.tool, retry_cause(failure.kind));
        return upstream_peer::current(call, now);
    }
    let tried = call.tried_with_current();
    if !call.pool.has_untried(tried, now) {
        return None;
    }
    if !std::mem::take(&mut call.is_retry_reserved) && !call.pool.try_spend_retry(now) {
        state.metrics.limits.record(Limit::RetryPercent);
        return None;
    }
    call.tried = tried;
    let cause = match failure.cause {
        Cause::Status(_) => RetryCause::Status,
        _ => retry_cause(failure.kind),
    };
    state.metrics.pools.record_retry(call.tool, cause);
    upstream_peer::next(call, now)
}

/// Returns true if the failure does not count against the upstream. The call goes to it again at
/// once.
const fn is_free_retry(call: &Call, kind: FailureKind) -> bool {
    match kind {
        FailureKind::Failed => false,
        FailureKind::Stale | FailureKind::Unprocessed => call.free_retries < MAX_FREE_RETRIES,
    }
}

/// Returns the cause of a retry for metrics.
const fn retry_cause(kind: FailureKind) -> RetryCause {
    match kind {
        FailureKind::Failed => RetryCause::Response,
        FailureKind::Stale => RetryCause::Stale,
        FailureKind::Unprocessed => RetryCause::Unprocessed,
    }
}

fn give_up(call: &Call, cause: Cause, execution: Execution) -> AfterFailure {
    AfterFailure::GiveUp(Box::new(outage::failed(&call.pool, call.method, cause, execution)))
}

/// Records a complete response: in the metrics of its upstream, and as the outcome of the call. It is
/// a failure if its status is one of `eject_statuses`, or if it was slow beside the other upstreams.
pub(crate) fn record_response(state: &State, call: &Call, record: &Record, status: u16, responded: Instant) {
    let (Some(upstream), Some(sent)) = (call.upstream(), record.sent_at) else { return };
    let took = responded.duration_since(sent);
    upstream.record_response(status, took);
    // The time of its head, because an ejection since then is not to be ended by it.
    let now = Monotonic::at(responded);
    let speed = call.pool.record_time(upstream, sent, took, now);
    let failure = match (call.pool.config.settings.eject.statuses.contains(&status), speed) {
        (true, _) => Some(CallFailure::Status(status)),
        (false, Speed::Slow) => {
            let typical_ms = call.pool.typical_ms(upstream, now);
            Some(CallFailure::Slow { took_ms: millis(took), typical_ms })
        }
        // No evidence about the upstream.
        (false, Speed::Unknown) => return,
        (false, Speed::Usual) => None,
    };
    record_outcome(state, call, failure, now);
}

/// Records an attempt without a response.
fn record_failure(state: &State, call: &Call, now: Monotonic) {
    call.upstream().into_iter().for_each(Upstream::record_failure);
    record_outcome(state, call, Some(CallFailure::NoResponse), now);
}

/// Feeds the outcome of a call to outlier detection.
pub(crate) fn record_outcome(state: &State, call: &Call, failure: Option<CallFailure>, now: Monotonic) {
    let Some(upstream) = call.upstream() else { return };
    if let Some(ejection) = call.pool.record_outcome(upstream, failure, now) {
        state.metrics.pools.record_ejection(call.tool, &upstream.name, &ejection);
        let (tool, name, for_ms) = (call.tool, &upstream.name, upstream.ejected_for(now));
        log::warn!("upstream ejected: tool={tool} upstream={name} for_ms={for_ms} {ejection}");
    }
}

fn record_connect_failure(state: &State, call: &Call, error: &ErrorType, now: Monotonic) {
    let Some(upstream) = call.upstream() else { return };
    state.metrics.pools.record_connect_failure(call.tool, &upstream.name);
    if *error == ErrorType::ConnectTimedout {
        state.metrics.limits.record(Limit::ConnectTimeout);
    }
    call.pool.record_evidence(upstream, Evidence::ConnectFailed, error.as_str(), now);
}
