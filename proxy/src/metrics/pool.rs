//! What is counted of each pool and each of its upstreams.

use prometheus::{Error, Histogram, IntCounterVec, IntGaugeVec};
use shared::tool::Tool;

use super::register::Register;
use crate::{clock::Monotonic, per_tool::PerTool, pools::Pools};

pub(super) struct PoolMetrics {
    pub(super) seconds: PerTool<Histogram>,
    connect_failures: IntCounterVec,
    retries: IntCounterVec,
    ejections: IntCounterVec,
    healthy: IntGaugeVec,
    in_flight: IntGaugeVec,
    in_flight_limit: IntGaugeVec,
}

const SECONDS: [f64; 12] = [0.001, 0.005, 0.025, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 20.0, 35.0];

const RETRIED_AFTER: [&str; 3] = ["connect", "stale", "answer"];

impl PoolMetrics {
    /// All at zero, with the series of every upstream present.
    pub(super) fn new(register: &Register<'_>, pools: &Pools) -> Result<Self, Error> {
        let seconds = register.histograms(
            "utg_upstream_seconds",
            "Seconds from asking a tool until its answer began.",
            &SECONDS,
            "tool",
        )?;
        let metrics = Self {
            seconds: PerTool::from_fn(|tool| seconds.with_label_values(&[tool.as_str()])),
            connect_failures: register.counters(
                "utg_upstream_connect_failures_total",
                "Connections for calls that could not be made.",
                &["tool", "upstream"],
            )?,
            retries: register.counters(
                "utg_upstream_retries_total",
                "Calls that went on to another connection after a failure, by its kind: connect, stale or answer.",
                &["tool", "after"],
            )?,
            ejections: register.counters(
                "utg_upstream_ejections_total",
                "Upstreams that were taken out of their pool for a while because their calls failed.",
                &["tool", "upstream"],
            )?,
            healthy: register.gauges(
                "utg_upstream_healthy",
                "1 when an upstream gets calls, else 0.",
                &["tool", "upstream"],
            )?,
            in_flight: register.gauges("utg_calls_in_flight", "Calls under way.", &["tool"])?,
            in_flight_limit: register.gauges(
                "utg_calls_in_flight_limit",
                "Calls that may be under way at once.",
                &["tool"],
            )?,
        };
        for pool in pools.iter() {
            for after in RETRIED_AFTER {
                metrics.retries.with_label_values(&[pool.config.tool.as_str(), after]).reset();
            }
            for upstream in &pool.upstreams {
                let labels = [pool.config.tool.as_str(), &upstream.name];
                metrics.connect_failures.with_label_values(&labels).reset();
                metrics.ejections.with_label_values(&labels).reset();
            }
        }
        metrics.look(pools);
        Ok(metrics)
    }

    pub(super) fn connect_failed(&self, tool: Tool, upstream: &str) {
        self.connect_failures.with_label_values(&[tool.as_str(), upstream]).inc();
    }

    pub(super) fn retried(&self, tool: Tool, after: &str) {
        self.retries.with_label_values(&[tool.as_str(), after]).inc();
    }

    pub(super) fn ejected(&self, tool: Tool, upstream: &str) {
        self.ejections.with_label_values(&[tool.as_str(), upstream]).inc();
    }

    /// Takes what the pools know.
    pub(super) fn look(&self, pools: &Pools) {
        let now = Monotonic::now();
        // Upstreams that the configuration does not name any more have no series.
        self.healthy.reset();
        for pool in pools.iter() {
            let tool = pool.config.tool.as_str();
            self.in_flight.with_label_values(&[tool]).set(super::signed(pool.in_flight()));
            let limit = pool.config.settings.calls_in_flight;
            self.in_flight_limit.with_label_values(&[tool]).set(super::signed(limit));
            for upstream in &pool.upstreams {
                let healthy = upstream.is_available(now);
                self.healthy.with_label_values(&[tool, &upstream.name]).set(i64::from(healthy));
            }
        }
    }
}
