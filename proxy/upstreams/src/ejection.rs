//! Why an upstream was ejected, with the figures of that moment, and what ended the ejection.

use std::fmt;

use strum::{IntoStaticStr, VariantArray};
use transport::clock::Monotonic;

/// What was wrong with a call that counts against its upstream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallFailure {
    /// No response came, or not all of it.
    NoResponse,
    /// The response had one of `eject_statuses`.
    Status(u16),
    /// The response was slow beside the other upstreams.
    Slow {
        /// Milliseconds until its head was complete.
        took_ms: u64,
        /// The median of the other upstreams.
        typical_ms: u64,
    },
}

/// The kind of a [`CallFailure`], as a label of metrics.
#[derive(Clone, Copy, Debug, PartialEq, Eq, VariantArray, IntoStaticStr)]
#[strum(const_into_str, serialize_all = "snake_case")]
pub enum FailureKind {
    NoResponse,
    Status,
    Slow,
}

/// The rule that ejected an upstream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, VariantArray, IntoStaticStr)]
#[strum(const_into_str, serialize_all = "lowercase")]
pub enum EjectReason {
    /// `eject_after` calls in a row failed.
    Consecutive,
    /// `eject_failure_percent` of the calls within ten seconds failed.
    Share,
    /// The trial call after the last ejection failed.
    Trial,
    /// An operator ejected it.
    Operator,
}

impl EjectReason {
    /// The reasons of outlier detection.
    pub const OF_CALLS: [Self; 3] = [Self::Consecutive, Self::Share, Self::Trial];
}

/// An ejection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ejection {
    /// The rule.
    pub reason: EjectReason,
    /// The failure that completed it. `None` for one by an operator.
    pub last: Option<CallFailure>,
    /// Failures in a row, of which it was the last.
    pub consecutive: u32,
    /// Failures in the window of ten seconds.
    pub failed: u32,
    /// Calls in the window.
    pub calls: u32,
    /// Its beginning.
    pub at: Monotonic,
}

/// What ended an ejection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, IntoStaticStr)]
#[strum(const_into_str, serialize_all = "lowercase")]
pub enum EjectionEnd {
    /// Its time was over.
    Time,
    /// Probes passed.
    Probes,
    /// An operator ended it.
    Operator,
}

/// An upstream that gets calls again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Returned {
    pub ejection: Ejection,
    pub by: EjectionEnd,
    /// Duration of the ejection in milliseconds.
    pub after_ms: u64,
}

impl CallFailure {
    /// Returns the kind.
    pub const fn kind(self) -> FailureKind {
        match self {
            Self::NoResponse => FailureKind::NoResponse,
            Self::Status(_) => FailureKind::Status,
            Self::Slow { .. } => FailureKind::Slow,
        }
    }
}

impl fmt::Display for CallFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoResponse => f.write_str("no whole response"),
            Self::Status(status) => write!(f, "status {status}"),
            Self::Slow { took_ms, typical_ms } => {
                write!(f, "slow: {took_ms} ms, where the others typically take {typical_ms} ms")
            }
        }
    }
}

/// Writes the fields of a line in the log.
impl fmt::Display for Ejection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (reason, Self { consecutive, failed, calls, .. }) = (self.reason.into_str(), self);
        write!(f, "reason={reason}")?;
        match self.last {
            Some(last) => {
                write!(f, " consecutive={consecutive} failed={failed} of={calls} last=\"{last}\"")
            }
            None => Ok(()),
        }
    }
}
