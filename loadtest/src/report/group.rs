//! Groups of calls: a scenario's event splits a run into phases that are counted separately.

use crate::driver::{CallKind, CallRecord};
use crate::scenario::{Outage, ScenarioEvent};

/// A group of calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum CallGroup {
    All,
    BeforeStop,
    /// In flight while the tool was stopping or starting. Success and 503 are both correct.
    StoppingOrStarting,
    Stopped,
    Restarted,
    OtherTool,
    OldKey,
    /// Sent with the old key during its grace period after the rotation.
    OldKeyInGrace,
    NewKey,
}

impl CallGroup {
    /// Returns the group of a call.
    pub(super) fn of(record: &CallRecord, event: &ScenarioEvent) -> Self {
        match (record.kind, event) {
            (CallKind::OtherTool, _) => Self::OtherTool,
            (CallKind::NewKey, _) => Self::NewKey,
            (CallKind::Main, ScenarioEvent::None) => Self::All,
            (CallKind::Main, ScenarioEvent::Outage(outage)) => Self::in_outage(record, outage),
            (CallKind::Main, ScenarioEvent::Rotation { at }) if record.sent < *at => Self::OldKey,
            (CallKind::Main, ScenarioEvent::Rotation { .. }) => Self::OldKeyInGrace,
        }
    }

    fn in_outage(record: &CallRecord, outage: &Outage) -> Self {
        if record.done < outage.stopping {
            Self::BeforeStop
        } else if record.sent > outage.started {
            Self::Restarted
        } else if record.sent > outage.stopped && record.done < outage.starting {
            Self::Stopped
        } else {
            Self::StoppingOrStarting
        }
    }

    /// Returns the name used in reports.
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::All => "all",
            Self::BeforeStop => "before stop",
            Self::StoppingOrStarting => "stopping or starting",
            Self::Stopped => "stopped",
            Self::Restarted => "restarted",
            Self::OtherTool => "other tool",
            Self::OldKey => "old key",
            Self::OldKeyInGrace => "old key in grace",
            Self::NewKey => "new key",
        }
    }
}
