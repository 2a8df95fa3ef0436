//! Bounds on what one client can put on the machine. They are not the customer's quota: those the meter keeps.

mod connections;

use std::{
    hash::{BuildHasher, RandomState},
    net::IpAddr,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use connections::Connections;
pub use connections::Counted;

use parking_lot::Mutex;
use pingora_limits::{
    inflight::{Guard, Inflight},
    rate::Rate,
};
use shared::{caller::network, key::KeyId};

use crate::config::ClientConfig;

/// What each key and each address is doing.
pub struct Guards {
    connections: Arc<Connections>,
    /// Connections that are being told that they are too many.
    turned_away: Arc<AtomicUsize>,
    keys: Inflight,
    refusals: Vec<Mutex<Rate>>,
    hasher: RandomState,
}

/// A mutex around each estimator: `Rate` loses its counts, or panics, when two threads end a second at once
/// (pingora-limits 0.9.1, `maybe_reset`).
const SHARDS: usize = 16;
/// At the library's own size, 1,024 slots, a busy second would refuse those who did nothing.
const SLOTS: usize = 1 << 14;
const HASHES: usize = 4;

impl Default for Guards {
    /// Nobody is doing anything yet.
    fn default() -> Self {
        let rate = || Mutex::new(Rate::new_with_estimator_config(Duration::from_secs(1), HASHES, SLOTS));
        Self {
            connections: Arc::default(),
            turned_away: Arc::default(),
            keys: Inflight::new(),
            refusals: std::iter::repeat_with(rate).take(SHARDS).collect(),
            hasher: RandomState::new(),
        }
    }
}

impl Guards {
    /// Counts a connection of an address until the result is dropped; `None` when it has as many as it may.
    #[must_use]
    pub fn connect(&self, address: IpAddr, config: &ClientConfig) -> Option<Counted> {
        self.connections.enter(network(address), config.connections_per_address)
    }

    /// Takes one of the slots for connections that are told why they are closed. Dropping it gives it back.
    #[must_use]
    pub fn turn_away(&self) -> Option<TurnedAway> {
        const AT_ONCE: usize = 64;
        let slot = TurnedAway(Arc::clone(&self.turned_away));
        (self.turned_away.fetch_add(1, Ordering::Relaxed) < AT_ONCE).then_some(slot)
    }

    /// Counts a call of a key as under way until the guard is dropped; `None` when as many are as one key may have.
    #[must_use]
    pub fn enter(&self, key: KeyId, config: &ClientConfig) -> Option<Guard> {
        let (guard, count) = self.keys.incr(key, 1);
        (count <= isize::try_from(config.calls_in_flight_per_key).unwrap_or(isize::MAX)).then_some(guard)
    }

    /// Counts a refused request of an address; whether it has sent more within this second than it may.
    #[must_use]
    pub fn is_flood(&self, address: IpAddr, config: &ClientConfig) -> bool {
        let network = network(address);
        let shard = self.hasher.hash_one(network) % SHARDS as u64;
        let rate = usize::try_from(shard).ok().and_then(|shard| self.refusals.get(shard));
        let most = isize::try_from(config.refusals_per_second).unwrap_or(isize::MAX);
        rate.is_some_and(|rate| rate.lock().observe(&network, 1) > most)
    }
}

/// A connection that is told why it is closed.
#[derive(Debug)]
pub struct TurnedAway(Arc<AtomicUsize>);

impl Drop for TurnedAway {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CONFIG: ClientConfig = ClientConfig {
        header_timeout: Duration::from_secs(1),
        min_upload_rate: 0,
        min_download_rate: 0,
        idle_timeout: Duration::from_secs(1),
        requests_per_connection: 1,
        connections: 1,
        connections_per_address: 1,
        calls_in_flight_per_key: 3,
        refusals_per_second: 5,
        streams_per_connection: 1,
        h2c: false,
    };

    #[test]
    fn a_key_has_so_many_calls_at_once_and_each_end_makes_room() {
        let guards = Guards::default();
        let held: Vec<_> = (0..3).map_while(|_| guards.enter(KeyId::new([1; 12]), &CONFIG)).collect();
        assert_eq!(held.len(), 3);
        assert!(guards.enter(KeyId::new([1; 12]), &CONFIG).is_none());
        assert!(guards.enter(KeyId::new([2; 12]), &CONFIG).is_some());
        drop(held);
        assert!(guards.enter(KeyId::new([1; 12]), &CONFIG).is_some());
    }

    #[test]
    fn an_address_is_stopped_after_its_refusals_and_no_other_with_it() {
        let guards = Guards::default();
        let floods = (0..20).filter(|_| guards.is_flood(IpAddr::from([10, 0, 0, 1]), &CONFIG)).count();
        assert_eq!(floods, 15);
        assert!(!guards.is_flood(IpAddr::from([10, 0, 0, 2]), &CONFIG));
    }
}
