//! Counters of exceeded limits.

use prometheus::{Error, IntCounter};
use shared::problem::Code;

use super::register::Register;

/// A limit that a client, a tool or the load can exceed. Its label is the setting that defines it,
/// if there is one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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
    /// Maximum number of connections per address.
    ConnectionsPerAddress,
    /// Maximum number of calls in flight per tool.
    CallsInFlight,
    /// Maximum number of calls in flight per key.
    CallsInFlightPerKey,
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
    /// All limits.
    pub const ALL: [Self; 20] = [
        Self::Headers,
        Self::Target,
        Self::MaxBody,
        Self::HeaderTimeout,
        Self::IdleTimeout,
        Self::MinUploadRate,
        Self::MinDownloadRate,
        Self::ConnectTimeout,
        Self::AnswerTimeout,
        Self::TryTimeout,
        Self::PauseTimeout,
        Self::Connections,
        Self::ConnectionsPerAddress,
        Self::CallsInFlight,
        Self::CallsInFlightPerKey,
        Self::ReplayCapacity,
        Self::RefusalsPerSecond,
        Self::RetryPercent,
        Self::RefusalTimeout,
        Self::Http2HeldBytes,
    ];

    /// Returns the label of the limit.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Headers => "headers",
            Self::Target => "target",
            Self::MaxBody => "max_body",
            Self::HeaderTimeout => "header_timeout",
            Self::IdleTimeout => "idle_timeout",
            Self::MinUploadRate => "min_upload_rate",
            Self::MinDownloadRate => "min_download_rate",
            Self::ConnectTimeout => "connect_timeout",
            Self::AnswerTimeout => "answer_timeout",
            Self::TryTimeout => "try_timeout",
            Self::PauseTimeout => "pause_timeout",
            Self::Connections => "connections",
            Self::ConnectionsPerAddress => "connections_per_address",
            Self::CallsInFlight => "calls_in_flight",
            Self::CallsInFlightPerKey => "calls_in_flight_per_key",
            Self::ReplayCapacity => "replay_capacity",
            Self::RefusalsPerSecond => "refusals_per_second",
            Self::RetryPercent => "retry_percent",
            Self::RefusalTimeout => "refusal_timeout",
            Self::Http2HeldBytes => "http2_held_bytes",
        }
    }

    /// Returns the limit that a problem always reports.
    const fn of(code: Code) -> Option<Self> {
        match code {
            Code::HeadersTooLarge => Some(Self::Headers),
            Code::TargetTooLong => Some(Self::Target),
            Code::BodyTooLarge => Some(Self::MaxBody),
            _ => None,
        }
    }
}

pub(super) struct LimitMetrics([IntCounter; LimitKind::ALL.len()]);

impl LimitMetrics {
    /// Registers the counters.
    pub(super) fn new(register: &Register<'_>) -> Result<Self, Error> {
        let exceeded = register.counters(
            "utg_limits_exceeded_total",
            "Limits exceeded, by the setting that defines the limit.",
            &["limit"],
        )?;
        Ok(Self(LimitKind::ALL.map(|limit| exceeded.with_label_values(&[limit.as_str()]))))
    }

    pub(super) fn record(&self, limit: LimitKind) {
        if let Some(counter) = self.0.get(limit as usize) {
            counter.inc();
        }
    }

    pub(super) fn record_refusal(&self, code: Code) {
        if let Some(limit) = LimitKind::of(code) {
            self.record(limit);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limit_number_is_its_place_in_all() {
        assert!(LimitKind::ALL.into_iter().enumerate().all(|(place, limit)| limit as usize == place));
    }
}
