//! What becomes of a call that broke off.

use shared::{
    origin::Execution,
    problem::{Code, Problem},
    request::{stalled, too_slow},
};

use super::exchange::{Broken, Slow};
use crate::{
    client::Awaited,
    clock::Monotonic,
    ctx::RequestCtx,
    metrics::Bound,
    phases::{
        fail::{self, Cause, Failure},
        log,
    },
    state::State,
};

/// What to do about a call that broke off before its answer began.
pub(super) enum Recovery {
    /// Another connection is tried.
    Again,
    /// The client is told.
    Refuse(Problem),
    /// Nobody is left to be told.
    Gone,
}

impl Broken {
    /// The bound of time that was run into, if one was.
    pub(super) const fn bound(&self) -> Option<Bound> {
        match self {
            Self::TooSlow(Slow::Upload) => Some(Bound::MinUploadRate),
            Self::TooSlow(Slow::Download) => Some(Bound::MinDownloadRate),
            Self::Overdue(Awaited::Request | Awaited::Taking) => Some(Bound::IdleTimeout),
            Self::Overdue(Awaited::Answer) => Some(Bound::AnswerTimeout),
            Self::Overdue(Awaited::Try) => Some(Bound::TryTimeout),
            Self::Overdue(Awaited::RestOfAnswer) => Some(Bound::PauseTimeout),
            Self::ClientLeft
            | Self::ClientMalformed
            | Self::TooLarge
            | Self::Tool(..)
            | Self::Unprocessed => None,
        }
    }
}

/// What to do, given whether the connection had served before and whether the request can be made again.
pub(super) fn recover(
    state: &State,
    ctx: &mut RequestCtx,
    broken: Broken,
    reused: bool,
    repeatable: bool,
) -> Recovery {
    let (cause, failure) = match broken {
        Broken::ClientLeft => return Recovery::Gone,
        Broken::ClientMalformed => {
            return Recovery::Refuse(Problem::new(Code::HeaderMalformed, "the body's framing is broken"));
        }
        Broken::TooLarge => {
            let problem = ctx.problem.take();
            return problem.map_or(Recovery::Gone, Recovery::Refuse);
        }
        Broken::Overdue(Awaited::Request) => return Recovery::Refuse(stalled()),
        Broken::TooSlow(Slow::Upload) => {
            return Recovery::Refuse(too_slow(state.config.load().clients.min_upload_rate));
        }
        Broken::Overdue(Awaited::Taking) | Broken::TooSlow(Slow::Download) => return Recovery::Gone,
        Broken::Overdue(Awaited::Answer | Awaited::RestOfAnswer | Awaited::Try) => {
            (Cause::Timeout, Failure::Failed)
        }
        Broken::Tool(cause, heard) if reused && !heard && cause == Cause::Terminated => {
            (cause, Failure::Stale)
        }
        Broken::Tool(cause, _) => (cause, Failure::Failed),
        Broken::Unprocessed => (Cause::Terminated, Failure::Unprocessed),
    };
    if !failure.costs_nothing(ctx) {
        fail::ended(state, ctx, true, Monotonic::now());
    }
    if repeatable && fail::may_try_again(state, ctx, failure) {
        return Recovery::Again;
    }
    let execution = match failure {
        Failure::Unprocessed => Execution::None,
        Failure::Failed | Failure::Stale => Execution::Possible,
    };
    ctx.call.as_ref().map_or(Recovery::Gone, |call| {
        Recovery::Refuse(fail::failed(&call.pool, call.method, cause, execution))
    })
}

/// An answer broke off in its middle: the client learns it by the end of the connection.
pub(super) fn failed_late(state: &State, ctx: &RequestCtx, broken: &Broken) {
    let of_the_tool = matches!(broken, Broken::Tool(..) | Broken::Unprocessed);
    if of_the_tool {
        fail::ended(state, ctx, true, Monotonic::now());
    }
    log::broken_off(ctx, of_the_tool);
}
