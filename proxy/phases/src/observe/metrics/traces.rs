//! Metrics of the export of traces.

use prometheus::{Error, IntCounter};
use strum::{IntoStaticStr, VariantArray};

use super::register::{Register, VariantCounters};

pub struct TraceMetrics {
    exported: IntCounter,
    lost: VariantCounters<SpanLoss>,
    failures: IntCounter,
}

/// The cause why spans were lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, VariantArray, IntoStaticStr)]
#[strum(const_into_str, serialize_all = "snake_case")]
pub enum SpanLoss {
    /// The queue was full.
    QueueFull,
    /// The collector was away for too long, or refused the request.
    ExportFailed,
    /// The collector took the request without these spans.
    Rejected,
}

impl TraceMetrics {
    pub(super) fn new(register: &Register<'_>) -> Result<Self, Error> {
        Ok(Self {
            exported: register
                .counter("utg_trace_spans_exported_total", "Spans that the collector of traces has taken.")?,
            lost: register.variant_counters(
                "utg_trace_spans_dropped_total",
                "Spans that were dropped, by cause: queue_full, export_failed or rejected.",
                "cause",
            )?,
            failures: register.counter(
                "utg_trace_export_failures_total",
                "Requests to the collector of traces that failed. Some are sent again.",
            )?,
        })
    }

    pub fn record_exported(&self, spans: usize) {
        self.exported.inc_by(spans as u64);
    }

    pub fn record_lost(&self, cause: SpanLoss, spans: usize) {
        self.lost.inc_by(cause, spans as u64);
    }

    pub fn record_failure(&self) {
        self.failures.inc();
    }
}
