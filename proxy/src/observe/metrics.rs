//! Counters for operators. Labels come from our own tables and from the configuration, never from a request, so
//! that nobody outside can add a series.

mod bounds;
mod configuration;
mod keys;
mod pool;
mod register;
mod tls;

use std::time::Duration;

use parking_lot::Mutex;
use prometheus::{
    Encoder, Error, Histogram, IntCounter, IntGauge, Registry, TextEncoder,
    process_collector::ProcessCollector,
};
use shared::{problem::Code, tier::Tier, tool::Tool};

pub use self::bounds::Bound;
use self::{
    bounds::BoundMetrics, configuration::ConfigurationMetrics, keys::KeyMetrics, pool::PoolMetrics,
    register::Register, tls::TlsMetrics,
};
use crate::{
    config::{Callers, ReloadOutcome},
    per_tool::PerTool,
    state::State,
    upstreams::{Pools, STATUS_CLASSES},
    version,
};
use transport::{http2::CloseReason, tls::Handshake};

/// Every metric of the proxy.
pub struct Metrics {
    registry: Registry,
    calls: PerTool<[[IntCounter; STATUS_CLASSES.len()]; Tier::ALL.len()]>,
    refusals: Vec<(Code, IntCounter)>,
    pools: PoolMetrics,
    tls: TlsMetrics,
    configuration: ConfigurationMetrics,
    bounds: BoundMetrics,
    keys: KeyMetrics,
    gateway_seconds: Histogram,
    requests: IntGauge,
    remembered: IntGauge,
    capacity: IntGauge,
    log_dropped: IntCounter,
    ready: IntGauge,
    looking: Mutex<()>,
}

const GATEWAY_SECONDS: [f64; 10] =
    [0.000_025, 0.000_05, 0.000_1, 0.000_2, 0.000_5, 0.001, 0.005, 0.025, 0.1, 1.0];

impl Metrics {
    /// All metrics at zero, with the series of every tool present.
    ///
    /// # Errors
    /// When two metrics have one name.
    pub fn new(pools: &Pools) -> Result<Self, Error> {
        let registry = Registry::new();
        registry.register(Box::new(ProcessCollector::for_self()))?;
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
        register
            .gauges(
                "utg_build_info",
                "Always 1, labeled with version and commit of the build.",
                &["version", "commit"],
            )?
            .with_label_values(&[version::VERSION, version::COMMIT])
            .set(1);
        Ok(Self {
            calls: PerTool::from_fn(|tool| {
                Tier::ALL.map(|tier| {
                    STATUS_CLASSES
                        .map(|class| calls.with_label_values(&[tool.as_str(), tier.as_str(), class]))
                })
            }),
            refusals: Code::ALL.map(|code| (code, refusals.with_label_values(&[code.as_str()]))).into(),
            pools: PoolMetrics::new(&register, pools)?,
            tls: TlsMetrics::new(&register)?,
            configuration: ConfigurationMetrics::new(&register)?,
            bounds: BoundMetrics::new(&register)?,
            keys: KeyMetrics::new(&register)?,
            gateway_seconds: register.histogram(
                "utg_proxy_overhead_seconds",
                "Time from the end of a request's headers to sending the request to the tool, in seconds.",
                &GATEWAY_SECONDS,
            )?,
            requests: register
                .gauge("utg_requests_in_flight", "Requests currently in flight, with and without a grant.")?,
            remembered: register.gauge("utg_replay_entries", "Request ids held in the replay cache.")?,
            capacity: register.gauge(
                "utg_replay_capacity",
                "Maximum number of request ids in the replay cache. If it is full, calls are refused.",
            )?,
            log_dropped: register.counter(
                "utg_access_log_dropped_total",
                "Access log lines dropped because the reader of standard output did not keep up.",
            )?,
            ready: register.gauge("utg_ready", "1 if /readyz responds with 200, else 0.")?,
            looking: Mutex::default(),
            registry,
        })
    }

    /// Counts a call that was answered; `status` 0 is none.
    pub fn answered(&self, tool: Tool, tier: Tier, status: u16) {
        let classes = self.calls[tool].get(usize::from(tier.code()));
        let class = usize::from(status / 100).min(STATUS_CLASSES.len() - 1);
        if let Some(counter) = classes.and_then(|classes| classes.get(class)) {
            counter.inc();
        }
    }

    /// Counts an answer of the proxy's own.
    pub fn refused(&self, code: Code) {
        self.bounds.refused(code);
        if let Some((_, counter)) = self.refusals.iter().find(|(other, _)| *other == code) {
            counter.inc();
        }
    }

    /// Counts that a bound was run into.
    pub fn hit(&self, bound: Bound) {
        self.bounds.hit(bound);
    }

    /// Records how long the proxy itself took until the tool was asked.
    pub fn timed(&self, gateway: Duration) {
        self.gateway_seconds.observe(gateway.as_secs_f64());
    }

    /// Counts a connection that could not be made.
    pub fn connect_failed(&self, tool: Tool, upstream: &str) {
        self.pools.connect_failed(tool, upstream);
    }

    /// Counts a lookup of an upstream's name that failed.
    pub fn resolution_failed(&self) {
        self.pools.resolution_failed();
    }

    /// Counts a call that went on to another connection after a failure: `connect`, `stale` or `answer`.
    pub fn retried(&self, tool: Tool, after: &str) {
        self.pools.retried(tool, after);
    }

    /// Counts an upstream that was taken out because its calls failed.
    pub fn ejected(&self, tool: Tool, upstream: &str) {
        self.pools.ejected(tool, upstream);
    }

    /// Counts what came of reading the configuration again.
    pub fn reloaded(&self, outcome: ReloadOutcome) {
        self.configuration.reloaded(outcome);
    }

    /// Lets go of the series of upstreams that are not named any more, and begins those of new ones.
    pub fn name_series(&self, before: &Pools, after: &Pools) {
        self.pools.forget(before, after);
        self.pools.begin(after);
    }

    /// Counts a handshake with a client.
    pub fn handshake(&self, outcome: Handshake) {
        self.tls.handshake(outcome);
    }

    /// Counts an HTTP/2 connection that was closed.
    pub fn http2_closed(&self, reason: CloseReason) {
        self.tls.http2_closed(reason);
    }

    /// Everything, in Prometheus' text format.
    ///
    /// # Errors
    /// When a metric cannot be encoded.
    pub fn render(&self, state: &State) -> Result<Vec<u8>, Error> {
        self.look(state);
        let mut text = Vec::with_capacity(64 << 10);
        TextEncoder::new().encode(&self.registry.gather(), &mut text)?;
        Ok(text)
    }

    /// Takes what is known elsewhere.
    fn look(&self, state: &State) {
        self.pools.look(&state.pools.load());
        self.tls.look(state.config.load().server.tls.as_ref());
        self.configuration.look(&state.report.load());
        self.requests.set(signed(state.drain.requests()));
        self.remembered.set(signed(state.replay.len()));
        let capacity = match &state.config.load().callers {
            Callers::Edge(grants) => grants.replay_capacity,
            Callers::Clients(_) => 0,
        };
        self.capacity.set(signed(capacity));
        // What was dropped since it was last looked at; two lookers at once must not both add it.
        let _one_at_a_time = self.looking.lock();
        self.keys.look(state.direct.as_ref());
        self.log_dropped.inc_by(state.access_log.dropped().saturating_sub(self.log_dropped.get()));
        self.ready.set(i64::from(state.is_ready()));
    }
}

fn signed(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}
