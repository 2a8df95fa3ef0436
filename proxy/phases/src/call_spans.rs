//! The spans of a call that has ended.

use std::time::{Duration, Instant};

use shared::trace::{SpanId, TraceId};

use crate::call::{Call, Record};
use crate::observe::metrics::SpanLoss;
use crate::state::State;
use crate::trace::otlp::{KeyValue, Span, SpanKind, Status, StatusCode};
use crate::trace::{AttemptTrace, CallSpans, CallTrace, FailedAttempt, random_id};
use transport::clock::Moment;
use transport::drain::WorkKind;
use transport::hooks::Cause;
use transport::record::Aborted;

/// The shortest wait in the queue of a pool that has a span.
const MIN_QUEUED: Duration = Duration::from_millis(1);

/// Exports the spans of a call that has ended, if it is sampled, has failed or was slow. Returns true if
/// it is exported.
pub(crate) fn export(state: &State, call: &Call, record: &Record) -> bool {
    let Some(trace) = &call.trace else { return false };
    let time = record.responded_at.unwrap_or_else(Instant::now).duration_since(record.started.instant);
    // Only now is it known whether the call failed or was slow. Spans of others are never built.
    if !(trace.span.context.is_sampled || has_failed(record) || time >= trace.slow) {
        return false;
    }
    // A reload may have switched it off since the call began.
    if state.config.load().tracing.is_none() {
        return false;
    }
    let spans = CallSpanBuilder { call, trace, record, ended: Instant::now() }.build();
    let count = spans.len();
    // Otherwise a shutdown would exit before the spans of the last calls are sent.
    let unsent = state.drain.track(WorkKind::Sending);
    match state.spans.add(CallSpans { spans, unsent }) {
        Ok(()) => true,
        Err(_full) => {
            state.metrics.traces.record_lost(SpanLoss::QueueFull, count);
            false
        }
    }
}

/// Returns true if the gateway or the tool has failed. A client that leaves is no failure of theirs.
fn has_failed(record: &Record) -> bool {
    record.status >= 500 || record.aborted == Some(Aborted::ByUpstream)
}

/// The end of an attempt.
struct AttemptEnd {
    at: Instant,
    sent: Option<Instant>,
    responded: Option<Instant>,
    status: Option<u16>,
    error: Option<String>,
}

/// Builds the spans of a call.
struct CallSpanBuilder<'a> {
    call: &'a Call,
    trace: &'a CallTrace,
    record: &'a Record,
    ended: Instant,
}

impl CallSpanBuilder<'_> {
    fn build(&self) -> Vec<Span> {
        let mut spans = vec![self.call_span()];
        let (own, started) = (self.trace.span.context.span_id, self.record.started.instant);
        let chosen = self.trace.attempts.first().map_or(self.ended, |attempt| self.start_of(attempt));
        if !self.record.buffering.is_zero() {
            spans.push(self.span("receive body", own, started, self.record.buffered_at()));
        }
        if self.record.buffered_at() + MIN_QUEUED <= chosen && self.call.pool.config.settings.queue > 0 {
            spans.push(self.span("queue", own, self.record.buffered_at(), chosen));
        }
        for (nth, attempt) in self.trace.attempts.iter().enumerate() {
            self.push_attempt(&mut spans, nth, attempt);
        }
        spans
    }

    /// Returns the span of the call, with the attributes of OpenTelemetry's conventions for HTTP servers.
    fn call_span(&self) -> Span {
        let Self { call, record, .. } = self;
        let (method, tool) = (call.method.method().as_str(), call.tool.as_str());
        let mut attributes = vec![
            KeyValue::text("http.request.method", method),
            KeyValue::text("http.route", format!("/v1/{tool}/{{action}}")),
            KeyValue::text("url.path", format!("/v1/{tool}/{}", call.action)),
            KeyValue::text("utg.tool", tool),
            KeyValue::text("utg.action", &*call.action),
            KeyValue::text("utg.tier", call.tier.as_str()),
            KeyValue::text("utg.request_id", record.log.request_id.to_string()),
        ];
        if record.status > 0 {
            attributes.push(KeyValue::number("http.response.status_code", record.status));
        }
        let aborted = record.aborted.map(|by| format!("aborted by {}", by.into_str()));
        let code = record.log.refusal.map(|code| code.as_str().to_owned());
        let error = aborted.or(code).or_else(|| has_failed(record).then(|| record.status.to_string()));
        attributes.extend(error.map(|error| KeyValue::text("error.type", error)));
        let context = self.trace.span.context;
        let parent = self.trace.span.parent;
        Span {
            span_id: context.span_id.bytes().to_vec(),
            parent_span_id: parent.map(|parent| parent.bytes().to_vec()).unwrap_or_default(),
            kind: SpanKind::Server.into(),
            attributes,
            status: has_failed(record).then_some(Status { code: StatusCode::Error.into() }),
            ..self.span(
                &format!("{method} /v1/{tool}/{{action}}"),
                context.span_id,
                record.started.instant,
                self.ended,
            )
        }
    }

    /// Adds the span of an attempt, and those of its steps.
    fn push_attempt(&self, spans: &mut Vec<Span>, nth: usize, attempt: &AttemptTrace) {
        let call = self.call;
        let AttemptEnd { at: end, sent, responded, status, error } = self.end_of(attempt);
        let method = call.method.method().as_str();
        let mut attributes = vec![KeyValue::text("http.request.method", method)];
        if let Some(upstream) = call.pool.upstream(attempt.upstream) {
            attributes.push(KeyValue::text("server.address", upstream.config.host.as_str()));
            attributes.push(KeyValue::number("server.port", upstream.config.port));
            attributes.push(KeyValue::text("utg.upstream", upstream.name.as_str()));
        }
        attributes.extend(status.map(|status| KeyValue::number("http.response.status_code", status)));
        if nth > 0 {
            let resends = u32::try_from(nth).unwrap_or(u32::MAX);
            attributes.push(KeyValue::number("http.request.resend_count", resends));
        }
        let is_error = error.is_some();
        attributes.extend(error.map(|error| KeyValue::text("error.type", error)));
        spans.push(Span {
            span_id: attempt.span_id.bytes().to_vec(),
            kind: SpanKind::Client.into(),
            attributes,
            status: is_error.then_some(Status { code: StatusCode::Error.into() }),
            ..self.span(method, self.trace.span.context.span_id, self.start_of(attempt), end)
        });
        let mut step = |name: &str, from: Instant, to: Instant| {
            spans.push(self.span(name, attempt.span_id, from, to));
        };
        if let Some(dialed) = attempt.dialed {
            step("connect", dialed.begun, dialed.connected);
            dialed.secured.into_iter().for_each(|secured| step("tls", dialed.connected, secured));
        }
        if let Some(sent) = sent {
            step("first byte", sent, responded.unwrap_or(end));
        }
        if let Some(responded) = responded {
            step("body", responded, end);
        }
    }

    /// Returns when an attempt began.
    fn start_of(&self, attempt: &AttemptTrace) -> Instant {
        attempt.started.unwrap_or_else(|| self.record.buffered_at())
    }

    /// Returns how an attempt ended. Only the last one can have passed on its response.
    fn end_of(&self, attempt: &AttemptTrace) -> AttemptEnd {
        let record = self.record;
        if let Some(FailedAttempt { at, sent, cause }) = attempt.failed {
            let (status, error) = match cause {
                Cause::Status(status) => (Some(status), status.to_string()),
                cause => (None, format!("{cause:?}")),
            };
            return AttemptEnd { at, sent, responded: None, status, error: Some(error) };
        }
        let responded = record.responded_at;
        let status = responded.map(|_| record.status);
        let error = match (record.aborted, status) {
            (Some(Aborted::ByUpstream), _) => Some("response broken off".to_owned()),
            (_, Some(status)) if status >= 400 => Some(status.to_string()),
            (_, _) => None,
        };
        // Before that is the request of an earlier attempt.
        let sent = record.sent_at.filter(|sent| *sent >= self.start_of(attempt));
        AttemptEnd { at: self.ended, sent, responded, status, error }
    }

    /// Returns an internal span.
    fn span(&self, name: &str, parent: SpanId, from: Instant, to: Instant) -> Span {
        let trace: TraceId = self.trace.span.context.trace_id;
        Span {
            trace_id: trace.bytes().to_vec(),
            span_id: random_id().to_vec(),
            parent_span_id: parent.bytes().to_vec(),
            name: name.to_owned(),
            kind: SpanKind::Internal.into(),
            start_time_unix_nano: nanos(self.record.started, from),
            end_time_unix_nano: nanos(self.record.started, to),
            attributes: Vec::new(),
            status: None,
            flags: u32::from(self.trace.span.context.is_sampled),
        }
    }
}

/// Returns the nanoseconds since 1970 of an instant that is not before the request.
fn nanos(started: Moment, instant: Instant) -> u64 {
    let since = instant.saturating_duration_since(started.instant).as_nanos();
    let since = u64::try_from(since).unwrap_or(u64::MAX);
    started.time.0.saturating_mul(1_000_000).saturating_add(since)
}
