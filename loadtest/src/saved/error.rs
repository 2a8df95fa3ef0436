//! The reasons why a saved run cannot be read.

use std::io;
use std::path::PathBuf;

use thiserror::Error;

use crate::record::LogError;
use crate::schedule::ScheduleError;
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
    /// Two runs have different conditions.
    #[error("{}: the {what} is `{found}`, and that of the other run `{expected}`", path.display())]
    Different {
        /// The path.
        path: PathBuf,
        /// The fact that differs.
        what: &'static str,
        /// The fact of the run that was read before.
        expected: String,
        /// The fact of this run.
        found: String,
    },
    /// A log is not of the same run as others.
    #[error("{}: the run began {seconds} s before or after the others, so it is not the same one", path.display())]
    Elsewhen {
        /// The path.
        path: PathBuf,
        /// The time between both beginnings.
        seconds: u64,
    },
    /// A shard is given twice.
    #[error("{}: shard {shard} is given twice", path.display())]
    Twice {
        /// The path.
        path: PathBuf,
        /// The shard.
        shard: String,
    },
    /// A shard is missing.
    #[error("shards {0} are missing: expected the logs of all drivers")]
    Missing(String),
    /// A shard is invalid.
    #[error(transparent)]
    Shard(#[from] ScheduleError),
    /// A log would be overwritten while it is read.
    #[error("{} is one of the logs to merge: expected another file for --output", .0.display())]
    OutputIsInput(PathBuf),
    /// A log has no calls.
    #[error("{}: the log has no calls", .0.display())]
    Empty(PathBuf),
    /// A condition of the log is not known to this version.
    #[error(transparent)]
    Condition(#[from] ConditionError),
    /// A noise threshold is invalid.
    #[error("invalid noise `{0}`: expected a share such as 5%")]
    Noise(String),
}
