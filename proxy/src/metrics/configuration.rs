//! What is counted of the configuration.

use prometheus::{Error, IntCounterVec, IntGauge};

use super::register::Register;
use crate::reload::{Outcome, Report};

pub(super) struct ConfigurationMetrics {
    reloads: IntCounterVec,
    generation: IntGauge,
    taken_at: IntGauge,
    refused: IntGauge,
    needs_restart: IntGauge,
}

impl ConfigurationMetrics {
    /// As a process begins.
    pub(super) fn new(register: &Register<'_>) -> Result<Self, Error> {
        let metrics = Self {
            reloads: register.counters(
                "utg_reloads_total",
                "Times the configuration was read again, by what came of it: taken or refused.",
                &["outcome"],
            )?,
            generation: register.gauge(
                "utg_configuration_generation",
                "Configurations that were taken since the process began, the first included.",
            )?,
            taken_at: register.gauge(
                "utg_configuration_taken_timestamp_seconds",
                "When the configuration in use was taken, in seconds since 1970.",
            )?,
            refused: register.gauge(
                "utg_configuration_refused",
                "1 while the file has faults and an older configuration is in use, else 0.",
            )?,
            needs_restart: register.gauge(
                "utg_configuration_needs_restart",
                "Keys whose values in the file can only be taken by a restart.",
            )?,
        };
        for outcome in Outcome::ALL {
            metrics.reloads.with_label_values(&[outcome.as_str()]).inc_by(0);
        }
        Ok(metrics)
    }

    pub(super) fn reloaded(&self, outcome: Outcome) {
        self.reloads.with_label_values(&[outcome.as_str()]).inc();
    }

    /// Takes what the report says.
    pub(super) fn look(&self, report: &Report) {
        self.generation.set(i64::try_from(report.generation).unwrap_or(i64::MAX));
        self.taken_at.set(i64::try_from(report.taken_at.0 / 1_000).unwrap_or(i64::MAX));
        self.refused.set(i64::from(report.refused.is_some()));
        self.needs_restart.set(super::signed(report.needs_restart.len()));
    }
}
