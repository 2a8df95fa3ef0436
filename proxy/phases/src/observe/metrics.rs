//! Metrics for operators. Label values come from the code and the configuration, never from a
//! request, so that no client can add a series.

mod config;
mod exemplars;
mod keys;
mod limits;
pub mod open_metrics;
mod pool;
mod register;
mod tls;
mod traces;

use std::time::Duration;

use parking_lot::Mutex;
use prometheus::{Error, Histogram, IntCounter, IntGauge, Registry, TextEncoder};
use shared::grant::RefusalReason;
use shared::problem::{Code, codes};
use shared::tier::Tier;
use shared::time::UnixMillis;
use shared::tool::Tool;
use shared::trace::SpanContext;

use self::config::ConfigMetrics;
use self::exemplars::{Exemplars, Series};
use self::keys::KeyMetrics;
use self::limits::LimitMetrics;
pub use self::pool::MirrorOutcome;
use self::pool::PoolMetrics;
pub use self::pool::RetryCause;
use self::register::{Register, VariantCounters, signed};
use self::tls::TlsMetrics;
pub use self::traces::SpanLoss;
use self::traces::TraceMetrics;
use ::config::per_tool::PerTool;
use ::config::{FailedPart, ReloadReport};
use direct::Direct;
use direct::replay::{ReplayCache, UsedGrants};
use transport::tls::ServerTls;
use upstreams::{Pools, STATUS_CLASSES};

/// Every metric of the proxy.
pub struct Metrics {
    registry: Registry,
    calls: PerTool<[[IntCounter; STATUS_CLASSES.len()]; Tier::ALL.len()]>,
    refusals: Vec<(Code, IntCounter)>,
    pub pools: PoolMetrics,
    pub(crate) tls: TlsMetrics,
    pub config: ConfigMetrics,
    pub(crate) limits: LimitMetrics,
    pub traces: TraceMetrics,
    pub(crate) mirrored: VariantCounters<MirrorOutcome>,
    keys: KeyMetrics,
    exemplars: Exemplars,
    overhead_seconds: Histogram,
    requests: IntGauge,
    pub(crate) grants_refused: VariantCounters<RefusalReason>,
    replay_entries: IntGauge,
    replay_capacity: IntGauge,
    replay_unconfirmed: IntCounter,
    log_dropped: IntCounter,
    ready: IntGauge,
    /// Held while counters are raised by a difference.
    updating: Mutex<()>,
}

/// What is running.
pub struct Build {
    /// The version of the package.
    pub version: &'static str,
    /// The commit that it was built from.
    pub commit: &'static str,
}

const OVERHEAD: &str = "utg_proxy_overhead_seconds";
const OVERHEAD_SECONDS: [f64; 10] =
    [0.000_025, 0.000_05, 0.000_1, 0.000_2, 0.000_5, 0.001, 0.005, 0.025, 0.1, 1.0];

/// Registers the metric that names the build and the site that runs it.
fn register_build(register: &Register<'_>, of: &Build, data_center: &str) -> Result<(), Error> {
    let help = "Always 1, labeled with version and commit of the build, and with server.data_center.";
    let build = register.gauges("utg_build_info", help, &["version", "commit", "data_center"])?;
    build.with_label_values(&[of.version, of.commit, data_center]).set(1);
    Ok(())
}

impl Metrics {
    /// Registers all metrics of a proxy in a data center, with the series of every tool.
    ///
    /// # Errors
    /// Returns an error if two metrics have the same name.
    pub fn new(pools: &Pools, build: &Build, data_center: &str) -> Result<Self, Error> {
        let registry = Registry::new();
        // Metrics `process_*` come from /proc.
        #[cfg(target_os = "linux")]
        registry.register(Box::new(prometheus::process_collector::ProcessCollector::for_self()))?;
        let register = Register(&registry);
        let calls = register.counters(
            "utg_calls_total",
            "Calls with a valid grant, or in direct mode a valid key, by class of the response status.",
            &["tool", "tier", "status"],
        )?;
        let refusals = register.counters(
            "utg_refusals_total",
            "Error responses of the proxy itself, by problem code.",
            &["code"],
        )?;
        register_build(&register, build, data_center)?;
        Ok(Self {
            calls: PerTool::from_fn(|tool| {
                Tier::ALL.map(|tier| {
                    STATUS_CLASSES
                        .map(|class| calls.with_label_values(&[tool.as_str(), tier.as_str(), class]))
                })
            }),
            refusals: codes::TABLE
                .iter()
                .map(|code| (*code, refusals.with_label_values(&[code.as_str()])))
                .collect(),
            pools: PoolMetrics::new(&register, pools)?,
            tls: TlsMetrics::new(&register)?,
            config: ConfigMetrics::new(&register)?,
            limits: LimitMetrics::new(&register)?,
            traces: TraceMetrics::new(&register)?,
            mirrored: register.variant_counters(
                "utg_mirrored_calls_total",
                "Copies of calls for a pool's mirror, by outcome: sent, failed or skipped.",
                "outcome",
            )?,
            keys: KeyMetrics::new(&register)?,
            exemplars: Exemplars::default(),
            overhead_seconds: register.histogram(
                OVERHEAD,
                "Time from the end of a request's headers to sending the request to the tool, in seconds.",
                &OVERHEAD_SECONDS,
            )?,
            requests: register
                .gauge("utg_requests_in_flight", "Requests currently in flight, with and without a grant.")?,
            grants_refused: register.variant_counters(
                "utg_grants_refused_total",
                "Calls whose grant was refused, by reason.",
                "reason",
            )?,
            replay_entries: register.gauge("utg_replay_entries", "Request ids held in the replay cache.")?,
            replay_capacity: register.gauge(
                "utg_replay_capacity",
                "Maximum number of request ids in the replay cache. If it is full, calls are refused.",
            )?,
            replay_unconfirmed: register.counter(
                "utg_replay_unconfirmed_total",
                "Calls whose grants the shared store of used grants did not confirm in time.",
            )?,
            log_dropped: register.counter(
                "utg_access_log_dropped_total",
                "Access log lines dropped because the reader of standard output did not keep up, or its disk was full.",
            )?,
            ready: register.gauge("utg_ready", "1 if /readyz responds with 200, else 0.")?,
            updating: Mutex::default(),
            registry,
        })
    }

    /// Counts a call. `status` is 0 if it had no response.
    pub fn record_call(&self, tool: Tool, tier: Tier, status: u16) {
        let classes = self.calls[tool].get(usize::from(tier.code()));
        let class = usize::from(status / 100).min(STATUS_CLASSES.len() - 1);
        if let Some(counter) = classes.and_then(|classes| classes.get(class)) {
            counter.inc();
        }
    }

    /// Counts a problem that the proxy responded with.
    pub fn record_refusal(&self, code: Code) {
        self.limits.record_refusal(code);
        if let Some((_, counter)) = self.refusals.iter().find(|(other, _)| *other == code) {
            counter.inc();
        }
    }

    /// Records the time from the end of a request's head to sending the request to the tool.
    pub fn record_overhead(&self, overhead: Duration) {
        self.overhead_seconds.observe(overhead.as_secs_f64());
    }

    /// Records an exported call as the exemplar of the buckets that counted it: that of the overhead, and
    /// that of the response's start at an upstream of a tool.
    pub(crate) fn record_exemplars(
        &self,
        span: SpanContext,
        time: UnixMillis,
        overhead: Duration,
        (tool, upstream, response): (Tool, &str, Duration),
    ) {
        let series = Series { name: OVERHEAD, bounds: &OVERHEAD_SECONDS, labels: &[] };
        self.exemplars.record(&series, overhead.as_secs_f64(), span, time);
        let labels = [("tool", tool.as_str()), ("upstream", upstream)];
        let series = Series { name: pool::RESPONSE, bounds: &pool::RESPONSE_SECONDS, labels: &labels };
        self.exemplars.record(&series, response.as_secs_f64(), span, time);
    }

    /// Removes the series of upstreams that `after` does not contain, and adds those of new ones.
    pub fn replace_series(&self, before: &Pools, after: &Pools) {
        self.pools.remove_series(before, after);
        self.pools.add_series(after);
        // They name series, of which some are gone.
        self.exemplars.clear();
    }

    /// Updates the gauges from the state of the process, and returns all metrics in the text format
    /// of Prometheus.
    ///
    /// # Errors
    /// Returns an error if a metric cannot be encoded.
    pub fn render(&self, sources: &Sources<'_>) -> Result<String, Error> {
        self.update(sources);
        TextEncoder::new().encode_to_string(&self.registry.gather())
    }

    /// Does the same in the format of OpenMetrics, with exemplars.
    ///
    /// # Errors
    /// Returns an error if a metric cannot be encoded.
    pub fn render_open_metrics(&self, sources: &Sources<'_>) -> Result<String, Error> {
        self.render(sources).map(|text| open_metrics::convert(&text, &self.exemplars))
    }

    fn update(&self, sources: &Sources<'_>) {
        self.pools.update(sources.pools);
        self.tls.update(sources.tls);
        self.config.update(sources.report, sources.failed_parts);
        self.requests.set(signed(sources.requests_in_flight));
        self.replay_entries.set(signed(sources.replay.map_or(0, ReplayCache::len)));
        self.replay_capacity.set(signed(sources.replay_capacity));
        // Two scrapes at once would both add the same difference.
        let _updating = self.updating.lock();
        let unconfirmed = sources.used_grants.map_or(0, UsedGrants::unknown);
        self.replay_unconfirmed.inc_by(unconfirmed.saturating_sub(self.replay_unconfirmed.get()));
        self.keys.update(sources.direct);
        self.log_dropped.inc_by(sources.log_dropped.saturating_sub(self.log_dropped.get()));
        self.ready.set(i64::from(sources.is_ready));
    }
}

/// The state that gauges show.
pub struct Sources<'a> {
    /// The active pools.
    pub pools: &'a Pools,
    /// The TLS settings towards clients.
    pub tls: Option<&'a ServerTls>,
    /// The state of the configuration.
    pub report: &'a ReloadReport,
    /// The files of the configuration that cannot be used.
    pub failed_parts: &'a [FailedPart],
    /// The number of requests in flight.
    pub requests_in_flight: usize,
    /// The replay cache, behind an edge.
    pub replay: Option<&'a ReplayCache>,
    /// The used grants that proxies share, if they do.
    pub used_grants: Option<&'a UsedGrants>,
    /// The capacity of the replay cache, or 0 without one.
    pub replay_capacity: usize,
    /// The state of direct mode.
    pub direct: Option<&'a Direct>,
    /// The number of dropped access log lines.
    pub log_dropped: u64,
    /// Whether the process is ready.
    pub is_ready: bool,
}
