//! The record of one call.

use std::time::Duration;

use shared::problem::Code;
use thiserror::Error;

/// The kind of a call, in scenarios that mix several.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CallKind {
    /// A call under test.
    Main,
    /// A call to another tool, which the scenario must not affect.
    OtherTool,
    /// A call with the key that replaced the first one.
    NewKey,
}

/// The record of one call. Times are counted from the start of the run.
#[derive(Clone, Copy, Debug)]
pub struct CallRecord {
    /// The kind of call.
    pub kind: CallKind,
    /// The time at which the call was due.
    pub due: Duration,
    /// The time at which a connection took the call.
    pub sent: Duration,
    /// The time of the last response byte, or of the failure.
    pub done: Duration,
    /// The outcome.
    pub outcome: CallOutcome,
}

impl CallRecord {
    /// Returns the latency, counted from the due time. This avoids coordinated omission.
    #[must_use]
    pub fn latency(&self) -> Duration {
        self.done.saturating_sub(self.due)
    }

    /// Returns true if the response status is 2xx.
    #[must_use]
    pub const fn is_success(&self) -> bool {
        matches!(self.outcome, CallOutcome::Completed { status: 200..=299, .. })
    }
}

/// The outcome of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallOutcome {
    /// A complete response.
    Completed {
        /// The status.
        status: u16,
        /// The code of the gateway's problem, if the response is one.
        code: Option<Code>,
        /// Whether the response has `Retry-After`.
        retry_after: bool,
        /// The size of the body in bytes.
        bytes: u64,
    },
    /// No complete response.
    Failed(CallError),
}

/// The reason why a call has no complete response. Its text is the `code` of a report row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Error)]
pub enum CallError {
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
}
