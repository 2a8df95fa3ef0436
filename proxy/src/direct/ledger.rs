//! The counters and records of all keys that were seen, spread over shards so that no two calls wait for each other
//! unless they are of the same key, or nearly.

use std::{
    collections::HashMap,
    io::{self, Write},
};

use parking_lot::Mutex;
use shared::{
    counter::Counter,
    key::{KeyFault, KeyId, KeyRecord, VerifiedKey},
    meter::Reading,
    quota::{Clock, Decision},
    tier::Tier,
    time::{UnixMillis, UtcDay},
    tool::Tool,
};

use tokio::sync::mpsc;

use super::{counted::Counted, counters::Counters};
use crate::hand_over::Word;

/// Everything that is counted and known of keys. At a million keys of few calls each takes about 100 bytes.
pub struct Ledger {
    shards: Vec<Mutex<Shard>>,
}

/// Many, so that writing one down holds up few calls, and those for a moment.
const SHARDS: usize = 256;

/// What was decided about a call.
#[derive(Clone, Copy, Debug)]
pub struct Decided {
    /// What the key is paid for.
    pub tier: Tier,
    /// Whether it may pass, and how the key stands.
    pub decision: Decision,
    /// The day on which it is counted if it passes.
    pub day: UtcDay,
}

#[derive(Default)]
struct Shard {
    clock: Clock,
    counters: Counters,
    records: HashMap<KeyId, KeyRecord>,
    changed: bool,
    /// Another process that counts the same keys, while there is one.
    other: Option<mpsc::Sender<Word>>,
}

impl Default for Ledger {
    fn default() -> Self {
        Self { shards: std::iter::repeat_with(Mutex::default).take(SHARDS).collect() }
    }
}

impl Ledger {
    /// Decides on one call, and counts it if it passes. A key that may not be used takes no room.
    ///
    /// # Errors
    /// Why the key may not be used.
    pub fn call(&self, key: &VerifiedKey, now: UnixMillis) -> Result<Decided, KeyFault> {
        self.with(&key.id, |shard| {
            let now = shard.clock.read(now);
            let (tier, policy) = shard.judge(key, now, |record| (record.tier, record.policy()))?;
            let decision = shard.counters.with(&key.id, |counter| counter.admit(&policy, now));
            if matches!(decision, Decision::Allow(_)) {
                shard.changed = true;
                shard.tell(Counted::Passed(key.id));
            }
            Ok(Decided { tier, decision, day: now.day() })
        })
    }

    /// Notes how a call ended that had passed; `uncharged` is the day it was counted on if it is given back.
    pub fn ended(&self, id: &KeyId, tool: Tool, status: u16, uncharged: Option<UtcDay>, now: UnixMillis) {
        self.with(id, |shard| {
            let now = shard.clock.read(now);
            shard.counters.with(id, |counter| counter.ended(tool, status, uncharged, now));
            shard.changed = true;
            shard.tell(Counted::Ended { id: *id, tool, status, uncharged: uncharged.is_some() });
        });
    }

    /// Takes note of what another process has counted.
    pub fn learn_counted(&self, word: Word, now: UnixMillis) {
        let Some(counted) = Counted::from_word(word) else { return };
        self.with(counted.id(), |shard| {
            let now = shard.clock.read(now);
            shard.counters.with(counted.id(), |counter| match counted {
                Counted::Passed(_) => counter.count(now),
                Counted::Ended { tool, status, uncharged, .. } => {
                    counter.ended(tool, status, uncharged.then(|| now.day()), now);
                }
            });
            shard.changed = true;
        });
    }

    /// From now on another process is told of everything that is counted; `None` when there is none any more.
    pub fn tell(&self, other: Option<&mpsc::Sender<Word>>) {
        self.shards.iter().for_each(|shard| shard.lock().other = other.cloned());
    }

    /// Everything that is known of a key, for its holder.
    ///
    /// # Errors
    /// Why the key may not be used.
    pub fn read(&self, key: &VerifiedKey, now: UnixMillis) -> Result<Reading, KeyFault> {
        self.with(&key.id, |shard| {
            let now = shard.clock.read(now);
            let record = shard.judge(key, now, KeyRecord::clone)?;
            let mut counter = shard.counters.find(&key.id).cloned().unwrap_or_default();
            Ok(counter.read(record, now))
        })
    }

    /// Everything that is known of a key, whatever its state, for an administrator; `None` without a record of it.
    #[must_use]
    pub fn show(&self, id: &KeyId, now: UnixMillis) -> Option<Reading> {
        self.with(id, |shard| {
            let now = shard.clock.read(now);
            let record = shard.records.get(id)?.clone();
            let mut counter = shard.counters.find(id).cloned().unwrap_or_default();
            Some(counter.read(record, now))
        })
    }

    /// The record of a key, if there is one.
    #[must_use]
    pub fn record(&self, id: &KeyId) -> Option<KeyRecord> {
        self.with(id, |shard| shard.records.get(id).cloned())
    }

    /// Every record, by key.
    #[must_use]
    pub fn records(&self) -> Vec<KeyRecord> {
        let mut all = Vec::new();
        for shard in &self.shards {
            all.extend(shard.lock().records.values().cloned());
        }
        all.sort_unstable_by_key(|record| record.id);
        all
    }

    /// Takes a record over unless a newer one is known.
    pub fn learn(&self, record: KeyRecord) {
        self.with(&record.id.clone(), |shard| {
            let known = shard.records.get(&record.id).map(|known| known.version);
            if known.is_none_or(|known| known < record.version) {
                shard.records.insert(record.id, record);
            }
        });
    }

    /// Changes a key's record, if `change` has a new one; what `change` answers beside it. Nobody changes it meanwhile.
    pub fn change<T>(
        &self,
        id: &KeyId,
        change: impl FnOnce(Option<&KeyRecord>) -> (Option<KeyRecord>, T),
    ) -> T {
        self.with(id, |shard| {
            let (record, answer) = change(shard.records.get(id));
            if let Some(record) = record {
                shard.records.insert(*id, record);
            }
            answer
        })
    }

    /// Keys that are counted.
    #[must_use]
    pub fn len(&self) -> usize {
        self.shards.iter().map(|shard| shard.lock().counters.len()).sum()
    }

    /// Whether nothing is counted.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether anything was counted since this was asked last.
    pub fn take_changed(&self) -> bool {
        self.shards.iter().filter(|shard| std::mem::take(&mut shard.lock().changed)).count() > 0
    }

    /// Says that what was counted is not written down yet.
    pub fn set_changed(&self) {
        self.shards.iter().take(1).for_each(|shard| shard.lock().changed = true);
    }

    /// Writes all that counts still, for [`Ledger::restore`]. Counters that are over are forgotten by the way.
    ///
    /// # Errors
    /// When `out` takes no more.
    pub fn write(&self, now: UnixMillis, out: &mut impl Write) -> io::Result<()> {
        self.write_and(now, out, |_shard| {})
    }

    /// As [`Ledger::write`]; another process is told of everything that is counted after it was written, and of nothing
    /// else.
    ///
    /// # Errors
    /// When `out` takes no more: then the other process is told of some of what is counted.
    pub fn write_and_tell(
        &self,
        now: UnixMillis,
        other: &mpsc::Sender<Word>,
        out: &mut impl Write,
    ) -> io::Result<()> {
        self.write_and(now, out, |shard| shard.other = Some(other.clone()))
    }

    /// Shard by shard: as bytes, all of them together would take as much memory as the counters themselves. Nobody waits for
    /// `out`.
    fn write_and(&self, now: UnixMillis, out: &mut impl Write, then: impl Fn(&mut Shard)) -> io::Result<()> {
        let mut bytes = Vec::new();
        for shard in &self.shards {
            let mut shard = shard.lock();
            let now = shard.clock.read(now);
            shard.counters.retain(|counter| !counter.is_over(now));
            shard.counters.iter().for_each(|(id, counter)| counter.write(id, now, &mut bytes));
            then(&mut shard);
            drop(shard);
            out.write_all(&bytes)?;
            bytes.clear();
        }
        Ok(())
    }

    /// Takes over what another process has written. `None`, with nothing taken over, when it is something else.
    pub fn restore(&self, bytes: &[u8]) -> Option<usize> {
        let mut count = 0;
        let mut rest = bytes;
        while Counter::read_next(&mut rest).ok()?.is_some() {
            count += 1;
        }
        let mut rest = bytes;
        while let Ok(Some((id, counter))) = Counter::read_next(&mut rest) {
            self.with(&id, |shard| shard.counters.with(&id, |own| *own = counter));
        }
        Some(count)
    }

    fn with<T>(&self, id: &KeyId, work: impl FnOnce(&mut Shard) -> T) -> T {
        let [.., place] = *id.as_bytes();
        match self.shards.get(usize::from(place)) {
            Some(shard) => work(&mut shard.lock()),
            // A byte has as many values as there are shards.
            None => work(&mut Shard::default()),
        }
    }
}

impl Shard {
    fn tell(&self, counted: Counted) {
        if let Some(other) = &self.other {
            // One that does not keep up, or is gone, is not waited for.
            let _told = other.try_send(counted.to_word());
        }
    }

    /// What a key's record says of it, if the key may be used; its own text where nobody has said more.
    fn judge<T>(
        &self,
        key: &VerifiedKey,
        now: UnixMillis,
        say: impl FnOnce(&KeyRecord) -> T,
    ) -> Result<T, KeyFault> {
        let Some(record) = self.records.get(&key.id) else { return Ok(say(&KeyRecord::provisional(key))) };
        record.check(key, now)?;
        Ok(say(record))
    }
}
