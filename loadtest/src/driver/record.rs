//! What became of one call.

use std::time::Duration;

use shared::problem::Code;

/// Which line of calls one belongs to, where a scenario has several.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Stream {
    /// The calls under test.
    Main,
    /// Calls to another tool, which are to stay as they are.
    Bystander,
    /// Calls with the key that replaced the first.
    NewKey,
}

/// One call. Times are counted from the beginning of the run.
#[derive(Clone, Copy, Debug)]
pub struct Record {
    /// Which line it belongs to.
    pub stream: Stream,
    /// When it was to be sent.
    pub due: Duration,
    /// When a connection took it.
    pub sent: Duration,
    /// When its last byte had come, or it had failed.
    pub done: Duration,
    /// How it ended.
    pub outcome: Outcome,
}

impl Record {
    /// What a client would have waited: from the moment the call was due, not from when the driver got to it.
    #[must_use]
    pub fn latency(&self) -> Duration {
        self.done.saturating_sub(self.due)
    }

    /// Whether the gateway let it through and the tool took it.
    #[must_use]
    pub const fn succeeded(&self) -> bool {
        matches!(self.outcome, Outcome::Answered { status: 200..=299, .. })
    }
}

/// How a call ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// With a whole answer.
    Answered {
        /// Its status.
        status: u16,
        /// The code of the gateway's problem, if it is one.
        code: Option<Code>,
        /// Whether it said when to come back.
        retry_after: bool,
        /// How long its body was.
        bytes: u64,
    },
    /// Without one.
    Failed(Failure),
}

/// Why there is no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Failure {
    /// No connection could be opened.
    Connect,
    /// The connection ended before the answer's head.
    NoAnswer,
    /// The connection ended within the answer's body.
    CutOff,
    /// The answer was not complete in time.
    Timeout,
    /// All connections were busy until the run was over.
    NotSent,
}

impl Failure {
    /// For the report.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Connect => "no connection",
            Self::NoAnswer => "no answer",
            Self::CutOff => "answer cut off",
            Self::Timeout => "timed out",
            Self::NotSent => "not sent",
        }
    }
}
