//! A table of counters that is small for each of them, and finds one with little more than a look at it.

use shared::{counter::Counter, key::KeyId};

/// Counters in the places of one vector, each at the first free place from where its id points to. A table of places
/// beside the counters, or control bytes as general tables have, would be another part of memory that nothing has
/// touched since the key's last call.
#[derive(Default)]
pub(super) struct Counters {
    places: Vec<Option<(KeyId, Counter)>>,
    used: usize,
}

/// Of so many places at most this part is used: beyond it, looks grow longer.
const FULL: (usize, usize) = (4, 5);
/// By a quarter, since what is added is empty at first: so a table of some size is never less than 62 % full.
const GROWTH: usize = 4;
const LEAST: usize = 8;

impl Counters {
    pub(super) const fn len(&self) -> usize {
        self.used
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &(KeyId, Counter)> {
        self.places.iter().flatten()
    }

    /// The counter of a key, if it has one.
    pub(super) fn find(&self, id: &KeyId) -> Option<&Counter> {
        self.places.get(self.place(id)?)?.as_ref().map(|(_, counter)| counter)
    }

    /// Has `work` done on the counter of a key, a new one if it has none.
    pub(super) fn with<T>(&mut self, id: &KeyId, work: impl FnOnce(&mut Counter) -> T) -> T {
        if self.find(id).is_none() {
            self.make_room();
            self.used += 1;
        }
        match self.place(id).and_then(|place| self.places.get_mut(place)) {
            Some(own) => work(&mut own.get_or_insert_with(|| (*id, Counter::default())).1),
            // A table that is never full has a place.
            None => work(&mut Counter::default()),
        }
    }

    /// Drops the counters that are not to be kept.
    pub(super) fn retain(&mut self, keep: impl Fn(&Counter) -> bool) {
        let kept = self.iter().filter(|(_, counter)| keep(counter)).count();
        if kept < self.used {
            self.rebuild(kept * FULL.1 / FULL.0 + LEAST, keep);
        }
    }

    fn make_room(&mut self) {
        let places = self.places.len();
        if self.used >= places * FULL.0 / FULL.1 {
            self.rebuild(places + places / GROWTH + LEAST, |_| true);
        }
    }

    fn rebuild(&mut self, size: usize, keep: impl Fn(&Counter) -> bool) {
        let mut places = Vec::new();
        places.resize_with(size, || None);
        let before = std::mem::replace(self, Self { places, used: 0 });
        for (id, counter) in before.places.into_iter().flatten().filter(|(_, counter)| keep(counter)) {
            self.used += 1;
            if let Some(place) = self.place(&id).and_then(|place| self.places.get_mut(place)) {
                *place = Some((id, counter));
            }
        }
    }

    /// Where the key's counter is, or is to be; `None` in a table without places.
    fn place(&self, id: &KeyId) -> Option<usize> {
        let first = home(id, self.places.len());
        let ends = |place: &usize| {
            self.places.get(*place).is_some_and(|own| own.as_ref().is_none_or(|(own, _)| own == id))
        };
        (first..self.places.len()).chain(0..first).find(ends)
    }
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
        assert_eq!((counters.len(), counters.places.len()), (0, LEAST));
    }

    #[test]
    fn a_table_is_never_much_larger_than_what_is_in_it() {
        assert_eq!(size_of::<Option<(KeyId, Counter)>>(), 88);
        let mut counters = Counters::default();
        for n in 0..100_000 {
            counters.with(&id(n), |counter| counter.count(NOW));
            assert!(n < 100 || counters.places.len() <= counters.len() * 5 / 3, "{n}");
        }
    }
}
