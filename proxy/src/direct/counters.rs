//! A table of counters that is small for each of them.

use hashbrown::HashTable;
use shared::{counter::Counter, key::KeyId};

/// Counters in pieces of one size, found by a table of their places. A table with the counters in itself would be
/// half empty after each time it grows, and copy them all.
#[derive(Default)]
pub(super) struct Counters {
    places: HashTable<u32>,
    pieces: Vec<Vec<(KeyId, Counter)>>,
}

const PIECE: usize = 64;

impl Counters {
    pub(super) fn len(&self) -> usize {
        self.places.len()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &(KeyId, Counter)> {
        self.pieces.iter().flatten()
    }

    /// The counter of a key, if it has one.
    pub(super) fn find(&self, id: &KeyId) -> Option<&Counter> {
        let (piece, within) = self.place(id)?;
        self.pieces.get(piece)?.get(within).map(|(_, counter)| counter)
    }

    /// Has `work` done on the counter of a key, a new one if it has none.
    pub(super) fn with<T>(&mut self, id: &KeyId, work: impl FnOnce(&mut Counter) -> T) -> T {
        let (piece, within) = self.place(id).unwrap_or_else(|| self.push(*id, Counter::default()));
        match self.pieces.get_mut(piece).and_then(|piece| piece.get_mut(within)) {
            Some((_, counter)) => work(counter),
            // The table names no place where nothing is.
            None => work(&mut Counter::default()),
        }
    }

    /// Drops the counters that are not to be kept.
    pub(super) fn retain(&mut self, keep: impl Fn(&Counter) -> bool) {
        if self.iter().all(|(_, counter)| keep(counter)) {
            return;
        }
        for (id, counter) in std::mem::take(self).pieces.into_iter().flatten() {
            if keep(&counter) {
                self.push(id, counter);
            }
        }
    }

    fn place(&self, id: &KeyId) -> Option<(usize, usize)> {
        let is_own =
            |&place: &u32| self.pieces.get(parts(place).0)?.get(parts(place).1).map(|(own, _)| own == id);
        self.places.find(hash(id), |place| is_own(place).unwrap_or(false)).copied().map(parts)
    }

    fn push(&mut self, id: KeyId, counter: Counter) -> (usize, usize) {
        let Self { places, pieces } = self;
        let place = u32::try_from(places.len()).unwrap_or(u32::MAX);
        match pieces.last_mut().filter(|piece| piece.len() < PIECE) {
            Some(piece) => piece.push((id, counter)),
            None => {
                let mut piece = Vec::with_capacity(PIECE);
                piece.push((id, counter));
                pieces.push(piece);
            }
        }
        places.insert_unique(hash(&id), place, |&place| {
            pieces
                .get(parts(place).0)
                .and_then(|piece| piece.get(parts(place).1))
                .map_or(0, |(id, _)| hash(id))
        });
        parts(place)
    }
}

fn parts(place: u32) -> (usize, usize) {
    let place = usize::try_from(place).unwrap_or(usize::MAX);
    (place / PIECE, place % PIECE)
}

/// Ids are random and under the key's MAC, so that nobody can choose two that meet. The last byte chooses the shard.
fn hash(id: &KeyId) -> u64 {
    let [a, b, c, d, e, f, g, h, ..] = *id.as_bytes();
    u64::from_ne_bytes([a, b, c, d, e, f, g, h])
}

#[cfg(test)]
mod tests {
    use shared::{policy::Policy, tier::Tier, time::UnixMillis};

    use super::*;

    const NOW: UnixMillis = UnixMillis(1_763_712_000_000);

    fn id(n: u32) -> KeyId {
        let mut bytes = [0; 12];
        // An odd multiplier spreads small numbers over all bits, as random ids are.
        bytes[..8].copy_from_slice(&u64::from(n).wrapping_mul(0x9E37_79B9_7F4A_7C15).to_ne_bytes());
        KeyId::new(bytes)
    }

    #[test]
    fn each_key_has_its_own_counter_and_keeps_it_while_others_go() {
        let policy = Policy::for_tier(Tier::Enterprise);
        let mut counters = Counters::default();
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
}
