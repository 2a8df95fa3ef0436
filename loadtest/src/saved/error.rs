//! The reasons why a saved run cannot be read.

use std::io;
use std::path::PathBuf;

use thiserror::Error;

use crate::record::LogError;
use crate::verdict::ConditionError;

/// The reason why a saved run cannot be read or written.
#[derive(Debug, Error)]
pub(crate) enum SavedError {
    /// A file could not be read or written.
    #[error("{}: {source}", path.display())]
    Io {
        /// The path.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// A raw log is damaged.
    #[error(transparent)]
    Log(#[from] LogError),
    /// A file is neither a raw log nor a JSON report.
    #[error("{}: expected a raw log (--log) or a JSON report (--json-file): {reason}", path.display())]
    Unknown {
        /// The path.
        path: PathBuf,
        /// The fault.
        reason: serde_json::Error,
    },
    /// Two logs are not of one run.
    #[error("{} is not a part of the same run: its {what} differs", path.display())]
    Different {
        /// The path.
        path: PathBuf,
        /// The fact that differs.
        what: &'static str,
    },
    /// A condition of the log is not known to this version.
    #[error(transparent)]
    Condition(#[from] ConditionError),
    /// A noise threshold is invalid.
    #[error("invalid noise `{0}`: expected a share such as 5%")]
    Noise(String),
}
