//! Which calls are counted together: by what was going on while they were under way.

use crate::driver::{Record, Stream};
use crate::scenario::{Moments, Outage};

/// A line of the report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Line {
    All,
    BeforeStop,
    /// Under way while the tool was going or coming: either answer is right.
    Changing,
    Stopped,
    StartedAgain,
    OtherTool,
    OldKey,
    OldKeyInGrace,
    NewKey,
}

impl Line {
    pub(super) fn of(record: &Record, moments: &Moments) -> Self {
        match (record.stream, moments) {
            (Stream::Bystander, _) => Self::OtherTool,
            (Stream::NewKey, _) => Self::NewKey,
            (Stream::Main, Moments::Quiet) => Self::All,
            (Stream::Main, Moments::Outage(outage)) => Self::in_outage(record, outage),
            (Stream::Main, Moments::Rotation { at }) if record.sent < *at => Self::OldKey,
            (Stream::Main, Moments::Rotation { .. }) => Self::OldKeyInGrace,
        }
    }

    fn in_outage(record: &Record, outage: &Outage) -> Self {
        if record.done < outage.stopping {
            Self::BeforeStop
        } else if record.sent > outage.started {
            Self::StartedAgain
        } else if record.sent > outage.stopped && record.done < outage.starting {
            Self::Stopped
        } else {
            Self::Changing
        }
    }

    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::All => "all",
            Self::BeforeStop => "before the stop",
            Self::Changing => "stopping or starting",
            Self::Stopped => "stopped",
            Self::StartedAgain => "started again",
            Self::OtherTool => "another tool",
            Self::OldKey => "old key",
            Self::OldKeyInGrace => "old key, replaced",
            Self::NewKey => "new key",
        }
    }
}
