//! Traces of calls: what is recorded of a call while it runs, which calls are exported, and the export
//! to a collector.
//!
//! Why: docs/decisions/proxy.md, "Spans are built when a call has ended".

mod call_spans;
mod call_trace;
mod exporter;
mod otlp;
mod sampler;
mod span_queue;

pub(crate) use call_spans::export;
pub(crate) use call_trace::CallTrace;
pub(crate) use exporter::TraceExporter;
pub(crate) use otlp::PATH as OTLP_PATH;
pub(crate) use sampler::Sampler;
pub(crate) use span_queue::SpanQueue;
