//! The calls of a run that is under way, as metrics for Prometheus.

use prometheus::{
    Encoder as _, Histogram, HistogramOpts, HistogramVec, IntCounter, IntCounterVec, IntGaugeVec, Opts,
    Registry, TextEncoder, exponential_buckets,
};

use crate::record::CallRecord;
use crate::summary::OutcomeKey;

/// Metrics of a run.
#[derive(Clone)]
pub(crate) struct LiveMetrics {
    registry: Registry,
    /// The names of the requests by index.
    requests: Vec<String>,
    calls: IntCounterVec,
    latency: HistogramVec,
    first_event: HistogramVec,
    send_lag: Histogram,
    bytes: IntCounter,
}

impl LiveMetrics {
    /// Returns metrics of a run of these requests.
    ///
    /// # Errors
    /// Returns an error if a metric is invalid, which no scenario can cause.
    pub(crate) fn new(scenario: &str, target: &str, requests: Vec<String>) -> prometheus::Result<Self> {
        // From 0.5 ms to 131 s: each bucket is twice as long as the one before.
        let buckets = exponential_buckets(0.0005, 2.0, 19)?;
        let times = |name: &str, help: &str| HistogramOpts::new(name, help).buckets(buckets.clone());
        let calls = Opts::new("loadtest_calls_total", "Calls by request and outcome.");
        let info = Opts::new("loadtest_run_info", "The run: 1.");
        let metrics = Self {
            registry: Registry::new(),
            requests,
            calls: IntCounterVec::new(calls, &["request", "outcome"])?,
            latency: HistogramVec::new(
                times("loadtest_latency_seconds", "Latencies, counted from the due time of each call."),
                &["request"],
            )?,
            first_event: HistogramVec::new(
                times("loadtest_first_event_seconds", "Times from due to the first event of streams."),
                &["request"],
            )?,
            send_lag: Histogram::with_opts(times(
                "loadtest_send_lag_seconds",
                "Times from due until a connection took the call.",
            ))?,
            bytes: IntCounter::new("loadtest_received_bytes_total", "Bytes of response bodies.")?,
        };
        let run = IntGaugeVec::new(info, &["scenario", "target", "version"])?;
        run.with_label_values(&[scenario, target, env!("CARGO_PKG_VERSION")]).set(1);
        metrics.registry.register(Box::new(run))?;
        metrics.registry.register(Box::new(metrics.calls.clone()))?;
        metrics.registry.register(Box::new(metrics.latency.clone()))?;
        metrics.registry.register(Box::new(metrics.first_event.clone()))?;
        metrics.registry.register(Box::new(metrics.send_lag.clone()))?;
        metrics.registry.register(Box::new(metrics.bytes.clone()))?;
        Ok(metrics)
    }

    /// Adds a call.
    pub(crate) fn observe(&self, record: &CallRecord) {
        let request = self.requests.get(usize::from(record.request)).map_or("", String::as_str);
        let outcome = OutcomeKey::new(record.outcome).label();
        self.calls.with_label_values(&[request, outcome.as_str()]).inc();
        self.latency.with_label_values(&[request]).observe(record.latency().as_secs_f64());
        self.send_lag.observe(record.send_lag().as_secs_f64());
        if let Some(first) = record.first_event() {
            self.first_event.with_label_values(&[request]).observe(first.as_secs_f64());
        }
        self.bytes.inc_by(record.bytes());
    }

    /// Returns the metrics as text.
    pub(crate) fn text(&self) -> Vec<u8> {
        let mut text = Vec::new();
        // Writing to a vector never fails.
        let _infallible = TextEncoder::new().encode(&self.registry.gather(), &mut text);
        text
    }
}
