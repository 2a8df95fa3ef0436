//! Metrics of direct mode. They stay 0 behind an edge.

use prometheus::{Error, IntCounter, IntCounterVec, IntGauge};
use strum::VariantArray as _;

use super::register::{Register, signed};
use direct::{Direct, FailureReason};
use transport::clock;

/// Metrics of keys and their state files.
pub(super) struct KeyMetrics {
    counted: IntGauge,
    store_failures: IntCounter,
    store_damaged: IntGauge,
    changes_known: IntGauge,
    changes_age: IntGauge,
    changes_failures: IntCounter,
    leases: IntGauge,
    meter_messages: IntCounter,
    meter_failures: IntCounterVec,
    meter_reachable: IntGauge,
}

impl KeyMetrics {
    /// Registers the metrics.
    pub(super) fn new(register: &Register<'_>) -> Result<Self, Error> {
        let meter_failures = register.counters(
            "utg_meter_failures_total",
            "Messages to the meters of keys without a reply, by reason.",
            &["reason"],
        )?;
        for reason in FailureReason::VARIANTS {
            meter_failures.with_label_values(&[reason.into_str()]).inc_by(0);
        }
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
            leases: register.gauge(
                "utg_lease_caches",
                "Keys of which this proxy may hold leases, if proxies share their limits (direct mode).",
            )?,
            meter_messages: register.counter(
                "utg_meter_messages_total",
                "Messages to the meters of keys, if proxies share their limits (direct mode).",
            )?,
            meter_failures,
            meter_reachable: register.gauge(
                "utg_meter_reachable",
                "0 if the authority over shared limits did not reply to the last message that changes a meter, otherwise 1.",
            )?,
        })
    }

    /// Copies the state of direct mode. Must not run concurrently: counters are raised by a
    /// difference.
    pub(super) fn update(&self, direct: Option<&Direct>) {
        self.changes_known.set(direct.is_none_or(|direct| direct.freshness.is_known()).into());
        let meters = direct.and_then(|direct| direct.meters());
        self.meter_reachable.set(meters.is_none_or(|meters| !meters.is_failing()).into());
        let Some(direct) = direct else { return };
        let (failures, damaged) = direct.file_failures();
        self.counted.set(signed(direct.keys.len()));
        self.store_failures.inc_by(failures.saturating_sub(self.store_failures.get()));
        self.store_damaged.set(i64::try_from(damaged).unwrap_or(i64::MAX));
        let failed_polls = direct.freshness.failures();
        self.changes_failures.inc_by(failed_polls.saturating_sub(self.changes_failures.get()));
        let age = direct.freshness.age(clock::now()).map_or(0, |ms| ms / 1_000);
        self.changes_age.set(i64::try_from(age).unwrap_or(i64::MAX));
        let Some(meters) = meters else { return };
        let (caches, messages) = meters.counts();
        self.leases.set(signed(caches));
        self.meter_messages.inc_by(messages.saturating_sub(self.meter_messages.get()));
        for (reason, failures) in meters.failures() {
            let counter = self.meter_failures.with_label_values(&[reason.into_str()]);
            counter.inc_by(failures.saturating_sub(counter.get()));
        }
    }
}
