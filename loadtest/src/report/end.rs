//! The end of a run, and the verdict on it.

use std::process::ExitCode;

use serde::{Deserialize, Serialize};
use strum::Display;

/// The end of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum RunEnd {
    /// All calls became due.
    #[default]
    Planned,
    /// A signal or the death of the driver ended it before.
    Interrupted,
    /// An event, the log or a connection failed.
    Broken(String),
    /// This check could no longer pass (`--abort-on-fail`).
    Aborted(String),
}

impl RunEnd {
    /// Returns true if calls did not become due.
    pub(crate) const fn is_early(&self) -> bool {
        match self {
            Self::Planned => false,
            Self::Interrupted | Self::Broken(_) | Self::Aborted(_) => true,
        }
    }
}

/// The verdict on a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Display)]
#[strum(serialize_all = "lowercase")]
pub(crate) enum Verdict {
    /// All checks passed.
    Passed,
    /// A check failed.
    Failed,
    /// The run ended early, so that its checks prove nothing.
    Interrupted,
    /// An error ended the run early.
    Broken,
}

impl From<Verdict> for ExitCode {
    fn from(verdict: Verdict) -> Self {
        match verdict {
            Verdict::Passed => Self::SUCCESS,
            Verdict::Failed => Self::from(3),
            Verdict::Interrupted => Self::from(130),
            Verdict::Broken => Self::FAILURE,
        }
    }
}
