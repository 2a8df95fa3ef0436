//! Metrics of pools and their upstreams.

use prometheus::{Error, HistogramVec, IntCounter, IntCounterVec, IntGaugeVec};
use shared::time::UnixMillis;
use shared::tool::Tool;
use strum::{IntoStaticStr, VariantArray};

use super::register::{Register, signed};
use config::AdminState;
use transport::clock::{self, Monotonic};
use transport::record::Aborted;
use upstreams::{EjectReason, Ejection, FailureKind, Pool, Pools, STATUS_CLASSES, Series};

pub struct PoolMetrics {
    seconds: HistogramVec,
    requests: IntCounterVec,
    aborted: IntCounterVec,
    connect_failures: IntCounterVec,
    resolution_failures: IntCounter,
    retries: IntCounterVec,
    ejections: IntCounterVec,
    healthy: IntGaugeVec,
    operators: OperatorMetrics,
    in_flight: IntGaugeVec,
    in_flight_limit: IntGaugeVec,
    queued: IntGaugeVec,
    panic: IntGaugeVec,
    file_failed: IntGaugeVec,
}

/// The histogram of the time to the start of a response.
pub(super) const RESPONSE: &str = "utg_upstream_response_seconds";
/// Its bounds in seconds.
pub(super) const RESPONSE_SECONDS: [f64; 12] =
    [0.001, 0.005, 0.025, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 20.0, 35.0];

/// The sides that can abort a response, by their index.
const SIDES: [Aborted; Aborted::VARIANTS.len()] = [Aborted::ByUpstream, Aborted::ByClient];

/// The failure that a retry follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, VariantArray, IntoStaticStr)]
#[strum(const_into_str, serialize_all = "lowercase")]
pub enum RetryCause {
    /// The connection could not be opened.
    Connect,
    /// The upstream closed an idle connection.
    Stale,
    /// The upstream did not process the request.
    Unprocessed,
    /// The response failed or timed out.
    Response,
    /// The response had one of `retry_statuses`.
    Status,
}

/// The outcome of a copy of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, VariantArray, IntoStaticStr)]
#[strum(const_into_str, serialize_all = "lowercase")]
pub enum MirrorOutcome {
    /// The server has responded.
    Sent,
    /// It has not, or not in time.
    Failed,
    /// No copy was made: too many are in flight, or the body is longer than the proxy buffers.
    Skipped,
}

impl PoolMetrics {
    /// Registers the metrics, with the series of every upstream.
    pub(super) fn new(register: &Register<'_>, pools: &Pools) -> Result<Self, Error> {
        let metrics = Self {
            seconds: register.histograms(
                RESPONSE,
                "Time from sending a request to an upstream to the start of its response, in seconds.",
                &RESPONSE_SECONDS,
                &["tool", "upstream"],
            )?,
            requests: register.counters(
                "utg_upstream_requests_total",
                "Requests to an upstream, by class of the response status; none if there was no response.",
                &["tool", "upstream", "status"],
            )?,
            aborted: register.counters(
                "utg_upstream_responses_aborted_total",
                "Responses of an upstream that ended early, by the side that broke them off: upstream or client.",
                &["tool", "upstream", "by"],
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
                "Retries, by the failure before: connect, stale, unprocessed, response or status.",
                &["tool", "after"],
            )?,
            ejections: register.counters(
                "utg_upstream_ejections_total",
                "Ejections of upstreams by outlier detection, by the rule (consecutive, share or trial) and the failure that completed it (no_response, status or slow).",
                &["tool", "upstream", "reason", "failure"],
            )?,
            healthy: register.gauges(
                "utg_upstream_healthy",
                "1 if the upstream gets calls, else 0: it is healthy, and not ejected unless no other is left. Absent for drained and disabled ones.",
                &["tool", "upstream"],
            )?,
            operators: OperatorMetrics::new(register)?,
            in_flight: register.gauges("utg_calls_in_flight", "Calls currently in flight.", &["tool"])?,
            in_flight_limit: register.gauges(
                "utg_calls_in_flight_limit",
                "Maximum number of calls in flight.",
                &["tool"],
            )?,
            queued: register.gauges("utg_calls_queued", "Calls that wait for a slot of their pool.", &["tool"])?,
            panic: register.gauges(
                "utg_pool_panic",
                "1 if so few upstreams are available that calls go to all of them, else 0.",
                &["tool"],
            )?,
            file_failed: register.gauges(
                "utg_pool_upstreams_file_failed",
                "1 if the pool's upstreams_file cannot be used, so that the pool keeps its last servers, else 0.",
                &["tool"],
            )?,
        };
        metrics.add_series(pools);
        metrics.update(pools);
        Ok(metrics)
    }

    /// Creates the missing series of these pools.
    pub(super) fn add_series(&self, pools: &Pools) {
        for pool in pools.iter() {
            for cause in RetryCause::VARIANTS {
                // With 0 from the start: a rate sees no increase in a series that begins at 1.
                self.retries.with_label_values(&[pool.config.tool.as_str(), cause.into_str()]).inc_by(0);
            }
            for upstream in &pool.upstreams {
                let labels = [pool.config.tool.as_str(), &upstream.name];
                self.connect_failures.with_label_values(&labels).inc_by(0);
                for (reason, failure) in ejection_labels() {
                    self.ejections.with_label_values(&[labels[0], labels[1], reason, failure]).inc_by(0);
                }
                upstream.register(|| self.series(labels));
            }
        }
    }

    fn series(&self, [tool, upstream]: [&str; 2]) -> Series {
        Series {
            seconds: self.seconds.with_label_values(&[tool, upstream]),
            requests: STATUS_CLASSES.map(|class| self.requests.with_label_values(&[tool, upstream, class])),
            aborted: SIDES.map(|by| self.aborted.with_label_values(&[tool, upstream, by.into_str()])),
        }
    }

    /// Removes the series of upstreams that `after` does not contain, so that reloads do not add
    /// up.
    pub(super) fn remove_series(&self, before: &Pools, after: &Pools) {
        for pool in before.iter() {
            let named =
                |name: &str| after.of(pool.config.tool).upstreams.iter().any(|other| other.name == name);
            for upstream in pool.upstreams.iter().filter(|upstream| !named(&upstream.name)) {
                let labels = [pool.config.tool.as_str(), &upstream.name];
                // A series that does not exist need not be removed.
                let _removed = self.seconds.remove_label_values(&labels);
                let _removed = self.connect_failures.remove_label_values(&labels);
                let [tool, name] = labels;
                for (reason, failure) in ejection_labels() {
                    let _removed = self.ejections.remove_label_values(&[tool, name, reason, failure]);
                }
                for class in STATUS_CLASSES {
                    let _removed = self.requests.remove_label_values(&[tool, name, class]);
                }
                for by in SIDES {
                    let _removed = self.aborted.remove_label_values(&[tool, name, by.into_str()]);
                }
            }
        }
    }

    pub(crate) fn record_connect_failure(&self, tool: Tool, upstream: &str) {
        self.connect_failures.with_label_values(&[tool.as_str(), upstream]).inc();
    }

    pub fn record_resolution_failure(&self) {
        self.resolution_failures.inc();
    }

    pub(crate) fn record_retry(&self, tool: Tool, cause: RetryCause) {
        self.retries.with_label_values(&[tool.as_str(), cause.into_str()]).inc();
    }

    pub(crate) fn record_ejection(&self, tool: Tool, upstream: &str, ejection: &Ejection) {
        // An operator's ejection is no finding of outlier detection, and must not raise its alert.
        let Some(failure) = ejection.last else { return };
        let (reason, failure) = (ejection.reason.into_str(), failure.kind().into_str());
        self.ejections.with_label_values(&[tool.as_str(), upstream, reason, failure]).inc();
    }

    /// Copies the state of the pools.
    pub(super) fn update(&self, pools: &Pools) {
        let (now, time) = (Monotonic::now(), clock::now());
        // Removes the series of upstreams that are not configured any more.
        self.healthy.reset();
        for pool in pools.iter() {
            let tool = pool.config.tool.as_str();
            self.in_flight.with_label_values(&[tool]).set(signed(pool.in_flight()));
            let limit = pool.config.settings.calls_in_flight;
            self.in_flight_limit.with_label_values(&[tool]).set(signed(limit));
            self.queued.with_label_values(&[tool]).set(signed(pool.queued()));
            self.panic.with_label_values(&[tool]).set(i64::from(pool.is_panicking(now)));
            let has_failed = pool.config.upstreams_file_error.is_some();
            self.file_failed.with_label_values(&[tool]).set(i64::from(has_failed));
            self.operators.update(pool, time);
            // Drained and disabled upstreams are not missed.
            for upstream in
                pool.upstreams.iter().filter(|upstream| upstream.config.admin_state == AdminState::Active)
            {
                let healthy = pool.is_in_use(upstream, now);
                self.healthy.with_label_values(&[tool, &upstream.name]).set(i64::from(healthy));
            }
        }
    }
}

/// Metrics of what operators have set: the servers that may get calls, and the tools that are off.
struct OperatorMetrics {
    upstreams: IntGaugeVec,
    disabled: IntGaugeVec,
}

impl OperatorMetrics {
    fn new(register: &Register<'_>) -> Result<Self, Error> {
        Ok(Self {
            upstreams: register.gauges(
                "utg_pool_upstreams",
                "Upstreams of the pool by what an operator has them do: calls, draining or off. Without any that gets calls, each call gets 503.",
                &["tool", "duty"],
            )?,
            disabled: register.gauges(
                "utg_tool_disabled",
                "1 while an operator has switched the tool off, so that each call gets 503, else 0.",
                &["tool"],
            )?,
        })
    }

    fn update(&self, pool: &Pool, now: UnixMillis) {
        let tool = pool.config.tool.as_str();
        let is_disabled = pool.config.settings.disabled.is_some_and(|until| until.is_after(now));
        self.disabled.with_label_values(&[tool]).set(i64::from(is_disabled));
        for duty in AdminState::VARIANTS {
            let count = pool.upstreams.iter().filter(|upstream| upstream.config.admin_state == *duty).count();
            self.upstreams.with_label_values(&[tool, duty.into_str()]).set(signed(count));
        }
    }
}

/// Returns the values of `reason` and `failure` that ejections can have.
fn ejection_labels() -> impl Iterator<Item = (&'static str, &'static str)> {
    EjectReason::OF_CALLS.into_iter().flat_map(|reason| {
        FailureKind::VARIANTS.iter().map(move |failure| (reason.into_str(), failure.into_str()))
    })
}
