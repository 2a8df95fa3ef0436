//! The isolate's table of lease caches: one for each key in use. It has a maximum size, and is lost
//! with the isolate.

use std::cell::RefCell;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

use shared::key::{KeyId, KeyRecord, VerifiedKey};
use shared::lease_cache::LeaseCache;
use shared::problem::Problem;
use shared::sorted_map::SortedMap;
use shared::time::UnixMillis;

use crate::runtime::{clock, entropy};

/// Maximum number of caches.
const MAX_CACHES: usize = 4_096;

thread_local! {
    static CACHES: RefCell<CacheTable> = const { RefCell::new(CacheTable(SortedMap::new())) };
    /// Keys whose meter has responded to a change from here.
    static MET: RefCell<SortedMap<KeyId, ()>> = const { RefCell::new(SortedMap::new()) };
}

struct CacheTable(SortedMap<KeyId, Box<Entry>>);

struct Entry {
    cache: LeaseCache,
    used_at: UnixMillis,
}

/// Runs `step` on the key's cache, which is created if there is none. `step` is synchronous, so
/// that no borrow lasts across an `await`.
///
/// # Errors
/// `internal` if the runtime has no randomness for the id of a new cache.
pub(crate) fn with<T>(
    key: &VerifiedKey,
    step: impl FnOnce(&mut LeaseCache, UnixMillis) -> T,
) -> Result<T, Problem> {
    let now = clock::now();
    let id = || Ok(u64::from_be_bytes(entropy::random()?));
    CACHES.with_borrow_mut(|table| match table.entry(&key.id, now, id) {
        Ok(entry) => Ok(step(&mut entry.cache, now)),
        Err(error) => Err(entropy::unavailable(&error, None)),
    })
}

/// Stores a changed record in the key's cache, if there is one.
pub(crate) fn learn(record: &KeyRecord) {
    CACHES.with_borrow_mut(|table| {
        if let Some(entry) = table.0.get_mut(&record.id) {
            entry.cache.learn(record.clone());
        }
    });
}

/// Records that the key's meter exists. If there are too many such keys, the others are forgotten.
pub(crate) fn record_meeting(key: &KeyId) {
    MET.with_borrow_mut(|met| {
        if met.len() >= MAX_CACHES {
            // To forget costs one read of KV. An order to evict by would cost more.
            met.clear();
        }
        met.insert(*key, ());
    });
}

/// Returns true if the key's meter is known here to exist.
pub(crate) fn has_met_meter(key: &KeyId) -> bool {
    let in_use = |table: &CacheTable| table.0.get(key).is_some_and(|entry| entry.cache.has_met_meter());
    MET.with_borrow(|met| met.contains_key(key)) || CACHES.with_borrow(in_use)
}

/// Removes a key's cache.
pub(crate) fn remove(key: &KeyId) {
    CACHES.with_borrow_mut(|table| table.0.remove(key));
}

impl CacheTable {
    /// Returns the key's entry. A new cache gets its own id: a meter takes each sequence
    /// number of an id once, and a new cache starts to count again.
    fn entry(
        &mut self,
        key: &KeyId,
        now: UnixMillis,
        id: impl FnOnce() -> worker::Result<u64>,
    ) -> worker::Result<&mut Entry> {
        if !self.0.contains_key(key) {
            self.evict();
        }
        let new = || id().map(|id| Box::new(Entry { cache: LeaseCache::new(id), used_at: now }));
        let entry = self.0.get_or_try_insert_with(*key, new)?;
        entry.used_at = now;
        Ok(entry)
    }

    /// Evicts the least recently used half if the table is full. Idle caches go first. The leases
    /// of any other evicted cache count as spent.
    fn evict(&mut self) {
        if self.0.len() < MAX_CACHES {
            return;
        }
        let age = |key: &KeyId, entry: &Entry| Reverse((!entry.cache.is_idle(), entry.used_at, *key));
        let mut ages: BinaryHeap<_> = self.0.iter().map(|(key, entry)| age(key, entry)).collect();
        // Half at once: one at a time, a table that is full would be sorted for each new key.
        for _ in 0..MAX_CACHES / 2 {
            if let Some(Reverse((_, _, key))) = ages.pop() {
                self.0.remove(&key);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(n: u32) -> KeyId {
        let [a, b, c, d] = n.to_be_bytes();
        KeyId::new([a, b, c, d, 0, 0, 0, 0, 0, 0, 0, 0])
    }

    #[test]
    fn full_table_evicts_the_least_recently_used_half() {
        let mut table = CacheTable(SortedMap::new());
        let max = u32::try_from(MAX_CACHES).unwrap();
        for n in 0..max + 1 {
            table.entry(&key(n), UnixMillis(n.into()), || Ok(n.into())).unwrap();
        }
        assert_eq!(table.0.len(), MAX_CACHES / 2 + 1);
        assert!(!table.0.contains_key(&key(0)) && table.0.contains_key(&key(max)));
    }
}
