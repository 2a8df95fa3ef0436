//! One server of a tool.

mod availability;

use std::{
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicU8, AtomicU64, AtomicUsize, Ordering},
    },
    time::Duration,
};

use parking_lot::Mutex;

use self::availability::UNKNOWN;
use super::{
    balance::{self, Candidate},
    half_open::{HalfOpen, TrialTurn},
    health::HealthState,
    outlier::OutlierState,
    series::{Series, SeriesSlot},
};
use crate::config::{PoolSettings, UpstreamConfig};
use transport::{
    clock::{Monotonic, millis},
    connect::{ConnectOptions, ConnectTarget, Connections},
    tls::Connector,
};

/// A server of a pool: one address, its health and how to connect to it. A configured name has one for each address that
/// it resolves to.
#[derive(Debug)]
pub struct Upstream {
    /// The identity in logs, metrics and on `/pools`, by which health and counters are carried over. `10.0.0.4:9100` if
    /// the configuration has the address, `tools.internal/10.0.0.4:9100` if it has a name, and `tools.internal:9100` while
    /// the name has never been resolved.
    pub name: String,
    /// `host:port` as configured: the `Host` of requests.
    pub authority: String,
    /// The entry of the configuration.
    pub config: UpstreamConfig,
    /// Where requests go; `None` while the name has never been resolved.
    pub address: Option<SocketAddr>,
    seed: u64,
    connector: Option<Connector>,
    http2: bool,
    target: Option<Arc<ConnectTarget>>,
    series: SeriesSlot,
    live: Arc<SharedState>,
}

/// What is known of a server. It outlives the configuration that named it.
#[derive(Debug)]
struct SharedState {
    standing: Mutex<HealthState>,
    /// A copy of the standing's health that calls read without the lock.
    health: AtomicU8,
    next_probe: AtomicU64,
    ejection: Mutex<OutlierState>,
    /// A copy of the end of the ejection that calls read without the lock.
    out_until: AtomicU64,
    /// When it began to get calls again; 0 when it always got some.
    back_at: AtomicU64,
    in_flight: AtomicUsize,
    trial: HalfOpen,
    connections: Arc<Connections>,
}

/// A call's place among those of its upstream. It is free again when this is dropped, also by a panic.
#[derive(Debug)]
pub struct UpstreamPermit {
    live: Arc<SharedState>,
    /// Whether the call is the first after an ejection.
    is_trial: bool,
}

/// Weights are counted in hundredths, so that an upstream can begin with a part of its own.
const WHOLE: u64 = 100;

impl Upstream {
    /// Creates the server of `config` at `address`, with the state of `before`, the same server until now.
    pub(super) fn new(
        config: &UpstreamConfig,
        address: Option<SocketAddr>,
        settings: &PoolSettings,
        before: Option<&Self>,
    ) -> Self {
        let name = config.identity(address);
        let connector = settings.tls.connector(&config.host, settings.http2);
        let live =
            before.map_or_else(|| Arc::new(SharedState::new(&name)), |before| Arc::clone(&before.live));
        let authority = config.to_string();
        let target = address.map(|address| {
            let options = ConnectOptions {
                authority: authority.clone(),
                connector: connector.clone(),
                http2: settings.http2,
                timeout: settings.connect_timeout,
                write_timeout: settings.answer_timeout,
                keep_idle: settings.keep_idle,
            };
            Arc::new(ConnectTarget::new(address, options, &live.connections))
        });
        Self {
            seed: balance::seed(name.as_bytes()),
            name,
            authority,
            config: config.clone(),
            address,
            connector,
            http2: settings.http2,
            target,
            series: SeriesSlot::default(),
            live,
        }
    }

    /// Returns how to connect; `None` while the name has never been resolved.
    #[must_use]
    pub const fn connect_target(&self) -> Option<&Arc<ConnectTarget>> {
        self.target.as_ref()
    }

    /// How many connections to it are shared.
    #[must_use]
    pub fn shared_connections(&self) -> usize {
        self.live.connections.shared_count()
    }

    /// Closes connections that nobody will use any more.
    pub fn sweep_idle(&self, now: Monotonic) {
        if let Some(target) = &self.target {
            target.sweep_idle(now);
        }
    }

    /// What its connections are made safe with; `None` without TLS.
    #[must_use]
    pub const fn connector(&self) -> Option<&Connector> {
        self.connector.as_ref()
    }

    /// Whether it is to be spoken to in HTTP/2.
    #[must_use]
    pub const fn speaks_http2(&self) -> bool {
        self.http2
    }

    /// Sets the metrics of its requests, unless they are set.
    pub fn register(&self, make: impl FnOnce() -> Series) {
        self.series.set(make);
    }

    /// Counts a response with this status, whose head was complete after `took`.
    pub fn record_response(&self, status: u16, took: Duration) {
        self.series.record_response(status, took);
    }

    /// Counts a request that failed without a response.
    pub fn record_failure(&self) {
        self.series.record_failure();
    }

    /// What balancing goes by.
    pub(super) fn candidate(&self, place: usize, slow_start: Duration, now: Monotonic) -> Candidate {
        Candidate {
            place,
            weight: u64::from(self.config.weight) * self.share(slow_start, now),
            in_flight: self.in_flight(),
            seed: self.seed,
        }
    }

    /// Hundredths of its weight: a tenth when it comes back, all of it after the slow start.
    fn share(&self, slow_start: Duration, now: Monotonic) -> u64 {
        let back_at = self.live.back_at.load(Ordering::Acquire);
        let whole = millis(slow_start);
        if back_at == 0 || whole == 0 {
            return WHOLE;
        }
        let since = now.since(Monotonic::from_millis(back_at));
        (since.saturating_mul(WHOLE) / whole).clamp(WHOLE / 10, WHOLE)
    }

    /// Calls under way.
    #[must_use]
    pub fn in_flight(&self) -> usize {
        self.live.in_flight.load(Ordering::Relaxed)
    }

    /// Whether another call is the first after its ejection, and it is not known yet how that goes.
    #[must_use]
    pub fn has_trial_call(&self) -> bool {
        self.live.trial.is_taken()
    }

    /// Counts a call until the result is dropped; `None` when another one is trying the upstream, which is only
    /// disregarded by a call that has no other.
    #[must_use]
    pub(super) fn try_acquire(&self, has_other: bool) -> Option<UpstreamPermit> {
        let turn = self.live.trial.turn();
        if turn == TrialTurn::Wait && has_other {
            return None;
        }
        self.live.in_flight.fetch_add(1, Ordering::Relaxed);
        Some(UpstreamPermit { live: Arc::clone(&self.live), is_trial: turn == TrialTurn::Trial })
    }
}

impl SharedState {
    fn new(name: &str) -> Self {
        Self {
            standing: Mutex::new(HealthState::new()),
            health: AtomicU8::new(UNKNOWN),
            next_probe: AtomicU64::new(0),
            ejection: Mutex::new(OutlierState::new()),
            out_until: AtomicU64::new(0),
            back_at: AtomicU64::new(0),
            in_flight: AtomicUsize::new(0),
            trial: HalfOpen::default(),
            connections: Connections::new(name),
        }
    }
}

impl Drop for UpstreamPermit {
    fn drop(&mut self) {
        self.live.in_flight.fetch_sub(1, Ordering::Relaxed);
        if self.is_trial {
            self.live.trial.over();
        }
    }
}
