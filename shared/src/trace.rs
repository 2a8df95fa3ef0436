//! Traces of W3C Trace Context, level 1: `traceparent` and `tracestate`, and the span of one hop.

mod context;
mod id;
mod span;
mod state;

pub use context::SpanContext;
pub use id::{SpanId, TraceId};
pub use span::Span;
use state::is_trace_state;

/// Names the caller's span and whether it is sampled (W3C Trace Context, section 3.2).
pub const TRACEPARENT: &str = "traceparent";
/// Has what other tracing systems say of the trace (W3C Trace Context, section 3.3).
pub const TRACESTATE: &str = "tracestate";
