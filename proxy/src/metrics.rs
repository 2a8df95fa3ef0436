//! Counters for operators. Labels come from our own tables and from the configuration, never from a request, so
//! that nobody outside can add a series.

use std::time::Duration;

use prometheus::{
    Encoder, Histogram, HistogramOpts, HistogramVec, IntCounter, IntCounterVec, IntGauge, IntGaugeVec, Opts,
    Registry, TextEncoder,
};
use shared::{problem::Code, tier::Tier, tool::Tool};

use crate::{
    per_tool::PerTool,
    pools::{Health, Pools},
    state::State,
};

/// Every metric of the proxy.
pub struct Metrics {
    registry: Registry,
    calls: PerTool<[[IntCounter; CLASSES.len()]; Tier::ALL.len()]>,
    refusals: Vec<(Code, IntCounter)>,
    upstream_seconds: PerTool<Histogram>,
    gateway_seconds: Histogram,
    connect_failures: IntCounterVec,
    retries: IntCounterVec,
    healthy: IntGaugeVec,
    in_flight: IntGaugeVec,
    requests: IntGauge,
    remembered: IntGauge,
    log_dropped: IntGauge,
    ready: IntGauge,
}

const CLASSES: [&str; 6] = ["none", "1xx", "2xx", "3xx", "4xx", "5xx"];

impl Metrics {
    /// All metrics at zero, with the series of every tool present.
    ///
    /// # Errors
    /// When two metrics have one name.
    pub fn new(pools: &Pools) -> Result<Self, prometheus::Error> {
        let registry = Registry::new();
        let calls = counters(
            &registry,
            "utg_calls_total",
            "Calls with a valid grant, by the class of the status answered.",
            &["tool", "tier", "status"],
        )?;
        let refusals = counters(
            &registry,
            "utg_refusals_total",
            "Answers of the proxy's own, by problem code.",
            &["code"],
        )?;
        let upstream_seconds = upstream_histograms(&registry)?;
        let connect_failures = counters(
            &registry,
            "utg_upstream_connect_failures_total",
            "Connections for calls that could not be made.",
            &["tool", "upstream"],
        )?;
        let healthy = gauges(
            &registry,
            "utg_upstream_healthy",
            "1 when an upstream gets calls, else 0.",
            &["tool", "upstream"],
        )?;
        let in_flight = gauges(&registry, "utg_calls_in_flight", "Calls under way.", &["tool"])?;
        for pool in pools.iter() {
            for upstream in &pool.upstreams {
                let labels = [pool.config.tool.as_str(), &upstream.name];
                connect_failures.with_label_values(&labels).reset();
                healthy.with_label_values(&labels).set(0);
            }
        }
        Ok(Self {
            calls: PerTool::from_fn(|tool| {
                Tier::ALL.map(|tier| {
                    CLASSES.map(|class| calls.with_label_values(&[tool.as_str(), tier.as_str(), class]))
                })
            }),
            refusals: Code::ALL.map(|code| (code, refusals.with_label_values(&[code.as_str()]))).into(),
            upstream_seconds: PerTool::from_fn(|tool| upstream_seconds.with_label_values(&[tool.as_str()])),
            gateway_seconds: gateway_histogram(&registry)?,
            connect_failures,
            retries: retry_counters(&registry)?,
            healthy,
            in_flight,
            requests: gauge(
                &registry,
                "utg_requests_under_way",
                "Requests under way, with and without a grant.",
            )?,
            remembered: gauge(
                &registry,
                "utg_replay_remembered",
                "Requests remembered so that none is made twice.",
            )?,
            log_dropped: gauge(
                &registry,
                "utg_access_log_dropped",
                "Access lines dropped since the start because their reader did not keep up.",
            )?,
            ready: gauge(&registry, "utg_ready", "1 when requests should be sent here, else 0.")?,
            registry,
        })
    }

    /// Counts a call that was answered; `status` 0 is none.
    pub fn answered(&self, tool: Tool, tier: Tier, status: u16) {
        let classes = self.calls[tool].get(usize::from(tier.code()));
        let class = usize::from(status / 100).min(CLASSES.len() - 1);
        if let Some(counter) = classes.and_then(|classes| classes.get(class)) {
            counter.inc();
        }
    }

    /// Counts an answer of the proxy's own.
    pub fn refused(&self, code: Code) {
        if let Some((_, counter)) = self.refusals.iter().find(|(other, _)| *other == code) {
            counter.inc();
        }
    }

    /// Notes how long a tool took until its answer began, and how long the proxy itself until it had asked.
    pub fn timed(&self, tool: Tool, upstream: Duration, gateway: Duration) {
        self.upstream_seconds[tool].observe(upstream.as_secs_f64());
        self.gateway_seconds.observe(gateway.as_secs_f64());
    }

    /// Counts a connection that could not be made.
    pub fn connect_failed(&self, tool: Tool, upstream: &str) {
        self.connect_failures.with_label_values(&[tool.as_str(), upstream]).inc();
    }

    /// Counts a call that went on to another connection after a failure.
    pub fn retried(&self, tool: Tool, after: &str) {
        self.retries.with_label_values(&[tool.as_str(), after]).inc();
    }

    /// Everything, in Prometheus' text format.
    ///
    /// # Errors
    /// When a metric cannot be encoded.
    pub fn render(&self, state: &State) -> Result<Vec<u8>, prometheus::Error> {
        self.look(state);
        let mut text = Vec::with_capacity(64 << 10);
        TextEncoder::new().encode(&self.registry.gather(), &mut text)?;
        Ok(text)
    }

    /// Takes what is known elsewhere.
    fn look(&self, state: &State) {
        for pool in state.pools.iter() {
            let tool = pool.config.tool.as_str();
            self.in_flight.with_label_values(&[tool]).set(signed(pool.in_flight()));
            for upstream in &pool.upstreams {
                let healthy = upstream.health() == Health::Healthy;
                self.healthy.with_label_values(&[tool, &upstream.name]).set(i64::from(healthy));
            }
        }
        self.requests.set(signed(state.drain.under_way()));
        self.remembered.set(signed(state.replay.len()));
        self.log_dropped.set(i64::try_from(state.access_log.dropped()).unwrap_or(i64::MAX));
        self.ready.set(i64::from(state.is_ready()));
    }
}

fn signed(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

fn counters(
    registry: &Registry,
    name: &str,
    help: &str,
    labels: &[&str],
) -> Result<IntCounterVec, prometheus::Error> {
    let counters = IntCounterVec::new(Opts::new(name, help), labels)?;
    registry.register(Box::new(counters.clone()))?;
    Ok(counters)
}

fn gauges(
    registry: &Registry,
    name: &str,
    help: &str,
    labels: &[&str],
) -> Result<IntGaugeVec, prometheus::Error> {
    let gauges = IntGaugeVec::new(Opts::new(name, help), labels)?;
    registry.register(Box::new(gauges.clone()))?;
    Ok(gauges)
}

fn gauge(registry: &Registry, name: &str, help: &str) -> Result<IntGauge, prometheus::Error> {
    let gauge = IntGauge::new(name, help)?;
    registry.register(Box::new(gauge.clone()))?;
    Ok(gauge)
}

fn upstream_histograms(registry: &Registry) -> Result<HistogramVec, prometheus::Error> {
    let buckets = vec![0.001, 0.005, 0.025, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 20.0, 35.0];
    let help = "Seconds from asking a tool until its answer began.";
    let seconds =
        HistogramVec::new(HistogramOpts::new("utg_upstream_seconds", help).buckets(buckets), &["tool"])?;
    registry.register(Box::new(seconds.clone()))?;
    Ok(seconds)
}

fn retry_counters(registry: &Registry) -> Result<IntCounterVec, prometheus::Error> {
    let help = "Calls that went on to another connection after a failure, by its kind: connect, stale or answer.";
    counters(registry, "utg_upstream_retries_total", help, &["tool", "after"])
}

fn gateway_histogram(registry: &Registry) -> Result<Histogram, prometheus::Error> {
    let buckets = vec![0.000_025, 0.000_05, 0.000_1, 0.000_2, 0.000_5, 0.001, 0.005, 0.025, 0.1, 1.0];
    let help = "Seconds the proxy itself took, from a request's headers until the tool was asked.";
    let seconds = Histogram::with_opts(HistogramOpts::new("utg_gateway_seconds", help).buckets(buckets))?;
    registry.register(Box::new(seconds.clone()))?;
    Ok(seconds)
}
