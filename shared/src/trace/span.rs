//! The span of one hop.

use super::{SpanContext, SpanId, TraceId, is_trace_state};
use crate::request_id::RequestId;

/// The span of one hop, which continues the trace of its caller or begins one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// The span as the next hop knows it.
    pub context: SpanContext,
    /// The span of the caller, or `None` if the trace begins here.
    pub parent: Option<SpanId>,
}

impl Span {
    /// Returns the span of a hop. The trace begins here, with the id of the request and not sampled,
    /// unless `traceparent` is valid. `entropy` becomes the span id.
    ///
    /// ```
    /// use shared::request_id::RequestId;
    /// use shared::trace::Span;
    ///
    /// let root = Span::new(None, RequestId([7; 16]), [1; 8]);
    /// assert_eq!(root.context.trace_id.to_string(), RequestId([7; 16]).to_string());
    ///
    /// let next = Span::new(Some(&root.context.to_string()), RequestId([8; 16]), [2; 8]);
    /// assert_eq!(next.context.trace_id, root.context.trace_id);
    /// assert_eq!(next.parent, Some(root.context.span_id));
    /// ```
    pub fn new(traceparent: Option<&str>, request: RequestId, entropy: [u8; 8]) -> Self {
        let caller = traceparent.and_then(SpanContext::parse);
        let context = SpanContext {
            trace_id: caller.map_or_else(|| TraceId::from(request), |caller| caller.trace_id),
            span_id: SpanId::new(entropy),
            is_sampled: caller.is_some_and(|caller| caller.is_sampled),
        };
        Self { context, parent: caller.map(|caller| caller.span_id) }
    }

    /// Returns true if the next hop gets the `tracestate` of the caller. One without a valid
    /// `traceparent` says nothing of this trace.
    pub fn keeps_state(&self, tracestate: &str) -> bool {
        self.parent.is_some() && is_trace_state(tracestate)
    }
}
