//! The record of a traced call while it runs.

use std::time::{Duration, Instant};

use shared::request_id::RequestId;
use shared::trace::{Span, SpanContext, SpanId, TRACEPARENT, TRACESTATE};

use config::TracingConfig;
use transport::hooks::Cause;
use transport::record::DialTimes;
use transport::request_head::RawHead;
use upstreams::UpstreamIndex;

/// The span of a call, and its attempts so far.
#[derive(Debug)]
pub struct CallTrace {
    /// The span of the call. Its flag says that it is exported whatever its outcome is.
    pub(crate) span: Span,
    /// Whether the tool gets the caller's `tracestate`.
    keeps_state: bool,
    /// The time to the start of the response from which the call is exported in any case.
    pub(crate) slow: Duration,
    /// The attempts. The last one has no end yet.
    pub(crate) attempts: Vec<AttemptTrace>,
}

/// One attempt of a call.
#[derive(Debug)]
pub(crate) struct AttemptTrace {
    pub(crate) span_id: SpanId,
    pub(crate) upstream: UpstreamIndex,
    /// When it began. `None` for a first attempt, which begins when the call can be sent: most calls have
    /// no other, and are spared a reading of the clock.
    pub(crate) started: Option<Instant>,
    /// When its connection was made. `None` for one that was idle, and until there is one.
    pub(crate) dialed: Option<DialTimes>,
    /// The end of an attempt that another one, or a refusal, follows.
    pub(crate) failed: Option<FailedAttempt>,
}

/// The end of an attempt that failed before a response was passed on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FailedAttempt {
    pub(crate) at: Instant,
    /// When the request was sent, if it was.
    pub(crate) sent: Option<Instant>,
    pub(crate) cause: Cause,
}

impl CallTrace {
    /// Begins the trace of a call, or continues that of its caller.
    pub(crate) fn new(config: &TracingConfig, raw: &RawHead<'_>, request: RequestId) -> Self {
        let text = |value| std::str::from_utf8(value).ok();
        // Several are as invalid as a malformed one.
        let traceparent = raw.only(TRACEPARENT).ok().flatten().and_then(text);
        let mut span = Span::new(traceparent, request, random_id());
        let caller = span.parent.map(|_| span.context);
        span.context.is_sampled = config.sampler.samples(caller, span.context.trace_id, request);
        // Several lines are one list (W3C Trace Context, section 3.3).
        let state: Option<Vec<_>> = raw.all(TRACESTATE).map(text).collect();
        let keeps_state = state.is_some_and(|lines| !lines.is_empty() && span.keeps_state(&lines.join(",")));
        Self { span, keeps_state, slow: config.slow, attempts: Vec::with_capacity(1) }
    }

    /// Returns the span of the call.
    pub(crate) const fn context(&self) -> SpanContext {
        self.span.context
    }

    /// Returns true if a header of the client reaches the tool as it is. `name` in any case.
    pub(crate) fn passes(&self, name: &str) -> bool {
        !name.eq_ignore_ascii_case(TRACEPARENT)
            && (self.keeps_state || !name.eq_ignore_ascii_case(TRACESTATE))
    }

    /// Records that an attempt begins, which may have waited in a queue.
    pub(crate) fn begin_attempt(&mut self, upstream: UpstreamIndex, may_have_waited: bool) {
        let is_known = self.attempts.is_empty() && !may_have_waited;
        self.attempts.push(AttemptTrace {
            span_id: SpanId::new(random_id()),
            upstream,
            started: (!is_known).then(Instant::now),
            dialed: None,
            failed: None,
        });
    }

    /// Records the connection of the attempt. Returns its span, which is the parent of the tool's.
    pub(crate) fn record_connection(&mut self, dialed: Option<DialTimes>) -> SpanContext {
        let Some(attempt) = self.attempts.last_mut() else { return self.span.context };
        attempt.dialed = dialed;
        SpanContext { span_id: attempt.span_id, ..self.span.context }
    }

    /// Records that the attempt failed. `sent` is when its request was sent, if it was.
    pub(crate) fn end_attempt(&mut self, sent: Option<Instant>, cause: Cause) {
        if let Some(attempt) = self.attempts.last_mut() {
            attempt.failed = Some(FailedAttempt { at: Instant::now(), sent, cause });
        }
    }
}

/// Returns the bytes of a span id. They are no secret.
pub(crate) fn random_id() -> [u8; 8] {
    fastrand::u64(..).to_be_bytes()
}
