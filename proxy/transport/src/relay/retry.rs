//! Decides what follows a failed exchange: a retry, a refusal or nothing.

use shared::problem::{Problem, codes};
use shared::request::{stalled, too_slow};

use super::exchange::ExchangeError;
use crate::client::{ClientStream, ClientTimeout, Direction};
use crate::hooks::{AfterFailure, Attempt, Cause, Failure, FailureKind, Phases};
use crate::record::{Aborted, Record};
use crate::response_deadline::ResponseTimeout;

/// The decision about a call that failed before its response started.
pub(crate) enum Recovery {
    /// Send it to this upstream.
    Retry(Attempt),
    /// Respond with a problem.
    Refuse(Box<Problem>),
    /// Close the connection, because the client has disconnected.
    ClientClosed,
}

/// An attempt that failed before its response started.
pub(crate) struct FailedAttempt {
    pub(crate) error: ExchangeError,
    /// Whether the connection was idle before the attempt.
    pub(crate) was_idle: bool,
    /// Whether the whole request was kept.
    pub(crate) is_replayable: bool,
}

/// Returns the problem of a client whose request failed, or `None` if it has disconnected.
pub(super) fn client_problem(client: &ClientStream, error: ExchangeError) -> Option<Box<Problem>> {
    match error {
        ExchangeError::ClientMalformed => {
            Some(Problem::new(codes::HEADER_MALFORMED, "the framing of the body is malformed").into())
        }
        ExchangeError::BodyRefused(problem) => Some(problem),
        ExchangeError::ClientTimedOut(ClientTimeout::Idle(Direction::Upload)) => Some(stalled().into()),
        ExchangeError::ClientTimedOut(ClientTimeout::TooSlow(Direction::Upload)) => {
            Some(too_slow(client.min_upload_rate()).into())
        }
        ExchangeError::ClientClosed
        | ExchangeError::ClientTimedOut(_)
        | ExchangeError::UpstreamTimedOut(_)
        | ExchangeError::Upstream { .. }
        | ExchangeError::Discarded { .. }
        | ExchangeError::Unprocessed => None,
    }
}

/// Decides on a call whose attempt failed before its response started.
pub(crate) fn recover<P: Phases>(
    phases: &P,
    client: &ClientStream,
    call: &mut P::Call,
    record: &Record<P::Log>,
    failed: FailedAttempt,
) -> Recovery {
    let FailedAttempt { error, was_idle, is_replayable } = failed;
    let (cause, kind) = match error {
        ExchangeError::UpstreamTimedOut(ResponseTimeout::Probe) => (Cause::Unresponsive, FailureKind::Failed),
        ExchangeError::UpstreamTimedOut(_) => (Cause::Timeout, FailureKind::Failed),
        // The upstream may have closed it while the request was on its way (RFC 9112, section
        // 9.3.1).
        ExchangeError::Upstream { cause: Cause::Terminated, has_responded: false } if was_idle => {
            (Cause::Terminated, FailureKind::Stale)
        }
        ExchangeError::Upstream { cause, .. } => (cause, FailureKind::Failed),
        ExchangeError::Discarded { status } => (Cause::Status(status), FailureKind::Failed),
        // Even a POST may be sent again then (RFC 9113, section 8.7).
        ExchangeError::Unprocessed => (Cause::Terminated, FailureKind::Unprocessed),
        error => return client_problem(client, error).map_or(Recovery::ClientClosed, Recovery::Refuse),
    };
    match phases.error_while_proxy(call, record, Failure { cause, kind, is_replayable }) {
        AfterFailure::Retry(attempt) => Recovery::Retry(attempt),
        AfterFailure::GiveUp(problem) => Recovery::Refuse(problem),
    }
}

/// Records which side aborted a response. The client sees that its connection is closed too early.
pub(crate) fn record_abort<L>(record: &mut Record<L>, error: &ExchangeError) {
    record.aborted = Some(match error {
        ExchangeError::Upstream { .. }
        | ExchangeError::Discarded { .. }
        | ExchangeError::Unprocessed
        | ExchangeError::UpstreamTimedOut(ResponseTimeout::Probe) => Aborted::ByUpstream,
        // An upstream that has not received the whole request may be waiting for the client.
        ExchangeError::UpstreamTimedOut(_) if record.completed_at.is_some() => Aborted::ByUpstream,
        ExchangeError::UpstreamTimedOut(_)
        | ExchangeError::ClientClosed
        | ExchangeError::ClientMalformed
        | ExchangeError::BodyRefused(_)
        | ExchangeError::ClientTimedOut(_) => Aborted::ByClient,
    });
}
