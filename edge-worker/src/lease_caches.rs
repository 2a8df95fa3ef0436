//! The isolate's memory of keys: a holder for each key in use. It may be lost at any moment, and is bounded.

use std::{cell::RefCell, collections::BTreeMap};

use shared::{
    key::{KeyId, KeyRecord},
    lease_cache::LeaseCache,
    time::UnixMillis,
};

use crate::entropy;

/// Most keys that are remembered at once.
const MOST: usize = 4_096;

thread_local! {
    static HOLDERS: RefCell<Holders> = const { RefCell::new(Holders { keys: BTreeMap::new() }) };
}

struct Holders {
    keys: BTreeMap<KeyId, Remembered>,
}

struct Remembered {
    holder: LeaseCache,
    used: UnixMillis,
    /// When a request that is already waiting in the background will report.
    report_due: Option<UnixMillis>,
}

/// Runs `step` on the key's holder. `step` cannot wait, so nothing is borrowed while anyone does.
pub(crate) fn with<T>(
    key: &KeyId,
    now: UnixMillis,
    step: impl FnOnce(&mut LeaseCache) -> T,
) -> worker::Result<T> {
    let id = || Ok(u64::from_be_bytes(entropy::random()?));
    HOLDERS.with_borrow_mut(|holders| Ok(step(&mut holders.of(key, now, id)?.holder)))
}

/// Takes on the duty to report at `due`, unless somebody will have done so by then.
pub(crate) fn take_on_report(key: &KeyId, due: UnixMillis, now: UnixMillis) -> bool {
    HOLDERS.with_borrow_mut(|holders| {
        let Some(remembered) = holders.keys.get_mut(key) else { return false };
        // Who was to report before now and has not is gone: its request was cancelled.
        let taken = remembered.report_due.is_some_and(|other| now < other && other <= due);
        if !taken {
            remembered.report_due = Some(due);
        }
        !taken
    })
}

/// Tells the key's holder, if it has one here, of a change.
pub(crate) fn learn(record: &KeyRecord) {
    HOLDERS.with_borrow_mut(|holders| {
        if let Some(remembered) = holders.keys.get_mut(&record.id) {
            remembered.holder.learn(record.clone());
        }
    });
}

/// Drops what is known of a key.
pub(crate) fn forget(key: &KeyId) {
    HOLDERS.with_borrow_mut(|holders| holders.keys.remove(key));
}

impl Holders {
    /// The key's holder, with a name of its own if it is new: a meter takes what one holder asks or reports once,
    /// and one that was forgotten begins to count anew.
    fn of(
        &mut self,
        key: &KeyId,
        now: UnixMillis,
        id: impl FnOnce() -> worker::Result<u64>,
    ) -> worker::Result<&mut Remembered> {
        if !self.keys.contains_key(key) {
            self.make_room();
            let new = Remembered { holder: LeaseCache::new(id()?), used: now, report_due: None };
            self.keys.insert(*key, new);
        }
        let remembered = self.keys.get_mut(key).ok_or("a holder was lost")?;
        remembered.used = now;
        Ok(remembered)
    }

    /// Forgets the half that was used longest ago, once there are too many: the idle ones first, and when none
    /// are idle any, whose leases then count as spent.
    fn make_room(&mut self) {
        if self.keys.len() < MOST {
            return;
        }
        let mut ages: Vec<_> = self.keys.iter().map(|(key, r)| (!r.holder.is_idle(), r.used, *key)).collect();
        ages.sort_unstable();
        for (_, _, key) in ages.into_iter().take(MOST / 2) {
            self.keys.remove(&key);
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
    fn the_memory_is_bounded_and_keeps_what_was_used_last() {
        let mut holders = Holders { keys: BTreeMap::new() };
        let most = u32::try_from(MOST).unwrap();
        for n in 0..most + 1 {
            holders.of(&key(n), UnixMillis(n.into()), || Ok(n.into())).unwrap();
        }
        assert_eq!(holders.keys.len(), MOST / 2 + 1);
        assert!(!holders.keys.contains_key(&key(0)) && holders.keys.contains_key(&key(most)));
    }
}
