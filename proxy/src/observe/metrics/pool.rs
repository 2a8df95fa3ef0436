//! What is counted of each pool and each of its upstreams.

use prometheus::{Error, HistogramVec, IntCounter, IntCounterVec, IntGaugeVec};
use shared::tool::Tool;

use super::register::Register;
use crate::{
    config::AdminState,
    upstreams::{Pools, STATUS_CLASSES, Series, Upstream},
};
use transport::clock::Monotonic;

pub(super) struct PoolMetrics {
    seconds: HistogramVec,
    requests: IntCounterVec,
    connect_failures: IntCounterVec,
    resolution_failures: IntCounter,
    retries: IntCounterVec,
    ejections: IntCounterVec,
    healthy: IntGaugeVec,
    shared: IntGaugeVec,
    in_flight: IntGaugeVec,
    in_flight_limit: IntGaugeVec,
}

const SECONDS: [f64; 12] = [0.001, 0.005, 0.025, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 20.0, 35.0];

const RETRIED_AFTER: [&str; 4] = ["connect", "stale", "unprocessed", "answer"];

impl PoolMetrics {
    /// All at zero, with the series of every upstream present.
    pub(super) fn new(register: &Register<'_>, pools: &Pools) -> Result<Self, Error> {
        let metrics = Self {
            seconds: register.histograms(
                "utg_upstream_response_seconds",
                "Time from sending a request to an upstream to the start of its response, in seconds.",
                &SECONDS,
                &["tool", "upstream"],
            )?,
            requests: register.counters(
                "utg_upstream_requests_total",
                "Requests to an upstream, by class of the response status; none if there was no response.",
                &["tool", "upstream", "status"],
            )?,
            connect_failures: register.counters(
                "utg_upstream_connect_failures_total",
                "Failed connection attempts for calls.",
                &["tool", "upstream"],
            )?,
            resolution_failures: register.counter(
                "utg_name_resolution_failures_total",
                "Failed DNS lookups of upstream names. The last known addresses stay in use.",
            )?,
            retries: register.counters(
                "utg_upstream_retries_total",
                "Retries, by the failure before: connect, stale, unprocessed or answer.",
                &["tool", "after"],
            )?,
            ejections: register.counters(
                "utg_upstream_ejections_total",
                "Ejections of upstreams by outlier detection.",
                &["tool", "upstream"],
            )?,
            healthy: register.gauges(
                "utg_upstream_healthy",
                "1 if the upstream is healthy and not ejected, else 0. Absent for drained and disabled ones.",
                &["tool", "upstream"],
            )?,
            shared: register.gauges(
                "utg_upstream_http2_connections",
                "Open HTTP/2 connections to the upstreams of a tool.",
                &["tool"],
            )?,
            in_flight: register.gauges("utg_calls_in_flight", "Calls currently in flight.", &["tool"])?,
            in_flight_limit: register.gauges(
                "utg_calls_in_flight_limit",
                "Maximum number of calls in flight.",
                &["tool"],
            )?,
        };
        metrics.begin(pools);
        metrics.look(pools);
        Ok(metrics)
    }

    /// Makes every series of these pools present; those that are go on.
    pub(super) fn begin(&self, pools: &Pools) {
        for pool in pools.iter() {
            for after in RETRIED_AFTER {
                self.retries.with_label_values(&[pool.config.tool.as_str(), after]).inc_by(0);
            }
            for upstream in &pool.upstreams {
                let labels = [pool.config.tool.as_str(), &upstream.name];
                self.connect_failures.with_label_values(&labels).inc_by(0);
                self.ejections.with_label_values(&labels).inc_by(0);
                upstream.register(|| self.series(labels));
            }
        }
    }

    fn series(&self, [tool, upstream]: [&str; 2]) -> Series {
        Series {
            seconds: self.seconds.with_label_values(&[tool, upstream]),
            requests: STATUS_CLASSES.map(|class| self.requests.with_label_values(&[tool, upstream, class])),
        }
    }

    /// Drops the series of upstreams that are not named any more, so that reloads do not add up.
    pub(super) fn forget(&self, before: &Pools, after: &Pools) {
        for pool in before.iter() {
            let named =
                |name: &str| after.of(pool.config.tool).upstreams.iter().any(|other| other.name == name);
            for upstream in pool.upstreams.iter().filter(|upstream| !named(&upstream.name)) {
                let labels = [pool.config.tool.as_str(), &upstream.name];
                // A series that is not there needs no dropping.
                let _dropped = self.seconds.remove_label_values(&labels);
                for counters in [&self.connect_failures, &self.ejections] {
                    let _dropped = counters.remove_label_values(&labels);
                }
                for class in STATUS_CLASSES {
                    let [tool, name] = labels;
                    let _dropped = self.requests.remove_label_values(&[tool, name, class]);
                }
            }
        }
    }

    pub(super) fn connect_failed(&self, tool: Tool, upstream: &str) {
        self.connect_failures.with_label_values(&[tool.as_str(), upstream]).inc();
    }

    pub(super) fn resolution_failed(&self) {
        self.resolution_failures.inc();
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
            let shared = pool.upstreams.iter().map(Upstream::shared_connections).sum();
            self.shared.with_label_values(&[tool]).set(super::signed(shared));
            let limit = pool.config.settings.calls_in_flight;
            self.in_flight_limit.with_label_values(&[tool]).set(super::signed(limit));
            // One that is to get no calls is not missed.
            for upstream in
                pool.upstreams.iter().filter(|upstream| upstream.config.admin_state == AdminState::Active)
            {
                let healthy = upstream.is_available(now);
                self.healthy.with_label_values(&[tool, &upstream.name]).set(i64::from(healthy));
            }
        }
    }
}
