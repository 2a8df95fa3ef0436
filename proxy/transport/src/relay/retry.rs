//! Decides what follows a failed exchange: a retry, a refusal or nothing.

use shared::{
    problem::{Code, Problem},
    request::{stalled, too_slow},
};

use super::exchange::ExchangeError;
use crate::{
    client::{ClientStream, ClientTimeout, Direction},
    hooks::{AfterFailure, Attempt, Cause, Failure, FailureKind, Phases},
    record::{Aborted, Record},
};

/// The decision about a call that failed before its response started.
pub(crate) enum Recovery {
    /// Send it to this upstream.
    Retry(Attempt),
    /// Respond with a problem.
    Refuse(Box<Problem>),
    /// Close the connection, because the client has disconnected.
    ClientClosed,
}

/// Returns the problem of a client whose request failed, or `None` if it has disconnected.
pub(super) fn client_problem(client: &ClientStream, error: ExchangeError) -> Option<Box<Problem>> {
    match error {
        ExchangeError::ClientMalformed => {
            Some(Problem::new(Code::HeaderMalformed, "the framing of the body is malformed").into())
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
        | ExchangeError::Unprocessed => None,
    }
}

/// Decides on a call that failed before its response started. `was_idle` means that the connection
/// was idle before the call, and `is_replayable` that the whole request was kept.
pub(crate) fn recover<P: Phases>(
    phases: &P,
    client: &ClientStream,
    call: &mut P::Call,
    record: &Record<P::Log>,
    error: ExchangeError,
    (was_idle, is_replayable): (bool, bool),
) -> Recovery {
    let (cause, kind) = match error {
        ExchangeError::UpstreamTimedOut(_) => (Cause::Timeout, FailureKind::Failed),
        ExchangeError::Upstream { cause: Cause::Terminated, has_responded: false } if was_idle => {
            (Cause::Terminated, FailureKind::Stale)
        }
        ExchangeError::Upstream { cause, .. } => (cause, FailureKind::Failed),
        ExchangeError::Unprocessed => (Cause::Terminated, FailureKind::Unprocessed),
        error => return client_problem(client, error).map_or(Recovery::ClientClosed, Recovery::Refuse),
    };
    match phases.error_while_proxy(call, record, Failure { cause, kind, is_replayable }) {
        AfterFailure::Retry(attempt) => Recovery::Retry(attempt),
        AfterFailure::GiveUp(problem) => Recovery::Refuse(problem),
    }
}

/// Records that a response was aborted. The client sees that its connection is closed too early.
pub(crate) fn record_late_failure<P: Phases>(
    phases: &P,
    call: &mut P::Call,
    record: &mut Record<P::Log>,
    error: &ExchangeError,
) {
    let cause = match error {
        ExchangeError::Upstream { cause, .. } => *cause,
        ExchangeError::Unprocessed => Cause::Terminated,
        _ => {
            record.aborted = Some(Aborted::ByClient);
            return;
        }
    };
    record.aborted = Some(Aborted::ByUpstream);
    let failure = Failure { cause, kind: FailureKind::Failed, is_replayable: false };
    // A response that has started cannot be replaced.
    let _given_up = phases.error_while_proxy(call, record, failure);
}
