//! Counters of exceeded limits.

use prometheus::Error;
use shared::problem::{Code, codes};
use strum::{IntoStaticStr, VariantArray};

use super::register::{Register, VariantCounters};

/// A limit that a client, a tool or the load can exceed. Its label is the setting that defines it,
/// if there is one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, VariantArray, IntoStaticStr)]
#[strum(const_into_str, serialize_all = "snake_case")]
pub enum LimitKind {
    /// Maximum number or size of a request's headers.
    Headers,
    /// Maximum length of a request's target.
    Target,
    /// Maximum length of a request body.
    MaxBody,
    /// Timeout for the head of a request.
    HeaderTimeout,
    /// Idle timeout of a client connection.
    IdleTimeout,
    /// Minimum rate of an upload in bytes per second.
    MinUploadRate,
    /// Minimum rate of a download in bytes per second.
    MinDownloadRate,
    /// Timeout for a connection to an upstream.
    ConnectTimeout,
    /// Timeout for the response of a tool.
    AnswerTimeout,
    /// Timeout for the response of one upstream among several.
    TryTimeout,
    /// Timeout for the next bytes of a response.
    PauseTimeout,
    /// Maximum number of client connections.
    Connections,
    /// Maximum number of file descriptors of the process.
    OpenFiles,
    /// Maximum number of connections per address.
    ConnectionsPerAddress,
    /// Maximum number of calls in flight per tool.
    CallsInFlight,
    /// Maximum number of calls in flight per key.
    CallsInFlightPerKey,
    /// Maximum rate of calls per tool.
    CallsPerSecond,
    /// Maximum rate of calls per tool and key.
    CallsPerSecondPerKey,
    /// Capacity of the replay cache.
    ReplayCapacity,
    /// Maximum rate of refused requests per address.
    RefusalsPerSecond,
    /// The retry budget.
    RetryPercent,
    /// Timeout for a client to read a refusal.
    RefusalTimeout,
    /// Maximum bytes held for an unauthenticated HTTP/2 connection.
    Http2HeldBytes,
}

impl LimitKind {
    /// Returns the limit that a problem always reports.
    fn of(code: Code) -> Option<Self> {
        match code {
            codes::HEADERS_TOO_LARGE => Some(Self::Headers),
            codes::TARGET_TOO_LONG => Some(Self::Target),
            codes::BODY_TOO_LARGE => Some(Self::MaxBody),
            _ => None,
        }
    }
}

pub(crate) struct LimitMetrics(VariantCounters<LimitKind>);

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

    pub(crate) fn record(&self, limit: LimitKind) {
        self.0.inc(limit);
    }

    pub(super) fn record_refusal(&self, code: Code) {
        if let Some(limit) = LimitKind::of(code) {
            self.record(limit);
        }
    }
}
