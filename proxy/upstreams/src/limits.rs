//! Limits that protect the machine from one client. The quota of a key is the meter's concern.

mod connections;

use std::hash::{BuildHasher, RandomState};
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

pub use connections::AddressPermit;
use connections::AddressTable;

use parking_lot::Mutex;
use pingora_limits::inflight::{Guard, Inflight};
use pingora_limits::rate::Rate;
use shared::caller::network;
use shared::key::KeyId;

use config::ClientConfig;

/// The connections, calls and refusals of each address and key.
pub struct ClientLimits {
    connections: Arc<AddressTable>,
    /// Number of connections that are receiving a refusal.
    refusing: Arc<AtomicUsize>,
    keys: Inflight,
    refusals: Vec<Mutex<Rate>>,
    hasher: RandomState,
}

/// Number of rate estimators. Each has a mutex, because `Rate` loses its counts, or panics, if two
/// threads end a second at the same time (pingora-limits 0.9.1, `maybe_reset`).
const SHARDS: usize = 16;
/// Slots of an estimator. With the default of 1,024, collisions in a busy second would throttle
/// innocent addresses.
const SLOTS: usize = 1 << 14;
const HASHES: usize = 4;

impl Default for ClientLimits {
    fn default() -> Self {
        let rate = || Mutex::new(Rate::new_with_estimator_config(Duration::from_secs(1), HASHES, SLOTS));
        Self {
            connections: Arc::default(),
            refusing: Arc::default(),
            keys: Inflight::new(),
            refusals: std::iter::repeat_with(rate).take(SHARDS).collect(),
            hasher: RandomState::new(),
        }
    }
}

impl ClientLimits {
    /// Reserves one of the address's connections. Returns `None` if the address is at its limit.
    /// Dropping the permit releases it.
    #[must_use]
    pub fn try_connect(&self, address: IpAddr, config: &ClientConfig) -> Option<AddressPermit> {
        self.connections.try_acquire(network(address), config.connections_per_address)
    }

    /// Reserves one of the slots for connections that receive a refusal before they are closed.
    /// Returns `None` if all are in use. Dropping the permit releases it.
    #[must_use]
    pub fn try_refuse(&self) -> Option<RefusalPermit> {
        const MAX_REFUSING: usize = 64;
        // Made before the check: if all slots are in use, dropping it takes the count back.
        let permit = RefusalPermit(Arc::clone(&self.refusing));
        (self.refusing.fetch_add(1, Ordering::Relaxed) < MAX_REFUSING).then_some(permit)
    }

    /// Reserves one of the key's slots for calls in flight. Returns `None` if the key is at its
    /// limit. Dropping the guard releases the slot.
    #[must_use]
    pub fn try_enter(&self, key: KeyId, config: &ClientConfig) -> Option<Guard> {
        let (guard, count) = self.keys.incr(key, 1);
        (count <= isize::try_from(config.calls_in_flight_per_key).unwrap_or(isize::MAX)).then_some(guard)
    }

    /// Counts a refused request of an address. Returns true if the address exceeds its rate.
    pub fn record_refusal(&self, address: IpAddr, config: &ClientConfig) -> bool {
        let network = network(address);
        let shard = self.hasher.hash_one(network) % SHARDS as u64;
        let rate = usize::try_from(shard).ok().and_then(|shard| self.refusals.get(shard));
        let limit = isize::try_from(config.refusals_per_second).unwrap_or(isize::MAX);
        rate.is_some_and(|rate| rate.lock().observe(&network, 1) > limit)
    }
}

/// The slot of a connection that receives a refusal.
#[derive(Debug)]
pub struct RefusalPermit(Arc<AtomicUsize>);

impl Drop for RefusalPermit {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use transport::hooks::ClientOptions;

    use super::*;

    const CONFIG: ClientConfig = ClientConfig {
        connection: ClientOptions {
            header_timeout: Duration::from_secs(1),
            idle_timeout: Duration::from_secs(1),
            min_upload_rate: 0,
            min_download_rate: 0,
            requests_per_connection: 1,
            streams_per_connection: 1,
            h2c: false,
            max_body: 0,
        },
        connections: 1,
        connections_per_address: 1,
        calls_in_flight_per_key: 3,
        refusals_per_second: 5,
        proxy_protocol: Vec::new(),
    };

    #[test]
    fn key_at_its_limit_gets_a_slot_when_a_call_ends() {
        let limits = ClientLimits::default();
        let held: Vec<_> = (0..3).map_while(|_| limits.try_enter(KeyId::new([1; 12]), &CONFIG)).collect();
        assert_eq!(held.len(), 3);
        assert!(limits.try_enter(KeyId::new([1; 12]), &CONFIG).is_none());
        assert!(limits.try_enter(KeyId::new([2; 12]), &CONFIG).is_some());
        drop(held);
        assert!(limits.try_enter(KeyId::new([1; 12]), &CONFIG).is_some());
    }

    #[test]
    fn refusals_throttle_only_their_address() {
        let limits = ClientLimits::default();
        let throttled =
            (0..20).filter(|_| limits.record_refusal(IpAddr::from([10, 0, 0, 1]), &CONFIG)).count();
        assert_eq!(throttled, 15);
        assert!(!limits.record_refusal(IpAddr::from([10, 0, 0, 2]), &CONFIG));
    }
}
