//! The counter events that one process in direct mode sends to another during an upgrade.

use shared::key::KeyId;
use shared::tool::Tool;

use crate::sync_record::SyncRecord;

/// A change of a key's counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CounterEvent {
    /// A call was admitted.
    Passed(KeyId),
    /// A call ended.
    Ended {
        /// The key.
        id: KeyId,
        /// The tool.
        tool: Tool,
        /// The status.
        status: u16,
        /// Whether the call is refunded to the day.
        uncharged: bool,
    },
    /// The response of a call that has [ended](Self::Ended) was cut off.
    Aborted {
        /// The key.
        id: KeyId,
        /// The tool.
        tool: Tool,
        /// The status with which the response began.
        status: u16,
    },
    /// Units were reserved for a call: at most [`shared::policy::MAX_PRICE`].
    UnitsReserved {
        /// The key.
        id: KeyId,
        /// The units.
        units: u32,
    },
    /// Units that a call did not spend came back.
    UnitsReturned {
        /// The key.
        id: KeyId,
        /// The units.
        units: u32,
    },
}

const PASSED: u8 = 0;
const CHARGED: u8 = 1;
const UNCHARGED: u8 = 2;
const ABORTED: u8 = 3;
const UNITS_RESERVED: u8 = 4;
const UNITS_RETURNED: u8 = 5;

impl CounterEvent {
    /// Encodes the event: the key, the kind, and the tool and the status or the units.
    pub fn to_record(self) -> SyncRecord {
        let (id, what, tool, status) = match self {
            Self::Passed(id) => (id, PASSED, 0, 0),
            Self::Ended { id, tool, status, uncharged } => {
                (id, if uncharged { UNCHARGED } else { CHARGED }, tool.code(), status)
            }
            Self::Aborted { id, tool, status } => (id, ABORTED, tool.code(), status),
            Self::UnitsReserved { id, units } => return units_record(id, UNITS_RESERVED, units),
            Self::UnitsReturned { id, units } => return units_record(id, UNITS_RETURNED, units),
        };
        let [a, b, c, d, e, f, g, h, i, j, k, l] = *id.as_bytes();
        let [high, low] = status.to_be_bytes();
        [a, b, c, d, e, f, g, h, i, j, k, l, what, tool, high, low]
    }

    /// Decodes a record of [`Self::to_record`]. Returns `None` for any other record.
    pub fn from_record(record: SyncRecord) -> Option<Self> {
        let [id @ .., what, tool, high, low] = record;
        let (id, status) = (KeyId::new(id), u16::from_be_bytes([high, low]));
        let units = u32::from_be_bytes([0, tool, high, low]);
        let ended = |uncharged| Some(Self::Ended { id, tool: Tool::from_code(tool)?, status, uncharged });
        match what {
            PASSED => Some(Self::Passed(id)),
            CHARGED => ended(false),
            UNCHARGED => ended(true),
            ABORTED => Some(Self::Aborted { id, tool: Tool::from_code(tool)?, status }),
            UNITS_RESERVED => Some(Self::UnitsReserved { id, units }),
            UNITS_RETURNED => Some(Self::UnitsReturned { id, units }),
            _ => None,
        }
    }

    pub(super) const fn id(&self) -> &KeyId {
        match self {
            Self::Passed(id)
            | Self::Ended { id, .. }
            | Self::Aborted { id, .. }
            | Self::UnitsReserved { id, .. }
            | Self::UnitsReturned { id, .. } => id,
        }
    }
}

fn units_record(id: KeyId, what: u8, units: u32) -> SyncRecord {
    let [a, b, c, d, e, f, g, h, i, j, k, l] = *id.as_bytes();
    let [_, high, middle, low] = units.to_be_bytes();
    [a, b, c, d, e, f, g, h, i, j, k, l, what, high, middle, low]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn record_round_trips_and_unknown_record_is_none() {
        let id = KeyId::new(*b"abcdefghijkl");
        let ended = |uncharged| CounterEvent::Ended { id, tool: Tool::Yt, status: 503, uncharged };
        let aborted = CounterEvent::Aborted { id, tool: Tool::Yt, status: 200 };
        let reserved = CounterEvent::UnitsReserved { id, units: shared::policy::MAX_PRICE };
        let returned = CounterEvent::UnitsReturned { id, units: 70_000 };
        for event in [CounterEvent::Passed(id), ended(true), ended(false), aborted, reserved, returned] {
            assert_eq!(CounterEvent::from_record(event.to_record()), Some(event));
        }
        assert_eq!(CounterEvent::from_record([u8::MAX; 16]), None);
    }
}
