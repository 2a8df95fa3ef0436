//! The reasons why a run cannot start or fails.

use std::io;
use std::net::SocketAddr;

use thiserror::Error;

use crate::events::EventError;
use crate::http::{RequestError, TlsError};
use crate::keys::KeysError;
use crate::plan::{DataError, PlanError};
use crate::record::LogError;
use crate::scenario::ScenarioError;
use crate::schedule::ScheduleError;
use crate::target::TargetError;
use crate::verdict::ConditionError;

/// The reason why a run could not start or failed. A failed check is not an error.
#[derive(Debug, Error)]
pub(crate) enum RunError {
    /// The scenario is invalid.
    #[error(transparent)]
    Scenario(#[from] ScenarioError),
    /// The stages are invalid.
    #[error(transparent)]
    Schedule(#[from] ScheduleError),
    /// Data cannot be read.
    #[error(transparent)]
    Data(#[from] DataError),
    /// A request is invalid.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// A condition or tolerance is invalid.
    #[error(transparent)]
    Condition(#[from] ConditionError),
    /// A URL is invalid or not allowed.
    #[error(transparent)]
    Target(#[from] TargetError),
    /// TLS cannot be set up.
    #[error(transparent)]
    Tls(#[from] TlsError),
    /// The keys cannot be prepared.
    #[error(transparent)]
    Keys(#[from] KeysError),
    /// The connections to the gateway could not be opened.
    #[error(transparent)]
    Connect(#[from] RequestError),
    /// An event of the scenario failed.
    #[error(transparent)]
    Event(#[from] EventError),
    /// The raw log could not be written.
    #[error(transparent)]
    Log(#[from] LogError),
    /// An option is not `NAME=VALUE`.
    #[error("{option} `{value}`: expected {expected}")]
    Pair {
        /// The option.
        option: &'static str,
        /// The value.
        value: String,
        /// The expected form.
        expected: &'static str,
    },
    /// An address cannot be listened on.
    #[error("cannot listen on {addr} for --prometheus: {source}")]
    Listen {
        /// The address.
        addr: SocketAddr,
        /// The cause.
        source: io::Error,
    },
    /// A metric is invalid.
    #[error(transparent)]
    Metrics(#[from] prometheus::Error),
    /// A start time is over.
    #[error("--start-at {0} is in the past")]
    Late(u64),
    /// The thread that collects records ended early.
    #[error("the collector of records failed")]
    Collector,
    /// A report or log cannot be written.
    #[error("cannot write to {place}: {source}")]
    Report {
        /// The file or stream.
        place: String,
        /// The cause.
        source: io::Error,
    },
}
