//! Groups of calls.

use shared::problem::Code;

use crate::record::{CallError, CallOutcome, CheckKind};
use crate::timeline::PhaseId;

/// The common properties of the calls of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct GroupKey {
    /// The index of the request in the scenario.
    pub(crate) request: u16,
    /// The phase of the run.
    pub(crate) phase: PhaseId,
    /// The outcome.
    pub(crate) outcome: OutcomeKey,
}

/// The part of an outcome that calls are grouped by. Failures sort before responses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum OutcomeKey {
    /// No complete response.
    Failed(CallError),
    /// A complete response.
    Completed {
        /// The status.
        status: u16,
        /// The code of the gateway's problem.
        code: Option<&'static str>,
        /// The check that the response fails.
        failed_check: Option<CheckKind>,
    },
}

impl OutcomeKey {
    pub(crate) fn new(outcome: CallOutcome) -> Self {
        match outcome {
            CallOutcome::Completed { status, code, failed_check, .. } => {
                Self::Completed { status, code: code.map(Code::as_str), failed_check }
            }
            CallOutcome::Failed(error) => Self::Failed(error),
        }
    }

    /// Returns the status, or `None` if there was no complete response.
    pub(crate) const fn status(self) -> Option<u16> {
        match self {
            Self::Completed { status, .. } => Some(status),
            Self::Failed(_) => None,
        }
    }

    /// Returns the check that the response fails.
    pub(crate) const fn failed_check(self) -> Option<CheckKind> {
        match self {
            Self::Completed { failed_check, .. } => failed_check,
            Self::Failed(_) => None,
        }
    }

    /// Returns the code of the problem, the check that failed, or the reason why there was no complete response.
    pub(crate) fn code(self) -> Option<String> {
        match self {
            Self::Completed { failed_check: Some(check), .. } => Some(format!("check {check} failed")),
            Self::Completed { code, .. } => code.map(str::to_owned),
            Self::Failed(error) => Some(error.to_string()),
        }
    }

    /// Returns the status and the code, or the failure.
    pub(crate) fn label(self) -> String {
        let status = self.status().map(|status| status.to_string());
        [status, self.code()].into_iter().flatten().collect::<Vec<_>>().join(" ")
    }

    /// Returns true if the status is 2xx or 3xx and the response passes its check.
    pub(crate) fn is_success(self) -> bool {
        self.failed_check().is_none() && self.status().is_some_and(|status| status < 400)
    }
}
