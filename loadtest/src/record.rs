//! The record of one call, and the raw log of a run.

mod log_file;
mod packed;

use std::time::Duration;

use shared::problem::Code;
use thiserror::Error;

pub(crate) use log_file::{LogError, LogReader, LogWriter};

/// The number of a request that is not one of the scenario's, or of a call without a key.
pub(crate) const NO_KEY: u32 = u32::MAX;

/// The record of one call. Times are counted from the start of the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CallRecord {
    /// The index of the request in the scenario.
    pub(crate) request: u16,
    /// The index of the key, or [`NO_KEY`].
    pub(crate) key: u32,
    /// The time at which the call was due.
    pub(crate) due: Duration,
    /// The time at which a connection took the call.
    pub(crate) sent: Duration,
    /// The part of the send lag in which no connection was free.
    pub(crate) waited: Duration,
    /// The time of the last response byte, or of the failure.
    pub(crate) done: Duration,
    /// The outcome.
    pub(crate) outcome: CallOutcome,
}

impl CallRecord {
    /// Returns the latency, counted from the due time. This avoids coordinated omission.
    pub(crate) const fn latency(&self) -> Duration {
        self.done.saturating_sub(self.due)
    }

    /// Returns the time between due and sent.
    pub(crate) const fn send_lag(&self) -> Duration {
        self.sent.saturating_sub(self.due)
    }

    /// Returns the time by which the driver woke up late: its own share of the send lag.
    pub(crate) const fn wake_lag(&self) -> Duration {
        self.send_lag().saturating_sub(self.waited)
    }

    /// Returns true if the response status is 2xx or 3xx.
    pub(crate) const fn is_success(&self) -> bool {
        matches!(self.outcome, CallOutcome::Completed { status: 200..=399, .. })
    }

    /// Returns true if the gateway let the call through: the response is not a problem of its own.
    pub(crate) const fn is_admitted(&self) -> bool {
        matches!(self.outcome, CallOutcome::Completed { code: None, .. })
    }

    /// Returns the status of the response, or `None` if the call failed.
    pub(crate) const fn status(&self) -> Option<u16> {
        match self.outcome {
            CallOutcome::Completed { status, .. } => Some(status),
            CallOutcome::Failed(_) => None,
        }
    }
}

/// The outcome of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CallOutcome {
    /// A complete response.
    Completed {
        /// The status.
        status: u16,
        /// The code of the gateway's problem, if the response is one.
        code: Option<Code>,
        /// True if the response has `Retry-After`.
        retry_after: bool,
        /// The size of the body in bytes, at most 4 GiB.
        bytes: u32,
        /// The limit per minute that the response announces, or 0.
        minute_quota: u32,
    },
    /// No complete response.
    Failed(CallError),
}

/// The reason why a call has no complete response. Its text is the `code` of a report row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Error)]
pub(crate) enum CallError {
    /// No connection could be opened.
    #[error("connect failed")]
    Connect,
    /// The connection was closed or reset before the response head.
    #[error("no response")]
    NoResponse,
    /// All connections were busy until the run was over.
    #[error("not sent")]
    NotSent,
    /// The connection was closed or reset within the response body.
    #[error("response truncated")]
    Truncated,
    /// The response was not complete within the timeout.
    #[error("timed out")]
    TimedOut,
    /// The response is complete and has another body than its `Repr-Digest` describes.
    #[error("response corrupt")]
    Corrupt,
}

impl CallError {
    /// All errors, in the order of their numbers in the raw log.
    pub(crate) const ALL: [Self; 6] =
        [Self::Connect, Self::NoResponse, Self::NotSent, Self::Truncated, Self::TimedOut, Self::Corrupt];
}
