//! The reasons why an attempt has no response of the proxy.

use shared::origin::{OriginError, RESPONSE_TIMEOUT_MS};
use shared::problem::{Code, Problem};
use shared::quota::CallEnd;
use wasm_bindgen::JsValue;
use worker::js_sys::Reflect;

/// A call that has no response of an origin.
pub(crate) struct ForwardError {
    pub(crate) problem: Problem,
    pub(crate) end: CallEnd,
}

impl ForwardError {
    pub(super) const fn refused(problem: Problem) -> Self {
        Self { problem, end: CallEnd::Refused }
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
    /// The client did not send its whole body, a part of which was forwarded.
    #[error("{}", .0.detail())]
    UploadCutOff(Problem),
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
            Self::GrantRejected { .. } | Self::CallRefused(_) => Ok(OriginError::Rejected),
            Self::Unproven { status } => Ok(OriginError::of_unproven_response(*status)),
            Self::RequestRefused(problem) => Err(ForwardError::refused(problem.clone())),
            Self::UploadCutOff(problem) => {
                Err(ForwardError { problem: problem.clone(), end: CallEnd::CutOff })
            }
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
