//! Metrics of the configuration.

use prometheus::{Error, IntGauge};

use super::register::{Register, VariantCounters, signed};
use config::{FailedPart, ReloadOutcome, ReloadReport};

pub struct ConfigMetrics {
    pub reloads: VariantCounters<ReloadOutcome>,
    generation: IntGauge,
    loaded_at: IntGauge,
    rejected: IntGauge,
    failed_files: IntGauge,
    needs_restart: IntGauge,
}

impl ConfigMetrics {
    /// Registers the metrics.
    pub(super) fn new(register: &Register<'_>) -> Result<Self, Error> {
        Ok(Self {
            reloads: register.variant_counters(
                "utg_config_reloads_total",
                "Configuration reloads, by outcome: applied or rejected.",
                "outcome",
            )?,
            generation: register.gauge(
                "utg_config_generation",
                "Configurations applied since the process started, the first included.",
            )?,
            loaded_at: register.gauge(
                "utg_config_loaded_timestamp_seconds",
                "Unix time at which the active configuration was applied.",
            )?,
            rejected: register.gauge(
                "utg_config_rejected",
                "1 if the configuration file has faults and the previous configuration stays active, else 0.",
            )?,
            failed_files: register.gauge(
                "utg_config_failed_files",
                "Files that the configuration names and that cannot be used, so that their last good state stays in use.",
            )?,
            needs_restart: register
                .gauge("utg_config_needs_restart", "Changed settings that need a restart to take effect.")?,
        })
    }

    /// Copies the report and the number of files that cannot be used.
    pub(super) fn update(&self, report: &ReloadReport, failed: &[FailedPart]) {
        self.failed_files.set(signed(failed.len()));
        self.generation.set(i64::try_from(report.generation).unwrap_or(i64::MAX));
        self.loaded_at.set(i64::try_from(report.loaded_at.0 / 1_000).unwrap_or(i64::MAX));
        self.rejected.set(i64::from(report.rejected.is_some()));
        self.needs_restart.set(signed(report.needs_restart.len()));
    }
}
