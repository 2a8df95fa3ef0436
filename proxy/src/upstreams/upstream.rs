//! One server of a tool.

mod availability;

use std::{
    hash::{DefaultHasher, Hash as _, Hasher as _},
    net::SocketAddr,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicU8, AtomicU64, AtomicUsize, Ordering},
    },
    time::Duration,
};

use parking_lot::Mutex;
use pingora_core::{
    protocols::Stream,
    upstreams::peer::{HttpPeer, HttpUpstreamRequestPolicy, Peer as _},
};

use self::availability::UNKNOWN;
use super::{
    balance::{self, Candidate},
    connection_limit::Semaphore,
    half_open::{HalfOpen, TrialTurn},
    health::HealthState,
    idle::{IdlePool, OwnerThread},
    outlier::OutlierState,
    series::{Series, SeriesSlot},
};
use crate::{
    clock::{Monotonic, millis},
    config::{PoolSettings, UpstreamConfig},
    http2::tools::Lines,
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
    /// How long a connection may wait for its next call.
    keep_idle: Duration,
    target: Option<Arc<ConnectTarget>>,
    series: SeriesSlot,
    live: Arc<SharedState>,
}

/// How to connect to a server.
#[derive(Debug)]
pub struct ConnectTarget {
    /// What Pingora wants to know.
    pub peer: HttpPeer,
    /// What the connection is made safe with, where there is TLS.
    pub connector: Option<Connector>,
    /// Whether HTTP/2 is spoken: with TLS where the server chooses it, without TLS unasked.
    pub http2: bool,
    /// How long all of it may take.
    pub time: Duration,
    /// Connections of one identity are as good as each other.
    identity: u64,
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
    idle: IdlePool,
    /// Those that are shared, where HTTP/2 is spoken.
    lines: OnceLock<Arc<Lines>>,
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
        let target =
            address.map(|address| Arc::new(ConnectTarget::new(address, connector.clone(), settings)));
        Self {
            seed: balance::seed(name.as_bytes()),
            name,
            authority: config.to_string(),
            config: config.clone(),
            address,
            connector,
            http2: settings.http2,
            keep_idle: settings.keep_idle,
            target,
            series: SeriesSlot::default(),
            live: before.map_or_else(|| Arc::new(SharedState::new()), |before| Arc::clone(&before.live)),
        }
    }

    /// Returns how to connect; `None` while the name has never been resolved.
    #[must_use]
    pub const fn connect_target(&self) -> Option<&Arc<ConnectTarget>> {
        self.target.as_ref()
    }

    /// Returns a connection made that way before, which waits for work, and its home.
    #[must_use]
    pub fn take_idle(&self, target: &ConnectTarget, now: Monotonic) -> Option<(Stream, OwnerThread)> {
        self.live.idle.take(target.identity, now, self.keep_idle)
    }

    /// Keeps a connection over which nothing is in flight, where it belongs.
    pub fn keep_idle(
        &self,
        stream: Stream,
        owner: OwnerThread,
        target: &ConnectTarget,
        now: Monotonic,
        semaphore: &Arc<Semaphore>,
    ) {
        self.live.idle.keep(stream, owner, target.identity, now, semaphore);
    }

    /// The connections to it that calls share, with what tells which of them lead that way and how long they may wait for
    /// work.
    #[must_use]
    pub fn lines(&self, target: &ConnectTarget) -> (&Arc<Lines>, u64, Duration) {
        (self.live.lines.get_or_init(|| Lines::new(&self.name)), target.identity, self.keep_idle)
    }

    /// How many connections to it are shared.
    #[must_use]
    pub fn shared_connections(&self) -> usize {
        self.live.lines.get().map_or(0, |lines| lines.count())
    }

    /// Closes connections that nobody will use any more.
    pub fn sweep_idle(&self, now: Monotonic) {
        if let Some(target) = &self.target {
            self.live.idle.sweep(target.identity, now, self.keep_idle);
            if let Some(lines) = self.live.lines.get() {
                lines.sweep(target.identity, now, self.keep_idle);
            }
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

impl ConnectTarget {
    fn new(address: SocketAddr, connector: Option<Connector>, settings: &PoolSettings) -> Self {
        let peer = peer(address, settings);
        // Who is no longer trusted, or was not asked who it is, is not to be called over a connection of before.
        let mut identity = DefaultHasher::new();
        (peer.reuse_hash(), &connector, settings.http2).hash(&mut identity);
        Self {
            identity: identity.finish(),
            peer,
            connector,
            http2: settings.http2,
            time: settings.connect_timeout,
        }
    }
}

impl SharedState {
    fn new() -> Self {
        Self {
            standing: Mutex::new(HealthState::new()),
            health: AtomicU8::new(UNKNOWN),
            next_probe: AtomicU64::new(0),
            ejection: Mutex::new(OutlierState::new()),
            out_until: AtomicU64::new(0),
            back_at: AtomicU64::new(0),
            in_flight: AtomicUsize::new(0),
            trial: HalfOpen::default(),
            idle: IdlePool::default(),
            lines: OnceLock::new(),
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

fn peer(address: SocketAddr, settings: &PoolSettings) -> HttpPeer {
    let mut peer = HttpPeer::new(address, false, String::new());
    peer.options.connection_timeout = Some(settings.connect_timeout);
    peer.options.total_connection_timeout = Some(settings.connect_timeout);
    // Reading has no timeout here: Pingora's begins before the body is sent and anew with every byte. What a tool may
    // take is kept by the client's connection (`client::Awaited`).
    peer.options.write_timeout = Some(settings.answer_timeout);
    peer.options.idle_timeout = Some(Duration::from_secs(60));
    peer.options.http_upstream_request_policy = HttpUpstreamRequestPolicy::deny_upgrades();
    peer
}
