//! The numbers of the batches that were taken, so that each is taken once.
//!
//! Why: docs/decisions/limits.md, "A batch of refunds carries the moment of the response before
//! it".

use serde::{Deserialize, Serialize};

use super::Batch;
use crate::time::{UnixMillis, UtcDay};

/// Maximum number of lease caches whose batches are tracked.
const MAX_HOLDERS: usize = 1_024;
/// Number of lease caches that are tracked however long they are silent.
const MIN_HOLDERS: usize = 64;
/// Silence after which a lease cache is forgotten if there are more, in milliseconds. It keeps the
/// stored state of a key small whose isolates come and go all day.
const KEEP_MS: u64 = 600_000;

/// The last batch taken from each holder today.
///
/// A holder repeats a batch until it is acknowledged, so one that was forgotten might send a batch
/// again that was taken. Each batch therefore carries the moment up to which its holder had heard
/// from the meter before it was made, by the meter's clock. If that is later than the last batch of
/// every forgotten holder, the batch was never taken.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Batches {
    day: UtcDay,
    /// The holders, the one not heard of for longest first.
    holders: Vec<Holder>,
    /// The latest moment at which a forgotten holder's batch was taken.
    forgotten: UnixMillis,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "StoredHolder", into = "StoredHolder")]
struct Holder {
    id: u64,
    number: u32,
    at: UnixMillis,
}

/// Id, number, moment.
type StoredHolder = (u64, u32, UnixMillis);

impl Batches {
    /// Forgets the holders of another day. What they send again returns units of the same month.
    pub(super) fn roll(&mut self, day: UtcDay) {
        if self.day != day {
            let forgotten = self.holders.iter().map(|holder| holder.at).fold(self.forgotten, UnixMillis::max);
            *self = Self { day, forgotten, ..Self::default() };
        }
    }

    /// Records a batch from `holder`.
    pub(super) fn take(&mut self, holder: u64, batch: &Batch, now: UnixMillis) -> BatchOutcome {
        let taken = Holder { id: holder, number: batch.number, at: now };
        let known = self.holders.iter().position(|other| other.id == holder);
        match known.and_then(|place| Some((place, self.holders.get(place)?.number))) {
            // A cache sends a batch until it is acknowledged. Taken twice, its refunds would raise
            // the limit.
            Some((_, last)) if batch.number <= last => BatchOutcome::Duplicate,
            Some((place, _)) => {
                self.holders.remove(place);
                self.holders.push(taken);
                BatchOutcome::New
            }
            None => {
                // The cache is not known: it is new, or was forgotten and may repeat what was
                // taken.
                let is_new = batch.since > self.forgotten || self.forgotten == UnixMillis::default();
                self.holders.push(taken);
                self.forget(now);
                if is_new { BatchOutcome::New } else { BatchOutcome::Untracked }
            }
        }
    }

    /// Forgets the holders not heard of for longest.
    fn forget(&mut self, now: UnixMillis) {
        let silent = self.holders.iter().take_while(|holder| now.since(holder.at) > KEEP_MS).count();
        let spare = self.holders.len().saturating_sub(MIN_HOLDERS);
        let surplus = self.holders.len().saturating_sub(MAX_HOLDERS);
        for holder in self.holders.drain(..silent.min(spare).max(surplus)) {
            self.forgotten = self.forgotten.max(holder.at);
        }
    }
}

impl From<StoredHolder> for Holder {
    fn from((id, number, at): StoredHolder) -> Self {
        Self { id, number, at }
    }
}

impl From<Holder> for StoredHolder {
    fn from(Holder { id, number, at }: Holder) -> Self {
        (id, number, at)
    }
}

/// The outcome of taking a batch.
pub(super) enum BatchOutcome {
    /// It was not taken before.
    New,
    /// It was taken before.
    Duplicate,
    /// Its holder may have been forgotten, so it may be a duplicate. Its calls are counted. Its
    /// refunds and corrections are not.
    Untracked,
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOON: UnixMillis = UnixMillis(1_763_726_400_000);

    fn take(
        batches: &mut Batches,
        holder: u64,
        number: u32,
        since: UnixMillis,
        now: UnixMillis,
    ) -> BatchOutcome {
        let batch = Batch { number, since, day: now.day(), refunds: 1, ..Batch::default() };
        batches.take(holder, &batch, now)
    }

    #[test]
    fn batch_of_a_known_holder_is_new_if_its_number_is() {
        let mut batches = Batches::default();
        for (number, is_new) in [(3, true), (3, false), (2, false), (4, true), (4, false)] {
            let outcome = take(&mut batches, 1, number, NOON, NOON);
            assert_eq!(matches!(outcome, BatchOutcome::New), is_new, "{number}");
            assert_eq!(matches!(outcome, BatchOutcome::Duplicate), !is_new, "{number}");
        }
    }

    /// A forgotten holder may have sent what was made before its last batch was taken.
    #[test]
    fn batch_of_an_unknown_holder_is_new_if_it_was_made_after_all_forgotten_ones() {
        let mut batches = Batches::default();
        assert!(
            matches!(take(&mut batches, 0, 1, UnixMillis(0), NOON), BatchOutcome::New),
            "none is forgotten"
        );
        for holder in 1..=MAX_HOLDERS as u64 {
            take(&mut batches, holder, 1, NOON, NOON.plus(1_000));
        }
        assert_eq!((batches.holders.len(), batches.forgotten), (MAX_HOLDERS, NOON));
        for (since, is_new) in [(NOON.minus(1), false), (NOON, false), (NOON.plus(1), true)] {
            let outcome = take(&mut batches.clone(), 9_999, 1, since, NOON.plus(1_000));
            assert_eq!(matches!(outcome, BatchOutcome::New), is_new, "{since:?}");
            assert_eq!(matches!(outcome, BatchOutcome::Untracked), !is_new, "{since:?}");
        }
    }

    #[test]
    fn silent_holders_beyond_64_are_forgotten_after_ten_minutes() {
        for (silent_ms, left) in [(KEEP_MS, 71), (KEEP_MS + 1, MIN_HOLDERS)] {
            let mut batches = Batches::default();
            for holder in 0..70 {
                take(&mut batches, holder, 1, NOON, NOON);
            }
            take(&mut batches, 70, 1, NOON, NOON.plus(silent_ms));
            assert_eq!(batches.holders.len(), left, "{silent_ms}");
        }
    }

    #[test]
    fn holders_are_forgotten_at_midnight() {
        let mut batches = Batches::default();
        batches.roll(NOON.day());
        take(&mut batches, 1, 1, NOON, NOON);
        batches.roll(NOON.day());
        assert_eq!(batches.holders.len(), 1);
        let tomorrow = UtcDay(NOON.day().0 + 1);
        batches.roll(tomorrow);
        assert_eq!(batches, Batches { day: tomorrow, holders: Vec::new(), forgotten: NOON });
        let again = take(&mut batches, 1, 1, NOON.minus(1), tomorrow.start());
        assert!(matches!(again, BatchOutcome::Untracked), "it was taken yesterday");
    }
}
