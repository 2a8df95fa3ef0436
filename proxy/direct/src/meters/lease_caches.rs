//! The table of lease caches: one for each key in use, in shards so that calls of different keys
//! hardly ever wait for each other. Each shard knows when its reports are due.

use std::collections::{BTreeSet, HashMap, hash_map};

use parking_lot::Mutex;
use shared::key::{KeyId, KeyRecord, VerifiedKey};
use shared::lease_cache::LeaseCache;
use shared::meter::MeterRequest;
use shared::time::UnixMillis;

const SHARDS: usize = 256;
/// Maximum number of caches in a shard: about a million in all.
const MAX_CACHES: usize = 4_096;
/// Time without a call after which an idle cache is dropped, in milliseconds. Its share of the local
/// budget would be given to others then.
const KEEP_MS: u64 = 600_000;

/// A sharded table of lease caches by key.
pub(super) struct LeaseCaches {
    shards: Vec<Mutex<Shard>>,
}

/// A report that is due, for the meter of a key.
pub(super) struct DueReport {
    pub(super) key: VerifiedKey,
    pub(super) request: MeterRequest,
}

#[derive(Default)]
struct Shard {
    entries: HashMap<KeyId, Entry>,
    /// The moments at which reports are due. One entry for each cache with something to report.
    due: BTreeSet<(UnixMillis, KeyId)>,
}

struct Entry {
    cache: LeaseCache,
    /// The key of the last call, which reports need.
    key: VerifiedKey,
    used_at: UnixMillis,
    /// The moment of its entry in [`Shard::due`].
    due: Option<UnixMillis>,
}

impl Default for LeaseCaches {
    fn default() -> Self {
        Self { shards: std::iter::repeat_with(Mutex::default).take(SHARDS).collect() }
    }
}

impl LeaseCaches {
    /// Runs `step` on the key's cache, which is created if there is none.
    pub(super) fn with<T>(
        &self,
        key: &VerifiedKey,
        now: UnixMillis,
        step: impl FnOnce(&mut LeaseCache) -> T,
    ) -> T {
        self.shard(&key.id, |shard| {
            // Before the entry, or the new one would be among those that are evicted.
            shard.make_room(&key.id, now);
            let entry = match shard.entries.entry(key.id) {
                hash_map::Entry::Occupied(entry) => entry.into_mut(),
                hash_map::Entry::Vacant(place) => place.insert(Entry::new(key, now)),
            };
            (entry.key, entry.used_at) = (*key, now);
            let result = step(&mut entry.cache);
            // After each step, whatever it was: one that left something to report without a moment
            // would keep it until the key calls again.
            entry.schedule(&mut shard.due);
            result
        })
    }

    /// Stores a changed record in the key's cache, if there is one.
    pub(super) fn learn(&self, record: &KeyRecord) {
        self.shard(&record.id, |shard| {
            if let Some(entry) = shard.entries.get_mut(&record.id) {
                entry.cache.learn(record.clone());
            }
        });
    }

    /// Returns the reports that are due at `now`, each of which renews the lease of a key in use.
    pub(super) fn take_due(&self, now: UnixMillis) -> Vec<DueReport> {
        let mut reports = Vec::new();
        for shard in &self.shards {
            shard.lock().take_due(now, &mut reports);
        }
        reports
    }

    /// Returns the last reports of this process, which return all leases.
    pub(super) fn give_back(&self, now: UnixMillis) -> Vec<DueReport> {
        let mut reports = Vec::new();
        for shard in &self.shards {
            for Entry { cache, key, .. } in shard.lock().entries.values_mut() {
                let request = cache.give_back(key, now);
                reports.extend(request.map(|request| DueReport { key: *key, request }));
            }
        }
        reports
    }

    /// Drops the caches of one shard that hold nothing and were not used for long. Every shard has
    /// its turn.
    pub(super) fn expire(&self, turn: usize, now: UnixMillis) {
        if let Some(shard) = self.shards.get(turn % SHARDS) {
            shard.lock().retain(|entry| !entry.cache.is_idle() || now.since(entry.used_at) < KEEP_MS);
        }
    }

    /// Returns the number of caches.
    pub(super) fn len(&self) -> usize {
        self.shards.iter().map(|shard| shard.lock().entries.len()).sum()
    }

    fn shard<T>(&self, id: &KeyId, work: impl FnOnce(&mut Shard) -> T) -> T {
        // Ids are random, so each byte spreads keys evenly.
        let [.., place] = *id.as_bytes();
        match self.shards.get(usize::from(place)) {
            Some(shard) => work(&mut shard.lock()),
            // A byte has as many values as there are shards.
            None => work(&mut Shard::default()),
        }
    }
}

impl Shard {
    /// Evicts caches if the shard is full and the key has none. Those that hold nothing go first,
    /// then the least recently used half: their leases count as spent.
    fn make_room(&mut self, id: &KeyId, now: UnixMillis) {
        if self.entries.len() < MAX_CACHES || self.entries.contains_key(id) {
            return;
        }
        self.retain(|entry| !entry.cache.is_idle());
        if self.entries.len() < MAX_CACHES {
            return;
        }
        let mut ages: Vec<u64> = self.entries.values().map(|entry| now.since(entry.used_at)).collect();
        // Half of them at once. Evicted one by one, each new key would search a full shard.
        let middle = ages.len() / 2;
        let (_, oldest_kept, _) = ages.select_nth_unstable(middle);
        let oldest_kept = *oldest_kept;
        self.retain(|entry| now.since(entry.used_at) < oldest_kept);
    }

    fn retain(&mut self, keep: impl Fn(&Entry) -> bool) {
        let Self { entries, due } = self;
        entries.retain(|id, entry| {
            let kept = keep(entry);
            if !kept && let Some(at) = entry.due {
                // The set would grow with each cache that is evicted, and find none when its turn
                // comes.
                due.remove(&(at, *id));
            }
            kept
        });
    }

    fn take_due(&mut self, now: UnixMillis, reports: &mut Vec<DueReport>) {
        while self.due.first().is_some_and(|(at, _)| *at <= now) {
            let Some((_, id)) = self.due.pop_first() else { return };
            let Some(entry) = self.entries.get_mut(&id) else { continue };
            entry.due = None;
            let request = entry.cache.flush(&entry.key, true, now);
            reports.extend(request.map(|request| DueReport { key: entry.key, request }));
            // What was sent is due again if no response comes. Never at once, so that this ends.
            entry.schedule_after(now, &mut self.due);
        }
    }
}

impl Entry {
    fn new(key: &VerifiedKey, now: UnixMillis) -> Self {
        // The id must not repeat one of any proxy's: 64 random bits.
        let cache = LeaseCache::new(fastrand::u64(..));
        Self { cache, key: *key, used_at: now, due: None }
    }

    /// Schedules the next report, unless an earlier moment is scheduled: it looks again then.
    fn schedule(&mut self, all: &mut BTreeSet<(UnixMillis, KeyId)>) {
        let Some(at) = self.cache.flush_at() else { return };
        if self.due.is_none_or(|due| at < due) {
            // One entry for each cache: a second one would stay in the set after the cache has
            // gone.
            if let Some(due) = self.due.replace(at) {
                all.remove(&(due, self.key.id));
            }
            all.insert((at, self.key.id));
        }
    }

    fn schedule_after(&mut self, now: UnixMillis, all: &mut BTreeSet<(UnixMillis, KeyId)>) {
        if let Some(at) = self.cache.flush_at() {
            let at = at.max(now.plus(1));
            self.due = Some(at);
            all.insert((at, self.key.id));
        }
    }
}

#[cfg(test)]
mod tests {
    use shared::lease_cache::Step;
    use shared::meter::{Message, Meter, Reply};
    use shared::tier::Tier;
    use shared::tool::Tool;

    use super::*;

    const NOW: UnixMillis = UnixMillis(1_763_712_000_000);

    fn key(n: u32) -> VerifiedKey {
        let [a, b, c, d] = n.to_be_bytes();
        let id = KeyId::new([a, b, c, d, 0, 0, 0, 0, 0, 0, 0, 7]);
        let keys = shared::secret::MacKeys::parse("0123456789abcdef0123456789abcdef").unwrap();
        shared::key::ApiKey::mint(shared::key::KeyEnv::Live, id, Tier::Pro, NOW, [9; 16], &keys).1
    }

    #[test]
    fn lease_is_reported_when_it_ends_and_not_before() {
        let (caches, mut meter, key) = (LeaseCaches::default(), Meter::default(), key(1));
        let record = KeyRecord { version: 1, ..KeyRecord::provisional(&key) };
        for at in [NOW, NOW.plus(5), NOW.plus(10)] {
            caches.with(&key, at, |cache| {
                cache.learn(record.clone());
                if let Step::Ask(request, _) = cache.call(&key, Tool::Qr, at) {
                    let Reply::Ask(response) = meter.handle(Message::Ask(request.clone()), at) else {
                        unreachable!()
                    };
                    cache.handle_response(&request, at, &response, at);
                }
            });
        }
        assert!(caches.take_due(NOW.plus(9_000)).is_empty());
        let reports = caches.take_due(NOW.plus(9_600));
        let [report] = reports.as_slice() else { panic!("{} reports", reports.len()) };
        assert_eq!(report.key, key);
        assert!(!report.request.reports.is_empty() && report.request.rate > 0, "it renews the lease");
    }

    #[test]
    fn full_shard_drops_idle_caches_first() {
        let caches = LeaseCaches::default();
        for n in 0..=u32::try_from(MAX_CACHES).unwrap() {
            caches.with(&key(n), NOW, |cache| {
                if n < 10 {
                    cache.record_outcome(
                        Tool::Qr,
                        503,
                        true,
                        serde_json::from_str(r#"{"place":{"Day":20413}}"#).unwrap(),
                        NOW,
                    );
                }
            });
        }
        assert_eq!(caches.len(), 11);
        caches.expire(7, NOW.plus(KEEP_MS));
        assert_eq!(caches.len(), 10);
    }
}
