//! Remembers requests for as long as their grants are good, so that none is made twice.

use std::{
    collections::HashSet,
    hash::{BuildHasherDefault, Hasher},
};

use parking_lot::Mutex;
use shared::{
    grant::{Grant, VALID_MS},
    time::UnixMillis,
};

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
        Self { shards: std::iter::repeat_with(shard).take(SHARDS).collect() }
    }

    /// Whether this is the first use of a grant that is good at `now`. The first use is remembered.
    pub fn first_use(&self, grant: &Grant, now: UnixMillis) -> FirstUse {
        let request = first_half(grant.request_id.0);
        // Bits from the middle: a table of hashes uses the lowest and the highest.
        let shard = usize::try_from(request >> 32).ok().and_then(|number| self.shards.get(number % SHARDS));
        shard.map_or(FirstUse::Unknown, |shard| shard.lock().first_use(request, grant.issued_at, now))
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
