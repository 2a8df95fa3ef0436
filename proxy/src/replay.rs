//! Remembers requests for as long as their grants are good, so that none is made twice.

use std::{
    collections::HashSet,
    hash::{BuildHasherDefault, Hasher},
    sync::Arc,
};

use arc_swap::ArcSwapOption;
use parking_lot::Mutex;
use shared::{
    grant::{Grant, VALID_MS},
    time::UnixMillis,
};
use tokio::sync::mpsc;

use crate::upgrade::record::SyncRecord;

/// Whether a request may be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FirstUse {
    /// It was not seen before.
    Yes,
    /// It was.
    No,
    /// There is no room to remember it, so it must not be made.
    Unknown,
}

/// The requests of the grants that are still good. What it holds is bounded; when it is full it admits nothing new.
#[derive(Debug)]
pub struct ReplayCache {
    shards: Vec<Mutex<Shard>>,
    /// Another process that takes requests of the same grants, while there is one.
    other: ArcSwapOption<mpsc::Sender<SyncRecord>>,
}

/// A request that was made: what one process tells another of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seen {
    request: u64,
    /// The stretch of time in which its grant was issued.
    stretch: u64,
}

const SHARDS: usize = 64;
/// Grants issued within the same stretch of time are forgotten together.
const STRETCH_MS: u64 = 10_000;
/// Stretches in which a good grant can have been issued: 30 seconds before now to 30 after, and the one begun.
const STRETCHES: usize = (2 * VALID_MS / STRETCH_MS) as usize + 1;

#[derive(Debug)]
struct Shard {
    seen: [Stretch; STRETCHES],
    room: usize,
}

/// Requests whose grants were issued within one stretch, by the first half of their ids. The ids are random and
/// under the grant's MAC, so that nobody can choose two which share a half.
#[derive(Debug, Default)]
struct Stretch {
    number: u64,
    requests: HashSet<u64, BuildHasherDefault<AsIs>>,
}

impl ReplayCache {
    /// A cache that remembers at most about `capacity` requests.
    #[must_use]
    pub fn new(capacity: usize) -> Self {
        let room = capacity.div_ceil(SHARDS);
        let shard = || Mutex::new(Shard { seen: Default::default(), room });
        Self { shards: std::iter::repeat_with(shard).take(SHARDS).collect(), other: ArcSwapOption::empty() }
    }

    /// Whether this is the first use of a grant that is good at `now`. The first use is remembered.
    pub fn first_use(&self, grant: &Grant, now: UnixMillis) -> FirstUse {
        let request = first_half(grant.request_id.0);
        let first_use = self
            .shard(request)
            .map_or(FirstUse::Unknown, |shard| shard.lock().first_use(request, grant.issued_at, now));
        if let (FirstUse::Yes, Some(other)) = (first_use, &*self.other.load()) {
            // One that does not keep up, or is gone, is not waited for.
            let _told = other.try_send(Seen { request, stretch: grant.issued_at.0 / STRETCH_MS }.to_bytes());
        }
        first_use
    }

    fn shard(&self, request: u64) -> Option<&Mutex<Shard>> {
        // Bits from the middle: a table of hashes uses the lowest and the highest.
        usize::try_from(request >> 32).ok().and_then(|number| self.shards.get(number % SHARDS))
    }

    /// From now on another process is told of every request; `None` when there is no other any more.
    pub fn tell(&self, other: Option<mpsc::Sender<SyncRecord>>) {
        self.other.store(other.map(Arc::new));
    }

    /// Everything that is remembered, part by part.
    pub fn remembered(&self) -> impl Iterator<Item = Vec<Seen>> {
        self.shards.iter().map(|shard| shard.lock().remembered())
    }

    /// Remembers a request that another process was told to make.
    pub fn learn(&self, seen: Seen) {
        if let Some(shard) = self.shard(seen.request) {
            shard.lock().learn(seen);
        }
    }

    /// Requests that are remembered.
    #[must_use]
    pub fn len(&self) -> usize {
        self.shards.iter().map(|shard| shard.lock().len()).sum()
    }

    /// Whether nothing is remembered.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl Shard {
    fn first_use(&mut self, request: u64, issued_at: UnixMillis, now: UnixMillis) -> FirstUse {
        self.forget(now);
        let number = issued_at.0 / STRETCH_MS;
        let full = self.len() >= self.room;
        let place = usize::try_from(number % STRETCHES as u64).ok();
        let Some(stretch) = place.and_then(|place| self.seen.get_mut(place)) else {
            return FirstUse::Unknown;
        };
        if stretch.number != number {
            // What lies here belongs to grants that ended at least a stretch ago, or the clock went back.
            *stretch = Stretch { number, ..Stretch::default() };
        }
        if stretch.requests.contains(&request) {
            FirstUse::No
        } else if full {
            FirstUse::Unknown
        } else {
            stretch.requests.insert(request);
            FirstUse::Yes
        }
    }

    fn remembered(&self) -> Vec<Seen> {
        let of = |stretch: &Stretch| {
            let number = stretch.number;
            stretch.requests.iter().map(move |&request| Seen { request, stretch: number }).collect::<Vec<_>>()
        };
        self.seen.iter().flat_map(of).collect()
    }

    /// Room is not asked for: the other process had it.
    fn learn(&mut self, seen: Seen) {
        let place = usize::try_from(seen.stretch % STRETCHES as u64).ok();
        let Some(stretch) = place.and_then(|place| self.seen.get_mut(place)) else { return };
        if stretch.number < seen.stretch {
            *stretch = Stretch { number: seen.stretch, ..Stretch::default() };
        }
        if stretch.number == seen.stretch {
            stretch.requests.insert(seen.request);
        }
    }

    /// Frees the stretches whose grants have all ended.
    fn forget(&mut self, now: UnixMillis) {
        for stretch in &mut self.seen {
            let last_good = (stretch.number + 1).saturating_mul(STRETCH_MS).saturating_add(VALID_MS);
            if last_good < now.0 && !stretch.requests.is_empty() {
                stretch.requests = HashSet::default();
            }
        }
    }

    fn len(&self) -> usize {
        self.seen.iter().map(|stretch| stretch.requests.len()).sum()
    }
}

impl Seen {
    /// So many bytes hold one.
    pub const BYTES: usize = size_of::<SyncRecord>();

    /// As bytes, to be told.
    #[must_use]
    pub fn to_bytes(self) -> [u8; Self::BYTES] {
        (u128::from(self.request) << 64 | u128::from(self.stretch)).to_be_bytes()
    }

    /// What [`Self::to_bytes`] made.
    #[must_use]
    #[allow(clippy::cast_possible_truncation, reason = "two halves, each of which fits")]
    pub const fn from_bytes(bytes: [u8; Self::BYTES]) -> Self {
        let both = u128::from_be_bytes(bytes);
        Self { request: (both >> 64) as u64, stretch: both as u64 }
    }
}

const fn first_half([a, b, c, d, e, f, g, h, ..]: [u8; 16]) -> u64 {
    u64::from_be_bytes([a, b, c, d, e, f, g, h])
}

/// Random keys need no hashing.
#[derive(Default)]
struct AsIs(u64);

impl Hasher for AsIs {
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
    use shared::{key::KeyId, request_id::RequestId, tier::Tier};

    use super::*;

    const NOW: UnixMillis = UnixMillis(1_763_712_000_000);

    fn grant(request: u64, issued_at: UnixMillis) -> Grant {
        let mut id = [0; 16];
        // An odd multiplier spreads small numbers over all bits, as random ids are.
        id[..8].copy_from_slice(&request.wrapping_mul(0x9E37_79B9_7F4A_7C15).to_be_bytes());
        Grant { key_id: KeyId::new([1; 12]), tier: Tier::Free, request_id: RequestId(id), issued_at }
    }

    #[test]
    fn a_request_is_made_once_for_as_long_as_its_grant_is_good() {
        let cache = ReplayCache::new(1_000);
        for issued_at in [NOW, NOW.minus(VALID_MS), NOW.plus(VALID_MS)] {
            let grant = grant(issued_at.0, issued_at);
            assert_eq!(cache.first_use(&grant, NOW), FirstUse::Yes);
            let until = issued_at.plus(VALID_MS);
            for later in [NOW, until.minus(1), until] {
                assert_eq!(
                    cache.first_use(&grant, later),
                    FirstUse::No,
                    "issued {issued_at:?}, again {later:?}"
                );
            }
        }
    }

    #[test]
    fn what_one_process_remembers_another_learns() {
        let (old, new) = (ReplayCache::new(1_000), ReplayCache::new(1_000));
        let grants: Vec<_> = (0..100).map(|n| grant(n, NOW.plus(n * 200))).collect();
        let (before, after) = grants.split_at(50);
        assert!(before.iter().all(|grant| old.first_use(grant, NOW) == FirstUse::Yes));
        let (other, mut told) = mpsc::channel(100);
        old.tell(Some(other));
        assert!(after.iter().all(|grant| old.first_use(grant, NOW) == FirstUse::Yes));
        let learn = |seen: Seen| new.learn(Seen::from_bytes(seen.to_bytes()));
        old.remembered().flatten().for_each(learn);
        assert!(grants.iter().all(|grant| new.first_use(grant, NOW) == FirstUse::No));
        let mut late = 0;
        while let Ok(seen) = told.try_recv() {
            learn(Seen::from_bytes(seen));
            late += 1;
        }
        assert_eq!((late, new.len()), (50, 100));
    }

    #[test]
    fn nothing_new_is_admitted_when_the_cache_is_full_and_room_returns_with_time() {
        let cache = ReplayCache::new(640);
        let admitted = (0..10_000).filter(|&n| cache.first_use(&grant(n, NOW), NOW) == FirstUse::Yes).count();
        assert!(admitted <= 640 && cache.len() == admitted, "{admitted}");
        assert_eq!(cache.first_use(&grant(20_000, NOW), NOW), FirstUse::Unknown);
        let later = NOW.plus(2 * VALID_MS);
        assert_eq!(cache.first_use(&grant(20_000, later), later), FirstUse::Yes);
        assert!(cache.len() < admitted);
    }
}
