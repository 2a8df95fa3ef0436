//! What becomes of a call that broke off.

use shared::{
    problem::{Code, Problem},
    request::{stalled, too_slow},
};

use super::exchange::Broken;
use crate::{
    client::{ClientStream, ClientTimeout, Direction},
    hooks::{AfterFailure, Attempt, Cause, Event, Failure, FailureKind, Limit, Phases},
    record::{Aborted, Record},
    response_deadline::ResponseTimeout,
};

/// What to do about a call that broke off before its response began.
pub(crate) enum Recovery {
    /// Send it again.
    Retry(Attempt),
    /// Respond with a problem.
    Refuse(Box<Problem>),
    /// The client has left.
    Gone,
}

impl Broken {
    /// Returns the limit that was exceeded, if one was.
    const fn limit(&self) -> Option<Limit> {
        match self {
            Self::ClientTimedOut(ClientTimeout::TooSlow(Direction::Upload)) => Some(Limit::MinUploadRate),
            Self::ClientTimedOut(ClientTimeout::TooSlow(Direction::Download)) => Some(Limit::MinDownloadRate),
            Self::ClientTimedOut(ClientTimeout::Idle(_)) => Some(Limit::IdleTimeout),
            Self::UpstreamTimedOut(ResponseTimeout::Response) => Some(Limit::ResponseTimeout),
            Self::UpstreamTimedOut(ResponseTimeout::Attempt) => Some(Limit::AttemptTimeout),
            Self::UpstreamTimedOut(ResponseTimeout::Pause) => Some(Limit::PauseTimeout),
            Self::ClientLeft
            | Self::ClientMalformed
            | Self::BodyRefused(_)
            | Self::Upstream(..)
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

/// Returns the problem of a client whose request broke off, or `None` if it has left.
pub(crate) fn of_client(client: &ClientStream, broken: Broken) -> Option<Box<Problem>> {
    match broken {
        Broken::ClientMalformed => {
            Some(Problem::new(Code::HeaderMalformed, "the body's framing is broken").into())
        }
        Broken::BodyRefused(problem) => Some(problem),
        Broken::ClientTimedOut(ClientTimeout::Idle(Direction::Upload)) => Some(stalled().into()),
        Broken::ClientTimedOut(ClientTimeout::TooSlow(Direction::Upload)) => {
            Some(too_slow(client.min_upload_rate()).into())
        }
        Broken::ClientLeft
        | Broken::ClientTimedOut(_)
        | Broken::UpstreamTimedOut(_)
        | Broken::Upstream(..)
        | Broken::Unprocessed => None,
    }
}

/// Decides what to do. `was_idle` says that the connection had waited for the call, and `is_replayable` that the whole
/// request is there to be sent again.
pub(crate) fn recover<P: Phases>(
    phases: &P,
    client: &ClientStream,
    call: &mut P::Call,
    record: &Record<P::Log>,
    broken: Broken,
    (was_idle, is_replayable): (bool, bool),
) -> Recovery {
    let (cause, kind) = match broken {
        Broken::UpstreamTimedOut(_) => (Cause::Timeout, FailureKind::Failed),
        Broken::Upstream(cause, heard) if was_idle && !heard && cause == Cause::Terminated => {
            (cause, FailureKind::Stale)
        }
        Broken::Upstream(cause, _) => (cause, FailureKind::Failed),
        Broken::Unprocessed => (Cause::Terminated, FailureKind::Unprocessed),
        broken => return of_client(client, broken).map_or(Recovery::Gone, Recovery::Refuse),
    };
    match phases.error_while_proxy(call, record, Failure { cause, kind, is_replayable }) {
        AfterFailure::Retry(attempt) => Recovery::Retry(attempt),
        AfterFailure::GiveUp(problem) => Recovery::Refuse(problem),
    }
}

/// Notes that a response ended before it was complete: the client learns it by the end of the connection.
pub(crate) fn failed_late<P: Phases>(
    phases: &P,
    call: &mut P::Call,
    record: &mut Record<P::Log>,
    broken: &Broken,
) {
    let (cause, kind) = match broken {
        Broken::Upstream(cause, _) => (*cause, FailureKind::Failed),
        Broken::Unprocessed => (Cause::Terminated, FailureKind::Failed),
        _ => {
            record.aborted = Some(Aborted::ByClient);
            return;
        }
    };
    record.aborted = Some(Aborted::ByUpstream);
    let failure = Failure { cause, kind, is_replayable: false };
    // A response that has begun cannot be replaced.
    let _given_up = phases.error_while_proxy(call, record, failure);
}
