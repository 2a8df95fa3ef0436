//! Which bounds were hit.

use prometheus::{Error, IntCounter};
use shared::problem::Code;

use super::register::Register;

/// A bound that a client, a tool or the load can run into. It has the name of the key that sets it, where one does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bound {
    /// The headers of a request: their number or their size.
    Headers,
    /// The length of a request's target.
    Target,
    /// The length of a body.
    MaxBody,
    /// The time for a request's headers.
    HeaderTimeout,
    /// The time in which a connection may neither give nor take a byte.
    IdleTimeout,
    /// The least bytes a second of an upload.
    MinUploadRate,
    /// The least bytes a second of a response that a client takes.
    MinDownloadRate,
    /// The time for a connection to a tool.
    ConnectTimeout,
    /// The time of a tool for its answer.
    AnswerTimeout,
    /// The time of one of a tool's servers, of several.
    TryTimeout,
    /// The time in which an answer may pause.
    PauseTimeout,
    /// Connections of all clients.
    Connections,
    /// Connections of one address.
    ConnectionsPerAddress,
    /// Calls under way of one tool.
    CallsInFlight,
    /// Calls under way of one key.
    CallsInFlightPerKey,
    /// Requests that are remembered.
    ReplayCapacity,
    /// Refused requests of one address.
    RefusalsPerSecond,
    /// Calls that are sent a second time.
    RetryPercent,
    /// The time in which a client must take a refusal.
    RefusalTimeout,
    /// The bytes held of an HTTP/2 connection that has not sent a valid key or grant.
    Http2HeldBytes,
}

impl Bound {
    /// All of them.
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

    /// The word for it in metrics.
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

    /// The bound that a problem is always about.
    const fn of(code: Code) -> Option<Self> {
        match code {
            Code::HeadersTooLarge => Some(Self::Headers),
            Code::TargetTooLong => Some(Self::Target),
            Code::BodyTooLarge => Some(Self::MaxBody),
            _ => None,
        }
    }
}

pub(super) struct BoundMetrics([IntCounter; Bound::ALL.len()]);

impl BoundMetrics {
    /// All at zero.
    pub(super) fn new(register: &Register<'_>) -> Result<Self, Error> {
        let hits = register.counters(
            "utg_limits_exceeded_total",
            "Limits exceeded, by the setting that defines the limit.",
            &["limit"],
        )?;
        Ok(Self(Bound::ALL.map(|bound| hits.with_label_values(&[bound.as_str()]))))
    }

    pub(super) fn hit(&self, bound: Bound) {
        if let Some(counter) = self.0.get(bound as usize) {
            counter.inc();
        }
    }

    pub(super) fn refused(&self, code: Code) {
        if let Some(bound) = Bound::of(code) {
            self.hit(bound);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_bound_has_its_own_counter() {
        assert!(Bound::ALL.into_iter().enumerate().all(|(place, bound)| bound as usize == place));
    }
}
