//! Bounds on what one client can put on the machine. They are not the customer's quota: those the meter keeps.

use std::{
    hash::{BuildHasher, RandomState},
    net::IpAddr,
    time::Duration,
};

use parking_lot::Mutex;
use pingora_limits::{
    inflight::{Guard, Inflight},
    rate::Rate,
};
use shared::key::KeyId;

use crate::config::ClientConfig;

/// Estimates of what each key and each address is doing.
pub struct Guards {
    keys: Inflight,
    calls_per_key: isize,
    refusals: Vec<Mutex<Rate>>,
    refusals_per_second: isize,
    hasher: RandomState,
}

/// A mutex around each estimator: `Rate` loses its counts, or panics, when two threads end a second at once
/// (pingora-limits 0.9.1, `maybe_reset`).
const SHARDS: usize = 16;
/// At the library's own size, 1,024 slots, a busy second would refuse those who did nothing.
const SLOTS: usize = 1 << 14;
const HASHES: usize = 4;

impl Guards {
    /// Nobody is doing anything yet.
    #[must_use]
    pub fn new(config: &ClientConfig) -> Self {
        let rate = || Mutex::new(Rate::new_with_estimator_config(Duration::from_secs(1), HASHES, SLOTS));
        Self {
            keys: Inflight::new(),
            calls_per_key: isize::try_from(config.calls_in_flight_per_key).unwrap_or(isize::MAX),
            refusals: std::iter::repeat_with(rate).take(SHARDS).collect(),
            refusals_per_second: isize::try_from(config.refusals_per_second).unwrap_or(isize::MAX),
            hasher: RandomState::new(),
        }
    }

    /// Counts a call of a key as under way until the guard is dropped; `None` when as many are as one key may have.
    #[must_use]
    pub fn enter(&self, key: KeyId) -> Option<Guard> {
        let (guard, count) = self.keys.incr(key, 1);
        (count <= self.calls_per_key).then_some(guard)
    }

    /// Counts a refused request of an address; whether it has sent more within this second than it may.
    #[must_use]
    pub fn is_flood(&self, address: IpAddr) -> bool {
        let network = network(address);
        let shard = self.hasher.hash_one(network) % SHARDS as u64;
        let rate = usize::try_from(shard).ok().and_then(|shard| self.refusals.get(shard));
        rate.is_some_and(|rate| rate.lock().observe(&network, 1) > self.refusals_per_second)
    }
}

/// Who is behind an address: itself, or its /64, which one subscriber has whole.
fn network(address: IpAddr) -> u128 {
    match address.to_canonical() {
        IpAddr::V4(v4) => u128::from(v4.to_bits()),
        IpAddr::V6(v6) => v6.to_bits() >> 64 << 64,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn guards() -> Guards {
        let limits = (3, 5);
        Guards::new(&ClientConfig {
            header_timeout: Duration::from_secs(1),
            idle_timeout: Duration::from_secs(1),
            requests_per_connection: 1,
            calls_in_flight_per_key: limits.0,
            refusals_per_second: limits.1,
        })
    }

    #[test]
    fn a_key_has_so_many_calls_at_once_and_each_end_makes_room() {
        let guards = guards();
        let held: Vec<_> = (0..3).map_while(|_| guards.enter(KeyId::new([1; 12]))).collect();
        assert_eq!(held.len(), 3);
        assert!(guards.enter(KeyId::new([1; 12])).is_none());
        assert!(guards.enter(KeyId::new([2; 12])).is_some());
        drop(held);
        assert!(guards.enter(KeyId::new([1; 12])).is_some());
    }

    #[test]
    fn an_address_is_stopped_after_its_refusals_and_no_other_with_it() {
        let guards = guards();
        let floods = (0..20).filter(|_| guards.is_flood(IpAddr::from([10, 0, 0, 1]))).count();
        assert!(floods >= 10, "{floods}");
        assert!(!guards.is_flood(IpAddr::from([10, 0, 0, 2])));
    }

    #[test]
    fn a_subscriber_is_one_address_however_many_it_has() {
        let one = network("2001:db8::1".parse().unwrap());
        assert_eq!(one, network("2001:db8::ffff:1".parse().unwrap()));
        assert_ne!(one, network("2001:db8:0:1::1".parse().unwrap()));
    }
}
