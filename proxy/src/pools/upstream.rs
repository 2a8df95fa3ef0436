//! One server of a tool.

use std::{
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicU8, AtomicU64, Ordering},
    },
};

use arc_swap::ArcSwapOption;
use parking_lot::Mutex;
use pingora_core::upstreams::peer::{HttpPeer, HttpUpstreamRequestPolicy};

use super::health::{Evidence, Health, Standing};
use crate::{
    clock::Monotonic,
    config::{PoolSettings, ProbeConfig, UpstreamConfig},
};

/// A server, its health and how to connect to it.
#[derive(Debug)]
pub struct Upstream {
    /// `host:port`, as configured. It names the upstream in logs and metrics, and is the `Host` of its requests.
    pub name: String,
    /// Where it is said to be.
    pub config: UpstreamConfig,
    template: HttpPeer,
    peer: ArcSwapOption<HttpPeer>,
    standing: Mutex<Standing>,
    /// A copy of the standing's health that calls read without the lock.
    health: AtomicU8,
    next_probe: AtomicU64,
}

const UNKNOWN: u8 = 0;
const HEALTHY: u8 = 1;
const UNHEALTHY: u8 = 2;

impl Upstream {
    pub(super) fn new(config: &UpstreamConfig, settings: &PoolSettings) -> Self {
        let upstream = Self {
            name: config.to_string(),
            config: config.clone(),
            template: template(settings),
            peer: ArcSwapOption::empty(),
            standing: Mutex::new(Standing::new()),
            health: AtomicU8::new(UNKNOWN),
            next_probe: AtomicU64::new(0),
        };
        if let Ok(ip) = config.host.parse() {
            upstream.resolved(SocketAddr::new(ip, config.port));
        }
        upstream
    }

    /// How to connect; `None` until its name was resolved once.
    #[must_use]
    pub fn peer(&self) -> Option<Arc<HttpPeer>> {
        self.peer.load_full()
    }

    /// Notes where the upstream's name leads now.
    pub fn resolved(&self, address: SocketAddr) {
        let same = self.peer.load().as_ref().is_some_and(|peer| peer._address.as_inet() == Some(&address));
        if !same {
            self.peer.store(Some(Arc::new(HttpPeer { _address: address.into(), ..self.template.clone() })));
        }
    }

    /// Whether it gets calls.
    #[must_use]
    pub fn health(&self) -> Health {
        match self.health.load(Ordering::Acquire) {
            HEALTHY => Health::Healthy,
            UNHEALTHY => Health::Unhealthy,
            _ => Health::Unknown,
        }
    }

    /// Takes evidence in; the new health, when it has changed.
    pub fn observe(&self, evidence: Evidence, thresholds: &ProbeConfig) -> Option<Health> {
        let mut standing = self.standing.lock();
        let before = standing.health;
        *standing = standing.after(evidence, thresholds);
        let after = standing.health;
        self.health.store(
            match after {
                Health::Unknown => UNKNOWN,
                Health::Healthy => HEALTHY,
                Health::Unhealthy => UNHEALTHY,
            },
            Ordering::Release,
        );
        (before != after).then_some(after)
    }

    /// When it is probed next.
    #[must_use]
    pub fn next_probe(&self) -> Monotonic {
        Monotonic::from_millis(self.next_probe.load(Ordering::Relaxed))
    }

    /// Milliseconds until it can be healthy, if all probes pass from now on.
    pub(super) fn back_in(&self, probe: &ProbeConfig, now: Monotonic) -> u64 {
        match self.standing.lock().passes_needed(probe) {
            0 => 0,
            passes => {
                let rest = probe.interval.saturating_mul(passes - 1);
                self.next_probe().plus(rest).since(now)
            }
        }
    }

    /// Notes when it is probed next.
    pub fn probed_next_at(&self, moment: Monotonic) {
        self.next_probe.store(moment.millis(), Ordering::Relaxed);
    }
}

fn template(settings: &PoolSettings) -> HttpPeer {
    let mut peer = HttpPeer::new(SocketAddr::from(([0, 0, 0, 0], 0)), false, String::new());
    peer.options.connection_timeout = Some(settings.connect_timeout);
    peer.options.total_connection_timeout = Some(settings.connect_timeout);
    // Reading has no timeout here: Pingora's begins before the body is sent and anew with every byte. What a tool may
    // take is kept by the client's connection (`client::Awaited`).
    peer.options.write_timeout = Some(settings.answer_timeout);
    peer.options.idle_timeout = Some(std::time::Duration::from_secs(60));
    peer.options.http_upstream_request_policy = HttpUpstreamRequestPolicy::deny_upgrades();
    peer
}
