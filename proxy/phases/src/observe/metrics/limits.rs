//! Counters of exceeded limits.

use prometheus::Error;
use shared::problem::{Code, codes};
use transport::hooks::Limit;

use super::register::{Register, VariantCounters};

pub(crate) struct LimitMetrics(VariantCounters<Limit>);

impl LimitMetrics {
    /// Registers the counters.
    pub(super) fn new(register: &Register<'_>) -> Result<Self, Error> {
        register
            .variant_counters(
                "utg_limits_exceeded_total",
                "Limits exceeded, by the setting that defines the limit.",
                "limit",
            )
            .map(Self)
    }

    pub(crate) fn record(&self, limit: Limit) {
        self.0.inc(limit);
    }

    pub(super) fn record_refusal(&self, code: Code) {
        if let Some(limit) = limit_of(code) {
            self.record(limit);
        }
    }
}

/// Returns the limit that a problem always reports.
fn limit_of(code: Code) -> Option<Limit> {
    match code {
        codes::HEADERS_TOO_LARGE => Some(Limit::Headers),
        codes::TARGET_TOO_LONG => Some(Limit::Target),
        codes::BODY_TOO_LARGE => Some(Limit::MaxBody),
        _ => None,
    }
}
