//! The settings of outlier detection.

use std::time::Duration;

use super::TIMEOUT;
use super::statuses::error_statuses;
use crate::reader::{Section, count, duration_in};

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
    /// Maximum percentage of a pool that may be ejected at the same time.
    pub max_percent: u64,
    /// The statuses of responses that count as failures.
    pub statuses: Vec<u16>,
    /// A response that took so many times the median of the other upstreams counts as a failure. 0
    /// means that none does.
    pub slow_factor: u64,
    /// A response that took less than this is never slow.
    pub slow_min: Duration,
}

impl Default for EjectConfig {
    fn default() -> Self {
        Self {
            failures: 5,
            failure_percent: 50,
            base_time: Duration::from_secs(5),
            max_time: Duration::from_secs(60),
            max_percent: 50,
            statuses: Vec::new(),
            slow_factor: 0,
            slow_min: Duration::from_millis(100),
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
            statuses: section.read("eject_statuses", inherited.statuses.clone(), error_statuses),
            slow_factor: section.read("eject_slow_factor", inherited.slow_factor, count(0..=1_000)),
            slow_min: section.read("eject_slow_min", inherited.slow_min, duration_in(TIMEOUT)),
        }
    }
}
