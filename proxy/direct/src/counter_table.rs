//! An open-addressing hash table from key id to counter. A slot holds a 32-bit tag and an index
//! into chunks of 64 entries, so growth never moves counters and a lookup costs about two cache
//! misses.

use std::num::NonZeroU32;

use shared::counter::Counter;
use shared::key::KeyId;

/// The hash table. With the counters in the slots, growth would copy them all and fragment memory.
/// Without tags, a lookup would read the counters of other keys.
#[derive(Default)]
pub(super) struct CounterTable {
    /// Each entry is in the first free slot from its home slot on (linear probing).
    slots: Vec<Option<Slot>>,
    /// All chunks but the last are full.
    chunks: Vec<Vec<(KeyId, Counter)>>,
}

/// The tag of a key and the index of its counter, from 1.
#[derive(Clone, Copy)]
struct Slot {
    tag: u32,
    number: NonZeroU32,
}

const CHUNK: usize = 64;
/// The maximum load factor. Beyond it, probe sequences grow long.
const MAX_LOAD: (usize, usize) = (4, 5);
/// Grows by a quarter.
const GROWTH: usize = 4;
const MIN_SLOTS: usize = 8;

impl CounterTable {
    pub(super) fn len(&self) -> usize {
        self.chunks.split_last().map_or(0, |(last, full)| full.len() * CHUNK + last.len())
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &(KeyId, Counter)> {
        self.chunks.iter().flatten()
    }

    /// Returns the counter of a key.
    pub(super) fn find(&self, id: &KeyId) -> Option<&Counter> {
        self.slot(id).and_then(|slot| self.at(slot)).map(|(_, counter)| counter)
    }

    /// Runs `work` on the counter of a key. Creates the counter if there is none.
    pub(super) fn with<T>(&mut self, id: &KeyId, work: impl FnOnce(&mut Counter) -> T) -> T {
        let slot = self.slot(id).or_else(|| self.push(*id, Counter::default()));
        let counter = slot.and_then(|slot| {
            let (chunk, within) = slot.parts();
            self.chunks.get_mut(chunk)?.get_mut(within)
        });
        match counter {
            Some((_, counter)) => work(counter),
            // Unreachable with fewer than 2^32 keys: every slot names an existing entry.
            None => work(&mut Counter::default()),
        }
    }

    /// Removes the counters for which `keep` returns false.
    pub(super) fn retain(&mut self, keep: impl Fn(&Counter) -> bool) {
        // Each save asks all shards, and mostly nothing is over. Built anew each time, the table
        // would be copied every two seconds.
        if self.iter().all(|(_, counter)| keep(counter)) {
            return;
        }
        for (id, counter) in std::mem::take(self).chunks.into_iter().flatten() {
            if keep(&counter) {
                self.push(id, counter);
            }
        }
    }

    fn slot(&self, id: &KeyId) -> Option<Slot> {
        let tag = tag(id);
        let is_own = |slot: &Slot| slot.tag == tag && self.at(*slot).is_some_and(|(own, _)| own == id);
        // The first free slot ends the search. That is right only because no slot is ever freed
        // alone: `retain` builds the table anew.
        from(&self.slots, home(id, self.slots.len())).map_while(|slot| *slot).find(is_own)
    }

    fn at(&self, slot: Slot) -> Option<&(KeyId, Counter)> {
        let (chunk, within) = slot.parts();
        self.chunks.get(chunk)?.get(within)
    }

    fn push(&mut self, id: KeyId, counter: Counter) -> Option<Slot> {
        let used = self.len();
        if used >= self.slots.len() * MAX_LOAD.0 / MAX_LOAD.1 {
            self.grow();
        }
        let slot = Slot::of(&id, used + 1)?;
        match self.chunks.last_mut().filter(|chunk| chunk.len() < CHUNK) {
            Some(chunk) => chunk.push((id, counter)),
            None => {
                let mut chunk = Vec::with_capacity(CHUNK);
                chunk.push((id, counter));
                self.chunks.push(chunk);
            }
        }
        insert(&mut self.slots, &id, slot);
        Some(slot)
    }

    fn grow(&mut self) {
        let mut slots = vec![None; self.slots.len() + self.slots.len() / GROWTH + MIN_SLOTS];
        for (number, (id, _)) in (1..).zip(self.iter()) {
            Slot::of(id, number).into_iter().for_each(|slot| insert(&mut slots, id, slot));
        }
        self.slots = slots;
    }
}

impl Slot {
    /// Returns the slot of the counter with this number. The first number is 1.
    fn of(id: &KeyId, number: usize) -> Option<Self> {
        Some(Self { tag: tag(id), number: NonZeroU32::new(u32::try_from(number).ok()?)? })
    }

    /// Returns the index of the chunk and the index within it.
    fn parts(self) -> (usize, usize) {
        let number = usize::try_from(self.number.get() - 1).unwrap_or(usize::MAX);
        (number / CHUNK, number % CHUNK)
    }
}

/// Inserts the slot of a new key. There is a free slot.
fn insert(slots: &mut [Option<Slot>], id: &KeyId, slot: Slot) {
    let (before, after) = slots.split_at_mut(home(id, slots.len()));
    if let Some(free) = after.iter_mut().chain(before).find(|slot| slot.is_none()) {
        *free = Some(slot);
    }
}

/// Returns all slots once, starting with `first`.
fn from<T>(slots: &[T], first: usize) -> impl Iterator<Item = &T> {
    let (before, after) = slots.split_at_checked(first).unwrap_or((slots, &[]));
    after.iter().chain(before)
}

/// Returns the tag of a key: other bytes of the id than [`home`] uses.
const fn tag(id: &KeyId) -> u32 {
    let [_, _, _, _, e, f, g, h, ..] = *id.as_bytes();
    u32::from_be_bytes([e, f, g, h])
}

/// Returns the home slot of a key. Ids are random and protected by the MAC of the key, so clients
/// cannot choose colliding ones. The last byte of an id chooses the shard.
fn home(id: &KeyId, slots: usize) -> usize {
    let [a, b, c, d, ..] = *id.as_bytes();
    let part = u64::from(u32::from_be_bytes([a, b, c, d]));
    let slot = (part * u64::try_from(slots).unwrap_or(u64::MAX)) >> 32;
    usize::try_from(slot).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use shared::policy::Policy;
    use shared::tier::Tier;
    use shared::time::UnixMillis;

    use super::*;

    const NOW: UnixMillis = UnixMillis(1_763_712_000_000);

    fn id(n: u32) -> KeyId {
        let mut bytes = [0; 12];
        // An odd multiplier spreads small numbers over all bits, as random ids are.
        bytes[..8].copy_from_slice(&u64::from(n).wrapping_mul(0x9E37_79B9_7F4A_7C15).to_be_bytes());
        KeyId::new(bytes)
    }

    #[test]
    fn counters_are_separate_and_survive_removal_of_others() {
        let policy = Policy::for_tier(Tier::Enterprise);
        let mut counters = CounterTable::default();
        for n in 0..10_000 {
            let at = if n % 3 == 0 { NOW.plus(3 * 86_400_000) } else { NOW };
            (0..=n % 5).for_each(|_| {
                counters.with(&id(n), |counter| counter.admit(&policy, at));
            });
        }
        let later = NOW.plus(3 * 86_400_000);
        assert_eq!(counters.len(), 10_000);
        counters.retain(|counter| !counter.is_over(later));
        assert_eq!(counters.len(), 3_334);
        for n in 0..10_000 {
            let found = counters.find(&id(n)).cloned();
            let used = found.map(|counter| shared::quota::Counts::in_day(&counter));
            assert_eq!(used, (n % 3 == 0).then_some(n % 5 + 1), "{n}");
        }
    }

    #[test]
    fn colliding_keys_probe_further_and_wrap_around() {
        let mut counters = CounterTable::default();
        let last = |n: u8| {
            let mut bytes = [0xff; 12];
            bytes[11] = n;
            KeyId::new(bytes)
        };
        for n in 0..200 {
            counters.with(&last(n), |counter| counter.count(NOW.plus(u64::from(n))));
            assert!(counters.slots.len() > counters.len(), "{n}");
        }
        assert_eq!(counters.len(), 200);
        assert!((0..200).all(|n| counters.find(&last(n)).is_some()) && counters.find(&last(200)).is_none());
        counters.retain(|_| false);
        assert_eq!((counters.len(), counters.slots.len()), (0, 0));
    }

    #[test]
    fn table_size_stays_near_its_content() {
        assert_eq!((size_of::<Option<Slot>>(), size_of::<(KeyId, Counter)>()), (8, 88));
        let mut counters = CounterTable::default();
        for n in 0..100_000 {
            counters.with(&id(n), |counter| counter.count(NOW));
            assert!(n < 100 || counters.slots.len() <= counters.len() * 5 / 3, "{n}");
        }
    }
}
