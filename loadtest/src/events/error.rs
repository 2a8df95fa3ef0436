//! The reasons why an event fails.

use std::io;

use thiserror::Error;

use crate::http::HttpError;
use crate::keys::KeysError;

/// The reason why an event or a request of a scenario failed.
#[derive(Debug, Error)]
pub(crate) enum EventError {
    /// The time of an event is invalid.
    #[error(
        "event `{phase}`: invalid time `{at}`: expected a share of the run such as 33%, or a duration such as 10s"
    )]
    Time {
        /// The phase.
        phase: String,
        /// The time.
        at: String,
    },
    /// An event is invalid.
    #[error("event `{phase}`: {reason}")]
    Invalid {
        /// The phase.
        phase: String,
        /// What is wrong, and what was expected.
        reason: String,
    },
    /// A request outside of the load is invalid.
    #[error("request {request}: {reason}")]
    Step {
        /// Method and path.
        request: String,
        /// What is wrong, and what was expected.
        reason: String,
    },
    /// A count of others is invalid.
    #[error("truth `{truth}`: {reason}")]
    Truth {
        /// The name.
        truth: String,
        /// What is wrong, and what was expected.
        reason: String,
    },
    /// There is no control API.
    #[error("event `{0}` changes a simulated tool: expected --control with the URL of the control API")]
    NoControl(String),
    /// There is no command for a hook.
    #[error("event `{phase}` runs the hook `{hook}`: expected --hook {hook}=COMMAND")]
    NoHook {
        /// The phase.
        phase: String,
        /// The hook.
        hook: String,
    },
    /// The command of a hook failed.
    #[error("hook `{hook}`: {reason}")]
    Hook {
        /// The hook.
        hook: String,
        /// The failure.
        reason: String,
    },
    /// Another server than the gateway is not usable.
    #[error("cannot ask `{url}`: {reason}")]
    Server {
        /// The URL.
        url: String,
        /// The failure.
        reason: String,
    },
    /// There is no such pool of keys.
    #[error("unknown keys `{0}`")]
    UnknownKeys(String),
    /// A response lacks a value that a variable gets.
    #[error("the response to {request} has no string or number at {pointer}")]
    Capture {
        /// Method and path.
        request: String,
        /// The JSON Pointer.
        pointer: String,
    },
    /// A method is invalid.
    #[error("unknown method `{0}`")]
    Method(String),
    /// A request failed.
    #[error(transparent)]
    Http(#[from] HttpError),
    /// A key could not be rotated.
    #[error(transparent)]
    Keys(#[from] KeysError),
    /// The new key could not be written.
    #[error("cannot write the new key to {path}: {source}")]
    KeyFile {
        /// The path.
        path: String,
        /// The cause.
        source: io::Error,
    },
}
