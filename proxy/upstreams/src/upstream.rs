//! One server of a pool.

mod availability;

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

pub(super) use availability::Standing;
use parking_lot::Mutex;

use super::balance::{self, Candidate};
use super::half_open::{CallRole, HalfOpen};
use super::health::{AtomicHealth, HealthState};
use super::outlier::OutlierState;
use super::response_times::{ResponseTimes, TimedResponse};
use super::series::{Series, SeriesSlot};
use config::{PoolSettings, UpstreamConfig};
use transport::clock::{Monotonic, millis};
use transport::connect::{ConnectOptions, ConnectTarget, Connections};
use transport::record::Aborted;
use transport::tls::Connector;

/// A server of a pool: its address, its health and its connections. A configured name has one
/// server for each address that it resolves to.
#[derive(Debug)]
pub struct Upstream {
    /// The identity in logs, metrics and on `/pools`, and across reloads. `10.0.0.4:9100` if the
    /// configuration has the address, `tools.internal/10.0.0.4:9100` if it has a name, and
    /// `tools.internal:9100` while the name has never been resolved.
    pub name: String,
    /// `host:port` as configured, or of the SRV record: the `Host` of requests.
    pub authority: String,
    /// The entry of the configuration, with host, port and weight of its SRV record if it has one.
    pub config: UpstreamConfig,
    /// The address of the server. `None` while the name has never been resolved.
    pub address: Option<SocketAddr>,
    seed: u64,
    connector: Option<Connector>,
    http2: bool,
    target: Option<Arc<ConnectTarget>>,
    series: SeriesSlot,
    state: Arc<SharedState>,
}

/// The state of a server that outlives its configuration.
#[derive(Debug)]
struct SharedState {
    health_state: Mutex<HealthState>,
    /// A copy of the health that calls read without the lock.
    health: AtomicHealth,
    /// The time of the next probe.
    next_probe: AtomicU64,
    outlier_state: Mutex<OutlierState>,
    /// A copy of the end of the ejection that calls read without the lock.
    ejected_until: AtomicU64,
    /// The time at which the upstream became available again. 0 if it was never unavailable.
    recovered_at: AtomicU64,
    /// Recorded only if the pool ejects slow upstreams.
    response_times: Mutex<ResponseTimes>,
    /// A copy of their median in microseconds. 0 while it is not known.
    median: AtomicU32,
    in_flight: AtomicUsize,
    half_open: HalfOpen,
    connections: Arc<Connections>,
}

/// A permit for one call in flight at an upstream. Dropping it releases the permit, also on a
/// panic.
#[derive(Debug)]
pub struct UpstreamPermit {
    state: Arc<SharedState>,
    /// Whether the call is the trial call of a half-open upstream.
    is_trial: bool,
}

/// The full share of an upstream, in hundredths of its weight. A slow start begins with fewer.
const FULL_SHARE: u64 = 100;

impl Upstream {
    /// Creates the server of `config` at `address`. It takes over the state of `before`, the same
    /// server in the previous configuration.
    pub(super) fn new(
        config: &UpstreamConfig,
        address: Option<SocketAddr>,
        settings: &PoolSettings,
        before: Option<&Self>,
    ) -> Self {
        let name = config.identity(address);
        let connector = settings.tls.connector(&config.host, settings.http2);
        // A reload must not forget what is unhealthy, ejected or in flight.
        let state = before.map_or_else(|| Arc::new(SharedState::new()), |before| Arc::clone(&before.state));
        let authority = config.to_string();
        let target = address.map(|address| {
            let options = ConnectOptions {
                authority: authority.clone(),
                connector: connector.clone(),
                http2: settings.http2,
                timeout: settings.connect_timeout,
                keep_idle: settings.keep_idle,
            };
            Arc::new(ConnectTarget::new(address, options, &state.connections))
        });
        Self {
            // Of the name and not of the place in the pool: a server that is added must not move
            // other keys.
            seed: balance::seed(name.as_bytes()),
            name,
            authority,
            config: config.clone(),
            address,
            connector,
            http2: settings.http2,
            target,
            series: SeriesSlot::default(),
            state,
        }
    }

    /// Returns the target for new connections, or `None` while the name has never been resolved.
    pub const fn connect_target(&self) -> Option<&Arc<ConnectTarget>> {
        self.target.as_ref()
    }

    /// Closes connections that have been idle for too long.
    pub fn sweep_idle(&self, now: Monotonic) {
        if let Some(target) = &self.target {
            target.sweep_idle(now);
        }
    }

    /// Closes every connection, because the upstream has stopped responding. Its calls fail.
    pub(super) fn close_connections(&self) {
        self.state.connections.close_all();
    }

    /// Closes an idle connection. Returns false if there is none.
    pub(super) fn close_idle(&self) -> bool {
        self.state.connections.close_idle()
    }

    /// Returns the TLS connector, or `None` for plain connections.
    pub const fn connector(&self) -> Option<&Connector> {
        self.connector.as_ref()
    }

    /// Returns true if the configuration sets HTTP/2.
    pub const fn uses_http2(&self) -> bool {
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

    /// Records the time of a response. Returns the number of the one before, or 0.
    pub(super) fn record_time(&self, response: TimedResponse) -> u64 {
        let mut times = self.state.response_times.lock();
        let before = times.record(response);
        if let Some(median) = times.median() {
            // Never 0, which means that it is not known.
            self.state.median.store(median.max(1), Ordering::Relaxed);
        }
        before
    }

    /// Returns the last response whose time was recorded.
    pub(super) fn last_response(&self) -> Option<TimedResponse> {
        self.state.response_times.lock().last()
    }

    /// Returns the median of the last response times in microseconds, if it is known.
    pub(super) fn median_time(&self) -> Option<u32> {
        Some(self.state.median.load(Ordering::Relaxed)).filter(|median| *median > 0)
    }

    /// Counts a response that was aborted.
    pub fn record_abort(&self, by: Aborted) {
        self.series.record_abort(by);
    }

    /// Counts a request that failed without a response.
    pub fn record_failure(&self) {
        self.series.record_failure();
    }

    /// Returns the values that load balancing compares.
    pub(super) fn candidate(&self, index: usize, slow_start: Duration, now: Monotonic) -> Candidate {
        Candidate {
            index,
            weight: u64::from(self.config.weight) * self.share(slow_start, now),
            in_flight: self.in_flight(),
            seed: self.seed,
        }
    }

    /// Returns the share of its weight in hundredths: a tenth when the upstream recovers, rising to
    /// all of it at the end of the slow start.
    fn share(&self, slow_start: Duration, now: Monotonic) -> u64 {
        let recovered_at = self.state.recovered_at.load(Ordering::Acquire);
        let duration = millis(slow_start);
        if recovered_at == 0 || duration == 0 {
            return FULL_SHARE;
        }
        let since = now.since(Monotonic::from_millis(recovered_at));
        (since.saturating_mul(FULL_SHARE) / duration).clamp(FULL_SHARE / 10, FULL_SHARE)
    }

    /// Returns the number of calls in flight.
    pub fn in_flight(&self) -> usize {
        self.state.in_flight.load(Ordering::Relaxed)
    }

    /// Returns true while the upstream is half-open and its trial call is in flight.
    pub fn has_trial_call(&self) -> bool {
        self.state.half_open.has_trial_call()
    }

    /// Acquires a permit for one call in flight. Returns `None` if the call should avoid the
    /// upstream because its trial call is in flight, unless the call has no other upstream.
    #[must_use]
    pub(super) fn try_acquire(&self, has_other: bool) -> Option<UpstreamPermit> {
        let role = self.state.half_open.assign_role();
        if role == CallRole::Avoid && has_other {
            return None;
        }
        self.state.in_flight.fetch_add(1, Ordering::Relaxed);
        Some(UpstreamPermit { state: Arc::clone(&self.state), is_trial: role == CallRole::Trial })
    }
}

impl SharedState {
    fn new() -> Self {
        Self {
            health_state: Mutex::new(HealthState::new()),
            health: AtomicHealth::new(),
            next_probe: AtomicU64::new(0),
            outlier_state: Mutex::new(OutlierState::new()),
            ejected_until: AtomicU64::new(0),
            recovered_at: AtomicU64::new(0),
            response_times: Mutex::default(),
            median: AtomicU32::new(0),
            in_flight: AtomicUsize::new(0),
            half_open: HalfOpen::default(),
            connections: Arc::default(),
        }
    }
}

impl UpstreamPermit {
    /// Ends the trial, if the call is one. Until its outcome is recorded, the upstream stays half-open
    /// and another call may be the trial.
    pub fn end_trial(&mut self) {
        if std::mem::take(&mut self.is_trial) {
            self.state.half_open.end_trial();
        }
    }
}

impl Drop for UpstreamPermit {
    fn drop(&mut self) {
        self.state.in_flight.fetch_sub(1, Ordering::Relaxed);
        // Also when the call is cut off: without this, a trial that was dropped would be in flight
        // for ever.
        self.end_trial();
    }
}
