//! The counters and records of all known keys, in shards so that calls of different keys hardly
//! ever wait for each other.
//!
//! Why: docs/decisions/direct-mode.md, "A call is settled before its response is sent".

use std::collections::HashMap;
use std::io::{self, Write};

use parking_lot::Mutex;
use shared::counter::Counter;
use shared::key::{KeyError, KeyId, KeyRecord, Scope, SecretId, VerifiedKey};
use shared::meter::MeterSnapshot;
use shared::policy::{Policy, UnitLimits};
use shared::quota::{Clock, Decision, QuotaStatus, ReservedUnits, UnitUsage};
use shared::tier::Tier;
use shared::time::{UnixMillis, UtcDay};
use shared::tool::Tool;

use tokio::sync::mpsc;

use super::counter_event::CounterEvent;
use super::counter_table::CounterTable;
use crate::sync_record::SyncRecord;

/// A sharded table of counters and records by key. With a million keys, one takes about 100 bytes.
pub struct KeyTable {
    shards: Vec<Mutex<Shard>>,
}

/// Many, so that saving one shard delays few calls.
const SHARDS: usize = 256;

/// A moment as records and counts see it.
#[derive(Clone, Copy, Debug)]
pub struct KeyMoment {
    /// The time of day, by which keys expire.
    pub time: UnixMillis,
    /// The same moment on the clock of counts.
    pub counted_at: UnixMillis,
}

/// The decision about a call that was counted here.
#[derive(Clone, Copy, Debug)]
pub struct CountedCall {
    /// The tier of the key.
    pub tier: Tier,
    /// The named secret that calls.
    pub secret_id: Option<SecretId>,
    /// Whether the call is admitted, and the quota of the key.
    pub decision: Decision,
    /// The day on which an admitted call is counted.
    pub day: UtcDay,
    /// The units that are reserved for it, if its key has limits in units.
    pub reserved: Option<ReservedUnits>,
}

/// The result of [`KeyTable::restore`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Restored {
    /// The number of keys.
    pub keys: usize,
    /// The number of keys of which something lay in the future and was dropped.
    pub from_future: usize,
}

/// The units of each key that has spent any.
pub type KeyUnits = Vec<(KeyId, UnitUsage)>;

#[derive(Default)]
struct Shard {
    clock: Clock,
    counters: CounterTable,
    /// The units of keys with limits in units.
    units: HashMap<KeyId, UnitUsage>,
    records: HashMap<KeyId, KeyRecord>,
    changed: bool,
    /// The other process during an upgrade, which gets each counter event.
    other: Option<mpsc::Sender<SyncRecord>>,
}

impl Default for KeyTable {
    fn default() -> Self {
        Self { shards: std::iter::repeat_with(Mutex::default).take(SHARDS).collect() }
    }
}

impl KeyTable {
    /// Decides whether a call of a tool that costs at most `units` is admitted, and counts it if it is. A
    /// key that must not be used takes no memory.
    ///
    /// # Errors
    /// If the key must not be used for the tool.
    pub fn call(
        &self,
        key: &VerifiedKey,
        tool: Tool,
        units: u32,
        at: KeyMoment,
    ) -> Result<CountedCall, KeyError> {
        self.with(&key.id, |shard| {
            // Read again under the lock: calls that waited for it bring times in any order, and
            // counts must not go back.
            let now = shard.clock.read(at.counted_at);
            let (tier, secret_id, policy, limits) =
                shard.check_key(key, Some(Scope::Tool(tool.label())), at.time, |record| {
                    (record.tier, record.secret_id(key), record.policy(), record.limits.units)
                })?;
            let (decision, reserved) = if limits.is_none() {
                (shard.counters.with(&key.id, |counter| counter.admit(&policy, now)), None)
            } else {
                shard.admit_priced(&key.id, units, (&policy, &limits), now)
            };
            if matches!(decision, Decision::Allow(_)) {
                shard.changed = true;
                shard.mirror(CounterEvent::Passed(key.id));
            }
            Ok(CountedCall { tier, secret_id, decision, day: now.day(), reserved })
        })
    }

    /// Gives back what is reserved for a call beyond the units that it has `spent`. Returns the
    /// reservation that is left.
    pub fn return_units(
        &self,
        id: &KeyId,
        reserved: ReservedUnits,
        spent: u32,
        now: UnixMillis,
    ) -> ReservedUnits {
        let spent = spent.min(reserved.units);
        let units = reserved.units - spent;
        if units > 0 {
            self.with(id, |shard| {
                let now = shard.clock.read(now);
                if let Some(usage) = shard.units.get_mut(id) {
                    usage.roll(now);
                    usage.give_back(reserved, units);
                }
                shard.changed = true;
                shard.mirror(CounterEvent::UnitsReturned { id: *id, units });
            });
        }
        ReservedUnits { units: spent, ..reserved }
    }

    /// Records the outcome of an admitted call. `refund` is the day it was counted on, if the call
    /// is not charged.
    pub fn record_outcome(
        &self,
        id: &KeyId,
        tool: Tool,
        status: u16,
        refund: Option<UtcDay>,
        now: UnixMillis,
    ) {
        self.with(id, |shard| {
            let now = shard.clock.read(now);
            shard.counters.with(id, |counter| counter.record_outcome(tool, status, refund, now));
            shard.changed = true;
            shard.mirror(CounterEvent::Ended { id: *id, tool, status, uncharged: refund.is_some() });
        });
    }

    /// Records that the response of a call was cut off, whose outcome was recorded as `status`, and
    /// refunds the call to the `day` it was counted on.
    pub fn record_aborted(&self, id: &KeyId, tool: Tool, status: u16, day: UtcDay, now: UnixMillis) {
        self.with(id, |shard| {
            let now = shard.clock.read(now);
            shard.counters.with(id, |counter| counter.record_aborted(tool, status, day, now));
            shard.changed = true;
            shard.mirror(CounterEvent::Aborted { id: *id, tool, status });
        });
    }

    /// Applies a counter event of another process. Ignores a record that is not one.
    pub fn apply_event(&self, record: SyncRecord, now: UnixMillis) {
        let Some(event) = CounterEvent::from_record(record) else { return };
        self.with(event.id(), |shard| {
            let now = shard.clock.read(now);
            let Shard { counters, units: usage, .. } = shard;
            match event {
                CounterEvent::Passed(id) => counters.with(&id, |counter| counter.count(now)),
                CounterEvent::Ended { id, tool, status, uncharged } => counters.with(&id, |counter| {
                    counter.record_outcome(tool, status, uncharged.then(|| now.day()), now);
                }),
                CounterEvent::Aborted { id, tool, status } => {
                    counters.with(&id, |counter| counter.record_aborted(tool, status, now.day(), now));
                }
                CounterEvent::UnitsReserved { id, units } => {
                    let usage = usage.entry(id).or_default();
                    usage.roll(now);
                    usage.reserve(units, now, now.day());
                }
                CounterEvent::UnitsReturned { id, units } => {
                    // The minute keeps them: the event does not say when they were reserved.
                    let reserved = ReservedUnits { at: UnixMillis::default(), day: now.day(), units };
                    if let Some(usage) = usage.get_mut(&id) {
                        usage.roll(now);
                        usage.give_back(reserved, units);
                    }
                }
            }
            shard.changed = true;
        });
    }

    /// Sends each later counter event to another process, or stops with `None`.
    pub fn mirror_to(&self, other: Option<&mpsc::Sender<SyncRecord>>) {
        self.shards.iter().for_each(|shard| shard.lock().other = other.cloned());
    }

    /// Returns the record and the usage of a key, for its holder.
    ///
    /// # Errors
    /// If the key must not be used.
    pub fn read(&self, key: &VerifiedKey, at: KeyMoment) -> Result<MeterSnapshot, KeyError> {
        self.with(&key.id, |shard| {
            let now = shard.clock.read(at.counted_at);
            let record = shard.check_key(key, None, at.time, KeyRecord::clone)?;
            Ok(shard.snapshot(record, now))
        })
    }

    /// Returns the record and the usage of a key in any state, for an administrator. Returns `None`
    /// without a record.
    pub fn show(&self, id: &KeyId, now: UnixMillis) -> Option<MeterSnapshot> {
        self.with(id, |shard| {
            let now = shard.clock.read(now);
            let record = shard.records.get(id)?.clone();
            Some(shard.snapshot(record, now))
        })
    }

    /// Checks that a key may be used for what needs a scope, and passes its record to `read`, if there is
    /// one.
    ///
    /// # Errors
    /// If the key must not be used.
    pub fn with_checked<T>(
        &self,
        key: &VerifiedKey,
        scope: Option<Scope>,
        now: UnixMillis,
        read: impl FnOnce(Option<&KeyRecord>) -> T,
    ) -> Result<T, KeyError> {
        self.with(&key.id, |shard| {
            let record = shard.records.get(&key.id);
            permit(record, key, scope, now)?;
            Ok(read(record))
        })
    }

    /// Returns the record of a key.
    pub fn record(&self, id: &KeyId) -> Option<KeyRecord> {
        self.with(id, |shard| shard.records.get(id).cloned())
    }

    /// Returns all records, sorted by key id.
    pub fn records(&self) -> Vec<KeyRecord> {
        let mut all = Vec::new();
        for shard in &self.shards {
            all.extend(shard.lock().records.values().cloned());
        }
        all.sort_unstable_by_key(|record| record.id);
        all
    }

    /// Stores a record, unless the known one is at least as new.
    pub fn merge_record(&self, record: KeyRecord) {
        self.with(&record.id.clone(), |shard| {
            let known = shard.records.get(&record.id).map(|known| known.version);
            if known.is_none_or(|known| known < record.version) {
                shard.records.insert(record.id, record);
            }
        });
    }

    /// Puts the former record in the place of one that could not be stored. A change that has followed stays.
    pub fn undo(&self, undone: &KeyRecord, before: Option<KeyRecord>) {
        self.with(&undone.id.clone(), |shard| {
            if shard.records.get(&undone.id) != Some(undone) {
                return;
            }
            match before {
                Some(before) => shard.records.insert(undone.id, before),
                None => shard.records.remove(&undone.id),
            };
        });
    }

    /// Runs `change` on a key's record under the lock of its shard, stores the record that it
    /// returns, if any, and returns its other result.
    pub fn change<T>(
        &self,
        id: &KeyId,
        change: impl FnOnce(Option<&KeyRecord>) -> (Option<KeyRecord>, T),
    ) -> T {
        self.with(id, |shard| {
            let (record, result) = change(shard.records.get(id));
            if let Some(record) = record {
                shard.records.insert(*id, record);
            }
            result
        })
    }

    /// Returns the number of keys with a counter.
    pub fn len(&self) -> usize {
        self.shards.iter().map(|shard| shard.lock().counters.len()).sum()
    }

    /// Returns true if no key has a counter.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns true if a counter has changed since the last call of this function.
    pub fn take_changed(&self) -> bool {
        self.shards.iter().filter(|shard| std::mem::take(&mut shard.lock().changed)).count() > 0
    }

    /// Marks the counters as changed, so that they are saved again.
    pub fn set_changed(&self) {
        // One is enough, because all are saved together.
        self.shards.iter().take(1).for_each(|shard| shard.lock().changed = true);
    }

    /// Writes all counters, for [`KeyTable::restore`], and returns the units of keys, for
    /// [`KeyTable::restore_units`]. What is over is dropped along the way.
    ///
    /// # Errors
    /// If writing to `out` fails.
    pub fn write(&self, now: UnixMillis, out: &mut impl Write) -> io::Result<KeyUnits> {
        self.write_and(now, out, |_shard| {})
    }

    /// Writes all counters like [`KeyTable::write`], and sends exactly the counter events that
    /// follow to another process.
    ///
    /// # Errors
    /// If writing to `out` fails. The other process gets the events of some shards then.
    pub fn write_and_mirror(
        &self,
        now: UnixMillis,
        other: &mpsc::Sender<SyncRecord>,
        out: &mut impl Write,
    ) -> io::Result<KeyUnits> {
        self.write_and(now, out, |shard| shard.other = Some(other.clone()))
    }

    /// Serializes shard by shard, because the bytes of all shards would take as much memory as the
    /// counters. Writes to `out` without holding a lock.
    fn write_and(
        &self,
        now: UnixMillis,
        out: &mut impl Write,
        then: impl Fn(&mut Shard),
    ) -> io::Result<KeyUnits> {
        let (mut bytes, mut units) = (Vec::new(), KeyUnits::new());
        for shard in &self.shards {
            let mut shard = shard.lock();
            let now = shard.clock.read(now);
            shard.counters.retain(|counter| !counter.is_over(now));
            shard.counters.iter().for_each(|(id, counter)| counter.write(id, now, &mut bytes));
            shard.units.retain(|_, usage| !usage.is_over(now));
            units.extend(shard.units.iter().map(|(id, usage)| (*id, usage.clone())));
            // Under the lock: a call is either in the bytes or an event for the other process, and
            // never both.
            then(&mut shard);
            drop(shard);
            out.write_all(&bytes)?;
            bytes.clear();
        }
        Ok(units)
    }

    /// Restores the units that [`KeyTable::write`] returned, without what lies in the future of `now`.
    /// Returns the number of keys of which something was dropped.
    pub fn restore_units(&self, units: KeyUnits, now: UnixMillis) -> usize {
        let mut from_future = 0;
        for (id, mut usage) in units {
            from_future += usize::from(usage.drop_future(now));
            self.with(&id, |shard| shard.units.insert(id, usage));
        }
        from_future
    }

    /// Restores the counters that [`KeyTable::write`] wrote, without what lies in the future of
    /// `now`. Returns `None` and restores nothing if the bytes are malformed.
    pub fn restore(&self, bytes: &[u8], now: UnixMillis) -> Option<Restored> {
        let mut restored = Restored::default();
        let mut rest = bytes;
        while Counter::read_next(&mut rest).ok()?.is_some() {
            restored.keys += 1;
        }
        let mut rest = bytes;
        while let Ok(Some((id, mut counter))) = Counter::read_next(&mut rest) {
            restored.from_future += usize::from(counter.drop_future(now));
            self.with(&id, |shard| shard.counters.with(&id, |own| *own = counter));
        }
        Some(restored)
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
    fn mirror(&self, event: CounterEvent) {
        if let Some(other) = &self.other {
            // Never waits: the other process may be slow or gone.
            let _sent = other.try_send(event.to_record());
        }
    }

    /// Decides on a call of a key with limits in units.
    fn admit_priced(
        &mut self,
        id: &KeyId,
        units: u32,
        (policy, limits): (&Policy, &UnitLimits),
        now: UnixMillis,
    ) -> (Decision, Option<ReservedUnits>) {
        let usage = self.units.entry(*id).or_default();
        usage.roll(now);
        let too_dear =
            Some(units).filter(|units| *units > 0).and_then(|units| usage.denial(limits, units, now));
        let decision = self.counters.with(id, |counter| counter.admit_unless(too_dear, policy, now));
        let (decision, reserved) = match decision {
            Decision::Allow(quota) => {
                let reserved = (units > 0).then(|| usage.reserve(units, now, now.day()));
                let status = Some(usage.status(limits, now));
                (Decision::Allow(QuotaStatus { units: status, ..quota }), reserved)
            }
            Decision::Deny(denial, quota) => {
                let status = Some(usage.status(limits, now));
                (Decision::Deny(denial, QuotaStatus { units: status, ..quota }), None)
            }
        };
        if reserved.is_some() {
            self.mirror(CounterEvent::UnitsReserved { id: *id, units });
        }
        (decision, reserved)
    }

    /// Returns everything that is counted of a key.
    fn snapshot(&self, record: KeyRecord, now: UnixMillis) -> MeterSnapshot {
        let (id, limits) = (record.id, record.limits.units);
        let mut snapshot = self.counters.find(&id).cloned().unwrap_or_default().read(record, now);
        if !limits.is_none() {
            let mut usage = self.units.get(&id).cloned().unwrap_or_default();
            usage.roll(now);
            snapshot.units = Some(usage.spent());
            if let Some(quota) = &mut snapshot.response.quota {
                quota.units = Some(usage.status(&limits, now));
            }
        }
        snapshot
    }

    /// Returns what `read` takes from the record of a key, after checking that the key may be used for
    /// what needs a scope. Without a record, the text of the key provides one.
    fn check_key<T>(
        &self,
        key: &VerifiedKey,
        scope: Option<Scope>,
        now: UnixMillis,
        read: impl FnOnce(&KeyRecord) -> T,
    ) -> Result<T, KeyError> {
        let record = self.records.get(&key.id);
        permit(record, key, scope, now)?;
        Ok(match record {
            Some(record) => read(record),
            None => read(&KeyRecord::provisional(key)),
        })
    }
}

/// Checks that a key may be used by its record. Without one it is what its text says, and a named secret
/// is unknown.
fn permit(
    record: Option<&KeyRecord>,
    key: &VerifiedKey,
    scope: Option<Scope>,
    now: UnixMillis,
) -> Result<(), KeyError> {
    match record {
        Some(record) => record.permit(key, scope, now),
        None if key.is_named => Err(KeyError::Invalid),
        None => Ok(()),
    }
}
