//! The replay cache: makes each grant usable once. It holds request ids for as long as their grants
//! are valid.
//!
//! **After a crash.** What a killed process had used is forgotten. So a process refuses the grants that
//! were issued before it started, less `CLOCK_ALLOWANCE_MS`, unless it has taken over from the process
//! before it or the proxies of its data center share what they know ([`UsedGrants`]).
//!
//! Why: docs/decisions/proxy.md, "A process refuses the grants of the time before it".

mod used_grants;

use std::collections::HashSet;
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use arc_swap::ArcSwapOption;
use parking_lot::Mutex;
use shared::grant::{Grant, VALID_MS};
use shared::time::UnixMillis;
use tokio::sync::mpsc;

pub use used_grants::{StoredUse, UsedGrantService, UsedGrants};

use crate::sync_record::SyncRecord;

/// The result of using a grant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FirstUse {
    /// The grant was not used before.
    Yes,
    /// The grant was used before.
    No,
    /// The cache is full. The request must be refused, because a replay could not be detected.
    Unknown,
    /// The grant is older than what the cache remembers. The request must be refused.
    Forgotten,
}

/// Time by which the clocks of edge and proxy may differ, in milliseconds. A grant that was used within
/// this time before a process was killed and started again can be used once more.
const CLOCK_ALLOWANCE_MS: u64 = 2_000;

/// The request ids of valid grants that were used. Its size is bounded. It fails closed when it is
/// full.
#[derive(Debug)]
pub struct ReplayCache {
    shards: Vec<Mutex<Shard>>,
    /// The time of issue from which on every used grant is known, in milliseconds of Unix time.
    known_since: AtomicU64,
    /// During an upgrade, the queue to the other process.
    other: ArcSwapOption<mpsc::Sender<SyncRecord>>,
}

/// An entry of the cache, as one process sends it to another during an upgrade.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReplayEntry {
    request: u64,
    /// The number of the time slot in which the grant was issued.
    slot: u64,
}

const SHARDS: usize = 64;
/// Duration of a time slot. The entries of a slot are dropped together.
const SLOT_MS: u64 = 10_000;
/// Number of slots in which a valid grant can have been issued: from 30 seconds ago to 30 seconds
/// ahead, and the current one.
const SLOTS: usize = (2 * VALID_MS / SLOT_MS) as usize + 1;

/// A part of the cache with its own lock: a ring buffer of time slots.
#[derive(Debug)]
struct Shard {
    slots: [Slot; SLOTS],
    capacity: usize,
}

/// The requests whose grants were issued within one time slot, by the first half of their ids. The
/// ids are random and covered by the grant's MAC, so a client cannot choose two with the same half.
#[derive(Debug, Default)]
struct Slot {
    number: u64,
    requests: HashSet<u64, BuildHasherDefault<IdentityHasher>>,
}

impl ReplayCache {
    /// Creates a cache of at most about `capacity` requests, for a process that started at `started`.
    pub fn new(capacity: usize, started: UnixMillis) -> Self {
        let capacity = capacity.div_ceil(SHARDS);
        let shard = || Mutex::new(Shard { slots: Default::default(), capacity });
        Self {
            shards: std::iter::repeat_with(shard).take(SHARDS).collect(),
            known_since: AtomicU64::new(started.minus(CLOCK_ALLOWANCE_MS).0),
            other: ArcSwapOption::empty(),
        }
    }

    /// Records the use of a grant that is valid at `now`. Returns whether it is the first use. `stored`
    /// is what the store of the data center knows of it.
    pub fn first_use(&self, grant: &Grant, stored: StoredUse, now: UnixMillis) -> FirstUse {
        match stored {
            StoredUse::Repeated => return FirstUse::No,
            // Only without a store: what another proxy of the data center has used is known there,
            // however young this process is.
            StoredUse::Unknown if grant.issued_at < self.known_since() => return FirstUse::Forgotten,
            StoredUse::First | StoredUse::Unknown => {}
        }
        let request = first_half(grant.request_id.0);
        let first_use = self
            .shard(request)
            .map_or(FirstUse::Unknown, |shard| shard.lock().first_use(request, grant.issued_at, now));
        if let (FirstUse::Yes, Some(other)) = (first_use, &*self.other.load()) {
            // Fails if the other process has exited or does not keep up. A request never waits for
            // it.
            let entry = ReplayEntry { request, slot: grant.issued_at.0 / SLOT_MS };
            let _sent = other.try_send(entry.to_bytes());
        }
        first_use
    }

    fn shard(&self, request: u64) -> Option<&Mutex<Shard>> {
        // The middle bits, because the hash table uses the lowest and the highest.
        usize::try_from(request >> 32).ok().and_then(|number| self.shards.get(number % SHARDS))
    }

    /// Sends every further entry to another process. `None` stops it.
    pub fn mirror_to(&self, other: Option<mpsc::Sender<SyncRecord>>) {
        self.other.store(other.map(Arc::new));
    }

    /// Returns the time of issue from which on every used grant is known.
    pub fn known_since(&self) -> UnixMillis {
        UnixMillis(self.known_since.load(Ordering::Relaxed))
    }

    /// Takes over what another process knows, all of whose entries are here.
    pub fn take_over(&self, known_since: UnixMillis) {
        self.known_since.fetch_min(known_since.0, Ordering::Relaxed);
    }

    /// Returns all entries, shard by shard.
    pub fn entries(&self) -> impl Iterator<Item = Vec<ReplayEntry>> {
        self.shards.iter().map(|shard| shard.lock().entries())
    }

    /// Inserts an entry of another process.
    pub fn insert(&self, entry: ReplayEntry) {
        if let Some(shard) = self.shard(entry.request) {
            shard.lock().insert(entry);
        }
    }

    /// Returns the number of entries.
    pub fn len(&self) -> usize {
        self.shards.iter().map(|shard| shard.lock().len()).sum()
    }

    /// Returns true if there is no entry.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl Shard {
    fn first_use(&mut self, request: u64, issued_at: UnixMillis, now: UnixMillis) -> FirstUse {
        self.expire(now);
        let number = issued_at.0 / SLOT_MS;
        let full = self.len() >= self.capacity;
        let Some(slot) = self.slot(number) else { return FirstUse::Unknown };
        if slot.number != number {
            // The grants of the old slot have expired, unless the clock was set back.
            *slot = Slot { number, ..Slot::default() };
        }
        if slot.requests.contains(&request) {
            FirstUse::No
        } else if full {
            FirstUse::Unknown
        } else {
            slot.requests.insert(request);
            FirstUse::Yes
        }
    }

    fn slot(&mut self, number: u64) -> Option<&mut Slot> {
        let index = usize::try_from(number % SLOTS as u64).ok()?;
        self.slots.get_mut(index)
    }

    fn entries(&self) -> Vec<ReplayEntry> {
        let of = |slot: &Slot| {
            let number = slot.number;
            slot.requests
                .iter()
                .map(move |&request| ReplayEntry { request, slot: number })
                .collect::<Vec<_>>()
        };
        self.slots.iter().flat_map(of).collect()
    }

    /// Inserts an entry. Ignores the capacity, because the other process had it.
    fn insert(&mut self, entry: ReplayEntry) {
        let Some(slot) = self.slot(entry.slot) else { return };
        if slot.number < entry.slot {
            // An older entry must not empty the slot of newer ones, which may have been used here
            // already.
            *slot = Slot { number: entry.slot, ..Slot::default() };
        }
        if slot.number == entry.slot {
            slot.requests.insert(entry.request);
        }
    }

    /// Drops the slots whose grants have all expired.
    fn expire(&mut self, now: UnixMillis) {
        for slot in &mut self.slots {
            let last_valid = (slot.number + 1).saturating_mul(SLOT_MS).saturating_add(VALID_MS);
            if last_valid < now.0 && !slot.requests.is_empty() {
                slot.requests = HashSet::default();
            }
        }
    }

    fn len(&self) -> usize {
        self.slots.iter().map(|slot| slot.requests.len()).sum()
    }
}

impl ReplayEntry {
    /// Returns the entry as a record for another process.
    pub fn to_bytes(self) -> SyncRecord {
        (u128::from(self.request) << 64 | u128::from(self.slot)).to_be_bytes()
    }

    /// Parses a record made by [`Self::to_bytes`].
    #[allow(clippy::cast_possible_truncation, reason = "two halves of 64 bits")]
    pub const fn from_bytes(bytes: SyncRecord) -> Self {
        let both = u128::from_be_bytes(bytes);
        Self { request: (both >> 64) as u64, slot: both as u64 }
    }
}

const fn first_half([a, b, c, d, e, f, g, h, ..]: [u8; 16]) -> u64 {
    u64::from_be_bytes([a, b, c, d, e, f, g, h])
}

/// A hasher that returns the number itself, because random ids need no hashing.
#[derive(Default)]
struct IdentityHasher(u64);

impl Hasher for IdentityHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.0 = self.0.rotate_left(8) ^ u64::from(byte);
        }
    }

    fn write_u64(&mut self, number: u64) {
        self.0 = number;
    }
}

#[cfg(test)]
mod tests {
    use shared::key::KeyId;
    use shared::request_id::RequestId;
    use shared::tier::Tier;

    use super::*;

    const NOW: UnixMillis = UnixMillis(1_763_712_000_000);
    /// A start that was long ago.
    const START: UnixMillis = UnixMillis(NOW.0 - 60_000);

    fn grant(request: u64, issued_at: UnixMillis) -> Grant {
        let mut id = [0; 16];
        // An odd multiplier spreads small numbers over all bits, as in random ids.
        id[..8].copy_from_slice(&request.wrapping_mul(0x9E37_79B9_7F4A_7C15).to_be_bytes());
        let (key_id, request_id) = (KeyId::new([1; 12]), RequestId(id));
        Grant { key_id, secret_id: None, tier: Tier::Free, request_id, issued_at }
    }

    #[test]
    fn grant_is_usable_once_while_it_is_valid() {
        let cache = ReplayCache::new(1_000, START);
        for issued_at in [NOW, NOW.minus(VALID_MS), NOW.plus(VALID_MS)] {
            let grant = grant(issued_at.0, issued_at);
            assert_eq!(cache.first_use(&grant, StoredUse::Unknown, NOW), FirstUse::Yes);
            let until = issued_at.plus(VALID_MS);
            for later in [NOW, until.minus(1), until] {
                assert_eq!(
                    cache.first_use(&grant, StoredUse::Unknown, later),
                    FirstUse::No,
                    "issued {issued_at:?}, again {later:?}"
                );
            }
        }
    }

    #[test]
    fn grant_from_before_the_start_is_forgotten_unless_others_know_it() {
        let cache = ReplayCache::new(1_000, NOW);
        let oldest = NOW.minus(CLOCK_ALLOWANCE_MS);
        let older = grant(1, oldest.minus(1));
        assert_eq!(cache.first_use(&older, StoredUse::Unknown, NOW), FirstUse::Forgotten);
        assert_eq!(cache.first_use(&grant(2, oldest), StoredUse::Unknown, NOW), FirstUse::Yes);
        assert_eq!(cache.first_use(&older, StoredUse::Repeated, NOW), FirstUse::No);
        assert_eq!(cache.first_use(&older, StoredUse::First, NOW), FirstUse::Yes);
        assert_eq!(cache.first_use(&older, StoredUse::First, NOW), FirstUse::No, "the store was emptied");
        let successor = ReplayCache::new(1_000, NOW.plus(10_000));
        successor.take_over(cache.known_since());
        assert_eq!(
            successor.first_use(&grant(3, oldest), StoredUse::Unknown, NOW.plus(10_000)),
            FirstUse::Yes
        );
        assert_eq!(successor.first_use(&older, StoredUse::Unknown, NOW.plus(10_000)), FirstUse::Forgotten);
    }

    #[test]
    fn entries_and_later_uses_reach_the_other_process() {
        let (old, new) = (ReplayCache::new(1_000, START), ReplayCache::new(1_000, START));
        let grants: Vec<_> = (0..100).map(|n| grant(n, NOW.plus(n * 200))).collect();
        let (before, after) = grants.split_at(50);
        assert!(before.iter().all(|grant| old.first_use(grant, StoredUse::Unknown, NOW) == FirstUse::Yes));
        let (other, mut mirrored) = mpsc::channel(100);
        old.mirror_to(Some(other));
        assert!(after.iter().all(|grant| old.first_use(grant, StoredUse::Unknown, NOW) == FirstUse::Yes));
        let insert = |entry: ReplayEntry| new.insert(ReplayEntry::from_bytes(entry.to_bytes()));
        old.entries().flatten().for_each(insert);
        assert!(grants.iter().all(|grant| new.first_use(grant, StoredUse::Unknown, NOW) == FirstUse::No));
        let mut late = 0;
        while let Ok(record) = mirrored.try_recv() {
            insert(ReplayEntry::from_bytes(record));
            late += 1;
        }
        assert_eq!((late, new.len()), (50, 100));
    }

    #[test]
    fn full_cache_refuses_until_entries_expire() {
        let cache = ReplayCache::new(640, START);
        let admitted = (0..10_000)
            .filter(|&n| cache.first_use(&grant(n, NOW), StoredUse::Unknown, NOW) == FirstUse::Yes)
            .count();
        assert!(admitted <= 640 && cache.len() == admitted, "{admitted}");
        assert_eq!(cache.first_use(&grant(20_000, NOW), StoredUse::Unknown, NOW), FirstUse::Unknown);
        let later = NOW.plus(2 * VALID_MS);
        assert_eq!(cache.first_use(&grant(20_000, later), StoredUse::Unknown, later), FirstUse::Yes);
        assert!(cache.len() < admitted);
    }
}
