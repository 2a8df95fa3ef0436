//! A table of counters that is small for each of them, and finds one with few looks at what nothing has touched since the
//! key's last call.

use std::num::NonZeroU32;

use shared::{counter::Counter, key::KeyId};

/// Counters in pieces of one size, and where each is. A table with the counters in itself would copy them all each time
/// it grows, and leave what it was as holes in memory; one that does not tell most keys apart by itself would look at the
/// counters of others.
#[derive(Default)]
pub(super) struct Counters {
    /// Each at the first free place from where its id points to.
    places: Vec<Option<Place>>,
    /// All but the last are full.
    pieces: Vec<Vec<(KeyId, Counter)>>,
}

/// Where a counter is, and what its key has that few others have.
#[derive(Clone, Copy)]
struct Place {
    tag: u32,
    number: NonZeroU32,
}

const PIECE: usize = 64;
/// Of the places at most this part is used: beyond it, looks grow longer.
const FULL: (usize, usize) = (4, 5);
/// By a quarter, since what is added is empty at first.
const GROWTH: usize = 4;
const LEAST: usize = 8;

impl Counters {
    pub(super) fn len(&self) -> usize {
        self.pieces.split_last().map_or(0, |(last, full)| full.len() * PIECE + last.len())
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &(KeyId, Counter)> {
        self.pieces.iter().flatten()
    }

    /// The counter of a key, if it has one.
    pub(super) fn find(&self, id: &KeyId) -> Option<&Counter> {
        self.place(id).and_then(|place| self.at(place)).map(|(_, counter)| counter)
    }

    /// Has `work` done on the counter of a key, a new one if it has none.
    pub(super) fn with<T>(&mut self, id: &KeyId, work: impl FnOnce(&mut Counter) -> T) -> T {
        let place = self.place(id).or_else(|| self.push(*id, Counter::default()));
        let counter = place.and_then(|place| {
            let (piece, within) = place.parts();
            self.pieces.get_mut(piece)?.get_mut(within)
        });
        match counter {
            Some((_, counter)) => work(counter),
            // Nobody has four thousand million keys, and the table names no place where nothing is.
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

    fn place(&self, id: &KeyId) -> Option<Place> {
        let tag = tag(id);
        let is_own = |place: &Place| place.tag == tag && self.at(*place).is_some_and(|(own, _)| own == id);
        from(&self.places, home(id, self.places.len())).map_while(|place| *place).find(is_own)
    }

    fn at(&self, place: Place) -> Option<&(KeyId, Counter)> {
        let (piece, within) = place.parts();
        self.pieces.get(piece)?.get(within)
    }

    fn push(&mut self, id: KeyId, counter: Counter) -> Option<Place> {
        let used = self.len();
        if used >= self.places.len() * FULL.0 / FULL.1 {
            self.grow();
        }
        let place = Place::of(&id, used + 1)?;
        match self.pieces.last_mut().filter(|piece| piece.len() < PIECE) {
            Some(piece) => piece.push((id, counter)),
            None => {
                let mut piece = Vec::with_capacity(PIECE);
                piece.push((id, counter));
                self.pieces.push(piece);
            }
        }
        note(&mut self.places, &id, place);
        Some(place)
    }

    fn grow(&mut self) {
        let mut places = vec![None; self.places.len() + self.places.len() / GROWTH + LEAST];
        for (number, (id, _)) in (1..).zip(self.iter()) {
            Place::of(id, number).into_iter().for_each(|place| note(&mut places, id, place));
        }
        self.places = places;
    }
}

impl Place {
    /// Of the counter with this number, the first of which is 1.
    fn of(id: &KeyId, number: usize) -> Option<Self> {
        Some(Self { tag: tag(id), number: NonZeroU32::new(u32::try_from(number).ok()?)? })
    }

    /// The number of the piece, and of the counter in it.
    fn parts(self) -> (usize, usize) {
        let number = usize::try_from(self.number.get() - 1).unwrap_or(usize::MAX);
        (number / PIECE, number % PIECE)
    }
}

/// Notes where the counter of a key is that was not noted before. There is a free place.
fn note(places: &mut [Option<Place>], id: &KeyId, place: Place) {
    let (before, after) = places.split_at_mut(home(id, places.len()));
    if let Some(free) = after.iter_mut().chain(before).find(|place| place.is_none()) {
        *free = Some(place);
    }
}

/// All of the places, in turn, from one of them on.
fn from<T>(places: &[T], first: usize) -> impl Iterator<Item = &T> {
    let (before, after) = places.split_at_checked(first).unwrap_or((places, &[]));
    after.iter().chain(before)
}

/// Other bytes of the id than [`home`] goes by.
const fn tag(id: &KeyId) -> u32 {
    let [_, _, _, _, e, f, g, h, ..] = *id.as_bytes();
    u32::from_be_bytes([e, f, g, h])
}

/// The part of the table that the id points to. Ids are random and under the key's MAC, so that nobody can choose some
/// that meet. Their last byte chooses the shard.
fn home(id: &KeyId, places: usize) -> usize {
    let [a, b, c, d, ..] = *id.as_bytes();
    let part = u64::from(u32::from_be_bytes([a, b, c, d]));
    let place = (part * u64::try_from(places).unwrap_or(u64::MAX)) >> 32;
    usize::try_from(place).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use shared::{policy::Policy, tier::Tier, time::UnixMillis};

    use super::*;

    const NOW: UnixMillis = UnixMillis(1_763_712_000_000);

    fn id(n: u32) -> KeyId {
        let mut bytes = [0; 12];
        // An odd multiplier spreads small numbers over all bits, as random ids are.
        bytes[..8].copy_from_slice(&u64::from(n).wrapping_mul(0x9E37_79B9_7F4A_7C15).to_be_bytes());
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

    #[test]
    fn keys_that_point_to_one_place_go_on_to_others_and_past_the_end() {
        let mut counters = Counters::default();
        let last = |n: u8| {
            let mut bytes = [0xff; 12];
            bytes[11] = n;
            KeyId::new(bytes)
        };
        for n in 0..200 {
            counters.with(&last(n), |counter| counter.count(NOW.plus(u64::from(n))));
            assert!(counters.places.len() > counters.len(), "{n}");
        }
        assert_eq!(counters.len(), 200);
        assert!((0..200).all(|n| counters.find(&last(n)).is_some()) && counters.find(&last(200)).is_none());
        counters.retain(|_| false);
        assert_eq!((counters.len(), counters.places.len()), (0, 0));
    }

    #[test]
    fn a_table_is_never_much_larger_than_what_is_in_it() {
        assert_eq!((size_of::<Option<Place>>(), size_of::<(KeyId, Counter)>()), (8, 88));
        let mut counters = Counters::default();
        for n in 0..100_000 {
            counters.with(&id(n), |counter| counter.count(NOW));
            assert!(n < 100 || counters.places.len() <= counters.len() * 5 / 3, "{n}");
        }
    }
}
