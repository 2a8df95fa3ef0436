//! Traces of calls: what is recorded of a call while it runs, and the spans that wait for their export.
//!
//! Why: docs/decisions/proxy.md, "Spans are built when a call has ended".

mod call_trace;
pub mod otlp;
mod span_queue;

pub(crate) use call_trace::{AttemptTrace, CallTrace, FailedAttempt, random_id};
pub use span_queue::{CallSpans, SpanQueue};
