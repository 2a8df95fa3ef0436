//! The record of one call, and the raw log of a run.

mod log_file;
mod packed;

use std::time::Duration;

use serde::{Deserialize, Serialize};
use shared::problem::Code;
use strum::{Display, EnumString, VariantArray};
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

    /// Returns true if the response status is 2xx or 3xx and the response passes its check.
    pub(crate) const fn is_success(&self) -> bool {
        matches!(self.outcome, CallOutcome::Completed { status: 200..=399, failed_check: None, .. })
    }

    /// Returns the time from due to the first event, if the response is a stream that has one.
    pub(crate) fn first_event(&self) -> Option<Duration> {
        let stream = self.stream().filter(|stream| stream.events > 0)?;
        Some(self.send_lag() + stream.first)
    }

    /// Returns the times of the events of a stream.
    pub(crate) const fn stream(&self) -> Option<StreamTiming> {
        match self.outcome {
            CallOutcome::Completed { stream, .. } => stream,
            CallOutcome::Failed(_) => None,
        }
    }

    /// Returns true if the gateway let the call through: the response is not a problem of the gateway.
    pub(crate) const fn is_admitted(&self) -> bool {
        matches!(self.outcome, CallOutcome::Completed { code: None, .. })
    }

    /// Returns the size of the body, or 0 if the call failed.
    pub(crate) fn bytes(&self) -> u64 {
        match self.outcome {
            CallOutcome::Completed { bytes, .. } => bytes.into(),
            CallOutcome::Failed(_) => 0,
        }
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
        /// The check that the response fails.
        failed_check: Option<CheckKind>,
        /// The times of server-sent events, if the response is a stream of them.
        stream: Option<StreamTiming>,
    },
    /// No complete response.
    Failed(CallError),
}

/// A part of a response's check. Its text is that of the scenario file.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Display,
    EnumString,
    VariantArray,
    Serialize,
    Deserialize,
)]
#[strum(serialize_all = "snake_case")]
#[serde(rename_all = "snake_case")]
pub(crate) enum CheckKind {
    /// The size of the body.
    BodyBytes,
    /// The digest of the body.
    Sha256,
    /// A text in the body.
    Contains,
    /// A value in a body of JSON.
    Json,
    /// A header.
    Header,
    /// The number of server-sent events.
    Events,
    /// A value that a following step of a flow needs.
    Capture,
}

/// The first response of a request that failed a check.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct CheckSample {
    /// The name of the request.
    pub(crate) request: String,
    /// The part of the check.
    pub(crate) check: String,
    /// What was found and what was expected.
    pub(crate) found: String,
}

/// The times of the events of a stream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct StreamTiming {
    /// The number of events.
    pub(crate) events: u32,
    /// The time from sent to the first event.
    pub(crate) first: Duration,
    /// The longest time between two events.
    pub(crate) gap: Duration,
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
