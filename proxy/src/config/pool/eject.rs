//! When calls that fail take an upstream out of its pool.

use std::time::Duration;

use super::TIMEOUT;
use crate::config::reader::{Section, duration_in};

/// When calls that fail take an upstream out of its pool for a while.
#[derive(Clone, Debug)]
pub struct EjectConfig {
    /// So many failures in a row.
    pub failures: u32,
    /// Or so many of its calls within ten seconds, in percent, once there are twenty.
    pub failure_percent: u64,
    /// How long it is out for the first time.
    pub time: Duration,
    /// Each time is twice as long as the one before, but no longer than this.
    pub longest: Duration,
    /// How much of a pool may be out at once, in percent.
    pub most_percent: u64,
}

impl Default for EjectConfig {
    fn default() -> Self {
        Self {
            failures: 5,
            failure_percent: 50,
            time: Duration::from_secs(5),
            longest: Duration::from_secs(60),
            most_percent: 50,
        }
    }
}

impl EjectConfig {
    pub(super) fn read(section: &mut Section<'_>, inherited: &Self) -> Self {
        Self {
            failures: section.read("eject_after", inherited.failures, |entry| {
                u32::try_from(entry.number(1..=1_000)?).map_err(|error| error.to_string())
            }),
            failure_percent: section
                .read("eject_failure_percent", inherited.failure_percent, |entry| entry.number(1..=100)),
            time: section.read("eject_time", inherited.time, duration_in(TIMEOUT)),
            longest: section.read("eject_longest", inherited.longest, duration_in(TIMEOUT)),
            most_percent: section
                .read("eject_percent", inherited.most_percent, |entry| entry.number(0..=100)),
        }
    }
}
