//! The counts of a key's past hours, for `GET /v1/usage`. Nothing is decided by them.

use serde::{Deserialize, Serialize};

use super::Tally;
use crate::time::{HOUR_MS, UnixMillis, UtcDay};

/// The calls of a day until the end of one of its hours. Two of them tell what lies between, and the
/// last one of a day is the whole day, with what was refunded and corrected in it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HourCounts {
    /// The hour, counted from the epoch.
    pub hour: u64,
    /// Calls charged.
    pub calls: u32,
    /// Ended calls by label and status.
    pub tally: Tally,
}

impl HourCounts {
    /// Hours for which counts are kept: 30 days and the one that is not over.
    pub const KEPT: u64 = 31 * 24;

    /// Returns the day of which it counts the calls.
    pub const fn day(&self) -> UtcDay {
        UnixMillis(self.hour.saturating_mul(HOUR_MS)).day()
    }
}
