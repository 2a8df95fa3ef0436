//! The requests of the admin socket and their responses: one line of JSON each.

use std::io;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use shared::time::UnixMillis;
use shared::tool::Tool;

/// A request.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ControlRequest {
    /// The action.
    #[serde(rename = "do")]
    pub action: Action,
    /// Whether the change outlives reloads and restarts.
    #[serde(default)]
    pub persist: bool,
    /// The reason, for the log. That of [`Action::Off`] is shown to clients.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// An action of an operator.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Action {
    /// A server finishes its calls and gets no new ones.
    Drain(Target),
    /// A server gets calls.
    Enable(Target),
    /// A server gets a share of calls in relation to the others.
    Weight {
        /// The tool of the server.
        tool: String,
        /// The entry of the configuration: `host:port`.
        server: String,
        /// 1 to 100.
        weight: u32,
    },
    /// A server is ejected, whatever its probes say.
    Eject {
        /// The tool of the server.
        tool: String,
        /// The entry of the configuration, or the name on `/pools`.
        server: String,
        /// Milliseconds, up to a day.
        millis: u64,
    },
    /// The ejection of a server ends.
    Uneject(Target),
    /// A tool is switched off.
    Off {
        /// The tool.
        tool: String,
        /// The time at which it is on again (RFC 3339). Without it, it stays off.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        until: Option<String>,
    },
    /// A tool is switched on.
    On {
        /// The tool.
        tool: String,
    },
    /// The minimum level of diagnostic log lines.
    LogLevel {
        /// `off`, `error`, `warn`, `info` or `debug`.
        level: String,
    },
    /// The configuration file is read again.
    Reload,
    /// All changes are dropped: those of this process, or with `persist` also the stored ones.
    Reset,
    /// Nothing is changed. The response has the changes.
    Show,
}

/// A server of a tool.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Target {
    /// The tool.
    pub tool: String,
    /// The entry of the configuration: `host:port`.
    pub server: String,
}

/// The response to a request.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ControlResponse {
    /// The change is in effect. Says what it is.
    Applied(String),
    /// Nothing was changed. Says why.
    Refused(String),
    /// The changes that are in effect, and the last ones that were made.
    Changes(Value),
}

/// The reason why a change is refused.
#[derive(Debug, thiserror::Error)]
pub enum ChangeError {
    /// No tool has this name.
    #[error("unknown tool `{name}`: expected one of {}", names())]
    UnknownTool {
        /// The name.
        name: String,
    },
    /// The pool has no such server.
    #[error("the pool of {tool} has no server `{server}`: expected one of {}", known.join(", "))]
    UnknownServer {
        /// The tool.
        tool: Tool,
        /// The server that was named.
        server: String,
        /// The servers of the pool.
        known: Vec<String>,
    },
    /// The weights of a name of SRV records are those of its records.
    #[error(
        "`{server}` has the weights of its SRV records, which a weight of its own would not change: expected one of its servers, {}",
        servers.join(", ")
    )]
    WeightOfRecords {
        /// The name.
        server: String,
        /// The servers of the pool.
        servers: Vec<String>,
    },
    /// The weight is out of range.
    #[error("weight {0} is out of range: expected 1 to 100")]
    Weight(u32),
    /// The duration of an ejection is out of range.
    #[error("an ejection of {0} ms is out of range: expected 1 ms to 24 h")]
    EjectTime(u64),
    /// The time is invalid or in the past.
    #[error("invalid end `{0}`: expected a time in the future in RFC 3339, for example 2027-01-31T06:00:00Z")]
    Until(String),
    /// Not a level.
    #[error("unknown log level `{0}`: expected off, error, warn, info or debug")]
    Level(String),
    /// The reason is not one short line.
    #[error("the reason has {0} characters or control characters: expected one line of at most 200")]
    Reason(usize),
    /// The action cannot be stored.
    #[error("{0} cannot be persisted: leave `persist` out")]
    NotPersistent(&'static str),
    /// The file of the changes cannot be read or written.
    #[error("{}: {error}", file.display())]
    File {
        /// The file.
        file: PathBuf,
        /// The error of the operating system, or of the content.
        error: io::Error,
    },
    /// The configuration file has faults.
    #[error("the configuration was rejected: {0}")]
    Rejected(String),
    /// The request is not valid JSON, or not a request.
    #[error("invalid request: {0}")]
    Malformed(#[from] serde_json::Error),
}

fn names() -> String {
    Tool::ALL.map(Tool::as_str).join(", ")
}

/// Returns the tool of a name.
///
/// # Errors
/// Returns an error if there is none.
pub fn tool(name: &str) -> Result<Tool, ChangeError> {
    let found = Tool::ALL.into_iter().find(|tool| tool.as_str() == name);
    found.ok_or_else(|| ChangeError::UnknownTool { name: name.to_owned() })
}

/// Returns the time of a text, which must be in the future.
///
/// # Errors
/// Returns an error if it is not.
pub(super) fn moment(text: &str, now: UnixMillis) -> Result<UnixMillis, ChangeError> {
    let moment = UnixMillis::from_rfc3339(text).filter(|moment| now < *moment);
    moment.ok_or_else(|| ChangeError::Until(text.to_owned()))
}

impl ControlRequest {
    /// Checks what does not depend on the configuration.
    ///
    /// # Errors
    /// Returns an error if the reason is too long, or the action cannot be persisted.
    pub fn check(&self) -> Result<(), ChangeError> {
        if let Some(reason) = &self.reason {
            let length = reason.chars().count();
            if length > 200 || reason.chars().any(char::is_control) {
                return Err(ChangeError::Reason(length));
            }
        }
        match self.action {
            Action::Eject { .. } | Action::Uneject(_) if self.persist => {
                Err(ChangeError::NotPersistent("an ejection"))
            }
            Action::Reload if self.persist => Err(ChangeError::NotPersistent("a reload")),
            _ => Ok(()),
        }
    }
}
