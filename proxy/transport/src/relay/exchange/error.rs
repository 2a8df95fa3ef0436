//! Errors that end a call before its response is complete.

use shared::problem::Problem;

use crate::client::{ClientStream, ClientTimeout, Direction};
use crate::hooks::{Cause, Event, Limit, Phases};
use crate::response_deadline::ResponseTimeout;

/// An error that ends a call before its response is complete.
#[derive(Debug)]
pub(crate) enum ExchangeError {
    /// The client has disconnected.
    ClientClosed,
    /// The framing of the client's body is malformed.
    ClientMalformed,
    /// The client's body is refused.
    BodyRefused(Box<Problem>),
    /// The client was too slow.
    ClientTimedOut(ClientTimeout),
    /// The upstream was too slow.
    UpstreamTimedOut(ResponseTimeout),
    /// The upstream failed.
    Upstream {
        /// The cause.
        cause: Cause,
        /// Whether the upstream had sent anything of a response.
        has_responded: bool,
    },
    /// The product does not pass on the response, because of its status.
    Discarded {
        /// The status.
        status: u16,
    },
    /// The upstream stated that it has not processed the request.
    Unprocessed,
}

impl ExchangeError {
    /// Returns the error of a client that can neither be read from nor written to.
    pub(crate) fn of_client(client: &ClientStream) -> Self {
        client.timeout().map_or(Self::ClientClosed, Self::ClientTimedOut)
    }

    /// Returns the limit that was exceeded, if one was.
    const fn limit(&self) -> Option<Limit> {
        match self {
            Self::ClientTimedOut(ClientTimeout::TooSlow(Direction::Upload)) => Some(Limit::MinUploadRate),
            Self::ClientTimedOut(ClientTimeout::TooSlow(Direction::Download)) => Some(Limit::MinDownloadRate),
            Self::ClientTimedOut(ClientTimeout::Idle(_)) => Some(Limit::IdleTimeout),
            Self::UpstreamTimedOut(ResponseTimeout::Response) => Some(Limit::AnswerTimeout),
            Self::UpstreamTimedOut(ResponseTimeout::Attempt) => Some(Limit::TryTimeout),
            Self::UpstreamTimedOut(ResponseTimeout::Pause) => Some(Limit::PauseTimeout),
            Self::UpstreamTimedOut(ResponseTimeout::Probe)
            | Self::ClientClosed
            | Self::ClientMalformed
            | Self::BodyRefused(_)
            | Self::Upstream { .. }
            | Self::Discarded { .. }
            | Self::Unprocessed => None,
        }
    }

    /// Records the limit that was exceeded, if one was.
    pub(crate) fn record(&self, phases: &impl Phases) {
        if let Some(limit) = self.limit() {
            phases.record(Event::LimitExceeded(limit));
        }
    }
}
