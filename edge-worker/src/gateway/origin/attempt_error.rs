//! The reasons why an attempt has no response of the proxy.

use shared::origin::{OriginError, RESPONSE_TIMEOUT_MS};
use shared::problem::{Code, Problem};
use shared::quota::{CLIENT_LEFT_STATUS, CallEnd};
use wasm_bindgen::JsValue;
use worker::js_sys::Reflect;

/// A call that has no response of an origin.
pub(crate) enum ForwardError {
    /// It ended with a problem.
    Failed { problem: Problem, end: CallEnd },
    /// Its client has left.
    ClientLeft { is_sent: bool },
}

impl ForwardError {
    pub(super) const fn refused(problem: Problem) -> Self {
        Self::Failed { problem, end: CallEnd::Refused }
    }

    /// Returns the status under which the call is counted.
    pub(crate) const fn status(&self) -> u16 {
        match self {
            Self::Failed { problem, .. } => problem.status(),
            Self::ClientLeft { .. } => CLIENT_LEFT_STATUS,
        }
    }

    pub(crate) const fn end(&self) -> CallEnd {
        match self {
            Self::Failed { end, .. } => *end,
            Self::ClientLeft { is_sent } => CallEnd::without_response(*is_sent),
        }
    }

    /// Returns the code of the problem, if there is one.
    pub(crate) const fn code(&self) -> Option<Code> {
        match self {
            Self::Failed { problem, .. } => Some(problem.code()),
            Self::ClientLeft { .. } => None,
        }
    }
}

/// A reason why an attempt has no response of the proxy.
#[derive(Debug, thiserror::Error)]
pub(super) enum AttemptError {
    #[error("no response of our proxy to a probe")]
    ProbeFailed,
    /// The runtime's own text, which does not distinguish a refused connection from a lost one.
    #[error("{0}")]
    Lost(worker::Error),
    #[error("no response within {ms} ms")]
    TimedOut { ms: u64 },
    #[error("no progress of the upload within {ms} ms")]
    UploadStalled { ms: u64 },
    #[error("grant rejected: {reason}; compare GRANT_SECRET, the data center's name and the clocks")]
    GrantRejected { reason: String },
    #[error("calls refused: {}", .0.as_str())]
    CallRefused(Code),
    #[error("response {status} without a valid proof of our proxy")]
    Unproven { status: u16 },
    /// The proxy refused the request before it had verified the grant.
    #[error("{}", .0.detail())]
    RequestRefused(Problem),
    /// The client did not send its whole body, of which a tool may have a part.
    #[error("{}", problem.detail())]
    UploadCutOff { problem: Problem, is_sent: bool },
    /// The client left before the response. Whether something was sent to the origin.
    #[error("the client has left")]
    ClientLeft { is_sent: bool },
}

impl AttemptError {
    /// Returns what the error means for the origin.
    ///
    /// # Errors
    /// The client's problem, if the origin did not fail.
    pub(super) fn failure(&self) -> Result<OriginError, ForwardError> {
        match self {
            Self::ProbeFailed => Ok(OriginError::Refused),
            Self::Lost(_) => Ok(OriginError::Lost),
            Self::TimedOut { .. } | Self::UploadStalled { .. } => Ok(OriginError::TimedOut),
            // Nothing was executed, so that another origin may get even a POST.
            Self::GrantRejected { .. } | Self::CallRefused(_) => Ok(OriginError::Rejected),
            Self::Unproven { status } => Ok(OriginError::of_unproven_response(*status)),
            Self::RequestRefused(problem) => Err(ForwardError::refused(problem.clone())),
            // The client's own fault, but if a tool has part of the body, the call was made.
            Self::UploadCutOff { problem, is_sent } => {
                let (problem, end) = (problem.clone(), CallEnd::without_response(*is_sent));
                Err(ForwardError::Failed { problem, end })
            }
            Self::ClientLeft { is_sent } => Err(ForwardError::ClientLeft { is_sent: *is_sent }),
        }
    }
}

impl From<JsValue> for AttemptError {
    fn from(thrown: JsValue) -> Self {
        // The runtime's own timeout.
        let name = Reflect::get(&thrown, &"name".into()).ok().and_then(|name| name.as_string());
        match name.as_deref() {
            Some("TimeoutError") => Self::TimedOut { ms: RESPONSE_TIMEOUT_MS },
            _ => Self::Lost(thrown.into()),
        }
    }
}
