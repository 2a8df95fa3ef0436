//! The reasons why a run cannot start or fails.

use std::env::VarError;
use std::io;

use thiserror::Error;

use crate::driver::RequestError;
use crate::scenario::ScriptError;
use crate::schedule::ScheduleError;
use crate::target::TargetError;

/// The reason why a run could not start or failed. A failed check is not an error.
#[derive(Debug, Error)]
pub enum RunError {
    /// The schedule is invalid.
    #[error(transparent)]
    Schedule(#[from] ScheduleError),
    /// A URL is invalid or not allowed.
    #[error(transparent)]
    Target(#[from] TargetError),
    /// The connections to the gateway could not be opened.
    #[error(transparent)]
    Connect(#[from] RequestError),
    /// The scenario's script failed.
    #[error(transparent)]
    Script(#[from] ScriptError),
    /// The environment variable with the keys is missing or not UTF-8.
    #[error("cannot read the key from --key-env {variable}: {source}")]
    KeyVariable {
        /// The name of the variable.
        variable: String,
        /// The cause.
        source: VarError,
    },
    /// The environment variable with the keys is empty.
    #[error("--key-env {variable} is empty: expected an API key, or several separated by commas")]
    NoKey {
        /// The name of the variable.
        variable: String,
    },
    /// A key is invalid as a header value. Its text is secret and not shown.
    #[error("--key-env {variable} has a key that is invalid as a header value")]
    KeyNotHeader {
        /// The name of the variable.
        variable: String,
    },
    /// The run is too short for the outage to be checked.
    #[error(
        "--seconds {seconds} is too short for tool-dies: expected at least 36, because a third must show recovery within 10 s"
    )]
    OutageTooShort {
        /// The requested duration in seconds.
        seconds: u64,
    },
    /// The path names no tool, so none can be stopped.
    #[error("--path {path} names no tool: tool-dies expects /v1/{{tool}}/…")]
    NoTool {
        /// The path and query.
        path: String,
    },
    /// The number of keys is wrong, or there is no file for the new key.
    #[error("key-rotation expects one key from --key-env, found {keys}, and --new-key-file")]
    RotationNeedsOneKey {
        /// The number of keys.
        keys: usize,
    },
    /// The report could not be written.
    #[error("cannot write the report: {0}")]
    Report(#[from] io::Error),
}
