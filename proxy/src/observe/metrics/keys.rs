//! Metrics of direct mode. They stay 0 behind an edge.

use prometheus::{Error, IntCounter, IntGauge};

use super::register::{Register, signed};
use crate::direct::Direct;
use transport::clock;

/// Metrics of keys and their state files.
pub(super) struct KeyMetrics {
    counted: IntGauge,
    store_failures: IntCounter,
    store_damaged: IntGauge,
    changes_known: IntGauge,
    changes_age: IntGauge,
    changes_failures: IntCounter,
}

impl KeyMetrics {
    /// Registers the metrics.
    pub(super) fn new(register: &Register<'_>) -> Result<Self, Error> {
        Ok(Self {
            counted: register.gauge("utg_keys_tracked", "Keys whose calls are counted in memory (direct mode).")?,
            store_failures: register.counter(
                "utg_key_store_failures_total",
                "Failed writes of a state file (direct mode).",
            )?,
            store_damaged: register
                .gauge("utg_key_store_damaged", "State files found damaged at startup (direct mode).")?,
            changes_known: register.gauge(
                "utg_key_changes_known",
                "1 if the key-change feed was received, from the edge or a local copy. If 0, every call is refused.",
            )?,
            changes_age: register.gauge(
                "utg_key_changes_age_seconds",
                "Seconds since the last successful poll of the key-change feed. 0 if no edge is polled.",
            )?,
            changes_failures: register.counter(
                "utg_key_changes_failures_total",
                "Failed polls of the key-change feed.",
            )?,
        })
    }

    /// Copies the state of direct mode. Must not run concurrently: counters are raised by a
    /// difference.
    pub(super) fn update(&self, direct: Option<&Direct>) {
        self.changes_known.set(direct.is_none_or(|direct| direct.freshness.is_known()).into());
        let Some(direct) = direct else { return };
        let (failures, damaged) = direct.file_failures();
        self.counted.set(signed(direct.keys.len()));
        self.store_failures.inc_by(failures.saturating_sub(self.store_failures.get()));
        self.store_damaged.set(i64::try_from(damaged).unwrap_or(i64::MAX));
        let failed_polls = direct.freshness.failures();
        self.changes_failures.inc_by(failed_polls.saturating_sub(self.changes_failures.get()));
        let age = direct.freshness.age(clock::now()).map_or(0, |ms| ms / 1_000);
        self.changes_age.set(i64::try_from(age).unwrap_or(i64::MAX));
    }
}
