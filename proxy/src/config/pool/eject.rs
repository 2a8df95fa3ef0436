//! The settings of outlier detection.

use std::time::Duration;

use super::TIMEOUT;
use crate::config::reader::{Section, count, duration_in};

/// The rules by which failed calls eject an upstream.
#[derive(Clone, Debug)]
pub struct EjectConfig {
    /// Number of consecutive failures that ejects an upstream.
    pub failures: u32,
    /// Percentage of failed calls within ten seconds, of at least twenty, that ejects an upstream.
    pub failure_percent: u64,
    /// Duration of the first ejection. Each further one is twice as long.
    pub base_time: Duration,
    /// Maximum duration of an ejection.
    pub max_time: Duration,
    /// Maximum percentage of a pool that may be ejected at once.
    pub max_percent: u64,
}

impl Default for EjectConfig {
    fn default() -> Self {
        Self {
            failures: 5,
            failure_percent: 50,
            base_time: Duration::from_secs(5),
            max_time: Duration::from_secs(60),
            max_percent: 50,
        }
    }
}

impl EjectConfig {
    pub(super) fn read(section: &mut Section<'_>, inherited: &Self) -> Self {
        Self {
            failures: section.read("eject_after", inherited.failures, count(1..=1_000)),
            failure_percent: section.read("eject_failure_percent", inherited.failure_percent, count(1..=100)),
            base_time: section.read("eject_time", inherited.base_time, duration_in(TIMEOUT)),
            max_time: section.read("eject_longest", inherited.max_time, duration_in(TIMEOUT)),
            max_percent: section.read("eject_percent", inherited.max_percent, count(0..=100)),
        }
    }
}
