//! The end of a request: metrics and the access log.

use std::time::Duration;

use shared::problem::codes;
use shared::quota::{CLIENT_LEFT_STATUS, CallEnd};
use shared::trace::SpanContext;

use super::call_spans;
use super::retry::{record_outcome, record_response};
use super::trail;
use super::upstream_response_filter::settle;
use crate::call::{Call, Record, tool_time};
use crate::observe::access_log::Line;
use crate::state::{Mode, State};
use crate::trace::CallTrace;
use transport::clock::Monotonic;
use transport::record::Aborted;
use upstreams::CallFailure;

/// Counts the request and adds its line to the access log.
pub(crate) fn logging(state: &State, call: Option<&Call>, record: &Record) {
    let (status, log) = (record.status, &record.log);
    trail::ended(call, record);
    if let Some(aborted) = record.aborted {
        log::info!("response aborted: request_id={} by={}", log.request_id, aborted.into_str());
    }
    if let Some(call) = call {
        // Only here is the end of the response known. The call was charged when its response began.
        refund_aborted(state, call, record);
        settle_client_left(state, call, record);
        count(state, call, record);
    }
    let exported = call.filter(|call| call_spans::export(state, call, record));
    let span = exported.and_then(|call| call.trace.as_deref()).map(CallTrace::context);
    if let (Some(call), Some(span)) = (exported, span) {
        record_exemplars(state, call, record, span);
    }
    if !state.access_log.wants(status, log.refusal, record.aborted) {
        return;
    }
    let took = record.started.instant.elapsed();
    let upstream = call.and_then(Call::upstream).filter(|_| record.attempts > 0);
    state.access_log.add(&Line {
        time: record.started.time,
        request_id: log.request_id,
        call,
        refused: log.refused_call.as_ref(),
        status,
        refusal: log.refusal,
        refused_grant: log.refused_grant.as_deref(),
        aborted: record.aborted,
        upstream: upstream.map(|upstream| upstream.name.as_str()),
        tries: record.attempts,
        micros: micros(took),
        sent: record.sent,
        // A response that the tool broke off is refunded, so its units would be wrong.
        units: call.and_then(|call| call.units).filter(|_| record.aborted != Some(Aborted::ByUpstream)),
        span,
        caller_trace: log.trace_id,
        gateway_micros: record.sent_at.map(|sent| micros(sent.duration_since(record.buffered_at()))),
        upstream_micros: tool_time(record).map(micros),
        received: record.received,
        client: log.client.as_deref(),
    });
}

fn count(state: &State, call: &Call, record: &Record) {
    state.metrics.record_call(call.tool, call.tier, record.status);
    if let (Some(sent), Some(responded)) = (record.sent_at, record.responded_at) {
        state.metrics.record_overhead(sent.duration_since(record.buffered_at()));
        let Some(by) = record.aborted else {
            return record_response(state, call, record, record.status, responded);
        };
        if let Some(upstream) = call.upstream() {
            upstream.record_response(record.status, responded.duration_since(sent));
            upstream.record_abort(by);
        }
        match by {
            Aborted::ByUpstream => {
                record_outcome(state, call, Some(CallFailure::NoResponse), Monotonic::now());
            }
            // No evidence about the upstream.
            Aborted::ByClient => {}
        }
    }
}

/// Records an exported call that had a response as exemplar.
fn record_exemplars(state: &State, call: &Call, record: &Record, span: SpanContext) {
    let (Some(sent), Some(responded), Some(upstream)) =
        (record.sent_at, record.responded_at, call.upstream())
    else {
        return;
    };
    let response = (call.tool, upstream.name.as_str(), responded.duration_since(sent));
    let overhead = sent.duration_since(record.buffered_at());
    state.metrics.record_exemplars(span, record.started.time, overhead, response);
}

/// Refunds a call whose response the upstream cut off, in direct mode. The edge does it itself.
fn refund_aborted(state: &State, call: &Call, record: &Record) {
    if let (Mode::Direct(direct), Some(charged), Some(Aborted::ByUpstream)) =
        (&state.mode, call.charged, record.aborted)
    {
        direct.record_aborted(&call.key_id, call.tool, charged, record.status);
    }
}

/// Settles a call whose client left before the response, in direct mode: as 499, or as 400 if it cut its
/// upload off, like the edge. One that was sent stays charged, because the tool worked for it.
fn settle_client_left(state: &State, call: &Call, record: &Record) {
    if record.status == 0 && record.log.refusal.is_none() {
        let is_cut_upload = record.completed_at.is_none() && record.received > 0;
        let status = if is_cut_upload { codes::BODY_MALFORMED.status() } else { CLIENT_LEFT_STATUS };
        let end = CallEnd::without_response(record.sent_at.is_some());
        let _left = settle(state, call, (status, end), None);
    }
}

fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}
