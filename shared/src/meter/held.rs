//! A meter that a process keeps in memory, and stores less often than it decides.
//!
//! A key that is used through many isolates asks its meter for nearly each call, and storing the state
//! costs more than all else of it. So the stored state shows calls as lent to the process that holds the
//! meter: a *reserve*. What the process then admits and lends is part of the reserve until that is used up
//! or ends, and needs no store.
//!
//! **Why no call over the limit passes.** The reserve is a lease, granted of what is free, and its holder is
//! the process. A process that vanishes never reports, so all of the reserve counts as spent at its end, as
//! for any lease (`meter.rs`, 3). That covers what the process did since the state was stored:
//!
//! - Each call that it admitted and each that it lent is one of the reserve's, and is let through before the
//!   reserve ends. Otherwise the state is stored first.
//! - What was given back is free in memory only. A process that vanishes takes it along: those calls stay
//!   counted.
//! - What is no count of calls is stored before the reply leaves: the record, shares of the local budget,
//!   alerts, units, and calls that an isolate made on its own.
//!
//! A second process that begins while the first one still runs reads the reserve as lent, so both together
//! keep the limit.
//!
//! Why: docs/decisions/limits.md, "A meter lends to its own process".

use super::lease::Lease;
use super::state::Lasting;
use super::{LeaseTerms, Message, Meter, MeterRequest, MeterResponse, Reply, TTL_MS, Verdict};
use crate::quota::{Counts as _, Usage};
use crate::tier::Tier;
use crate::time::UnixMillis;

/// Time for which calls are reserved, in milliseconds. Leases are granted of a reserve until it has
/// [`TTL_MS`] left.
const RESERVE_MS: u64 = 30_000;
/// The shortest reserve, in milliseconds: a shorter one has no room for a lease.
const MIN_RESERVE_MS: u64 = TTL_MS + 2_000;
/// The time after which a reserve is looked at, in milliseconds. The platform evicts an object from memory ten
/// seconds after its last message or alarm, and what is left of a reserve would count as spent with each pause
/// of a key.
const LOOK_MS: u64 = 8_000;
/// The time without calls after which a reserve ends at a look, in milliseconds.
const IDLE_MS: u64 = 4_000;
/// The smallest reserve. Storing fewer calls in advance saves nothing.
const MIN_CALLS: u32 = 4;
/// The mean gap between messages up to which calls are reserved, in milliseconds. A reserve costs a store
/// and an alarm at its end.
const MAX_GAP_MS: u64 = 5_000;
/// The mean gap that is assumed of a meter that was just loaded, in milliseconds.
const UNKNOWN_GAP_MS: u64 = 30_000;
/// A fraction of a call, for the mean per message.
const PARTS: u64 = 256;
/// The holder of a reserve. Lease caches have random numbers.
const OWN: u64 = 0;

/// A meter in the memory of one process, and what its stored state allows it to do without a store.
#[derive(Clone, Debug)]
pub struct HeldMeter {
    meter: Meter,
    reserve: Option<Lease>,
    /// The time of the last message that admitted or lent a call.
    asked: UnixMillis,
    /// The mean gap between such messages, in milliseconds.
    gap_ms: u64,
    /// The calls that such a message takes, in [`PARTS`].
    taken: u64,
}

impl HeldMeter {
    /// Holds a meter as it is stored.
    pub fn new(meter: Meter) -> Self {
        let meter = meter.loaded();
        Self { meter, reserve: None, asked: UnixMillis(0), gap_ms: UNKNOWN_GAP_MS, taken: PARTS }
    }

    /// Returns the meter.
    pub const fn meter(&self) -> &Meter {
        &self.meter
    }

    /// Returns the meter, to take from it what is stored beside its state.
    pub const fn meter_mut(&mut self) -> &mut Meter {
        &mut self.meter
    }

    /// Handles a message. Returns the reply, and whether [`HeldMeter::row`] must be stored before the
    /// reply leaves.
    pub fn step(&mut self, message: Message, now: UnixMillis) -> (Reply, bool) {
        let Some(admit_within_ms) = reservable(&message) else {
            let (reply, is_changed) = self.meter.step(message, now);
            // The row is written without a reserve: whatever it was for may be over.
            self.reserve = self.reserve.take().filter(|_| !is_changed);
            return (reply, is_changed);
        };
        let before = Lasting::of(&self.meter);
        let reply = self.meter.handle(message, now);
        let Reply::Ask(response) = &reply else { return (reply, true) };
        let taken = Taken::of(response, admit_within_ms);
        self.measure(&taken, response.at);
        let is_covered = before == Lasting::of(&self.meter) && !self.meter.has_full_rows();
        // The reply may leave without a store: if the process vanishes, all of the reserve counts as spent.
        if is_covered && self.take(&taken) {
            return (reply, false);
        }
        self.reserve = self.reserve(response.at);
        (reply, true)
    }

    /// Calls `store` with the state to store: that of the meter with what is left of its reserve.
    pub fn row<T>(&mut self, store: impl FnOnce(&Meter) -> T) -> T {
        let Some(reserve) = &self.reserve else { return self.meter.store(store) };
        // A process that reads this row must see the reserve as lent, or both would give the same calls away.
        self.meter.leases.push(reserve.clone());
        let stored = self.meter.store(store);
        self.meter.leases.pop();
        stored
    }

    /// Returns the milliseconds after which the shell calls [`HeldMeter::look`], if there is a reserve.
    pub fn looks_in(&self, now: UnixMillis) -> Option<u64> {
        self.reserve.as_ref().map(|reserve| reserve.until.since(self.clock(now)).min(LOOK_MS))
    }

    /// Ends the reserve if it is over, or if no call has come lately. Returns whether [`HeldMeter::row`] must be
    /// stored, so that what was not used of it does not count as spent.
    pub fn look(&mut self, now: UnixMillis) -> bool {
        let clock = self.clock(now);
        let is_idle = clock.since(self.asked) >= IDLE_MS;
        let ended = self.reserve.take_if(|reserve| is_idle || reserve.until <= clock);
        ended.is_some()
    }

    fn clock(&self, now: UnixMillis) -> UnixMillis {
        self.meter.usage.clone().read_clock(now)
    }

    /// Takes calls from the reserve. Returns false if it has too few, or ends before they are let through.
    fn take(&mut self, taken: &Taken) -> bool {
        // Reports that take nothing too: without a reserve no alarm stores them later.
        let Some(reserve) = &mut self.reserve else { return false };
        if taken.calls > reserve.left || taken.until > reserve.until {
            return false;
        }
        reserve.left = reserve.left.saturating_sub(taken.calls);
        true
    }

    /// Returns a reserve for the time to come, if storing one is worth it.
    fn reserve(&mut self, now: UnixMillis) -> Option<Lease> {
        let record = self.meter.record()?;
        match record.tier {
            // A process that vanishes would take a part of a small day with it.
            Tier::Free => return None,
            Tier::Pro | Tier::Enterprise => {}
        }
        let ttl_ms = RESERVE_MS.min(now.day().end().since(now));
        if ttl_ms < MIN_RESERVE_MS || self.gap_ms > MAX_GAP_MS {
            return None;
        }
        let mean = self.taken.saturating_mul(ttl_ms).div_ceil(self.gap_ms.max(1).saturating_mul(PARTS));
        // Calls come at random, and to store a second time costs more than a call too many.
        let wanted = mean.saturating_add(mean / 2).saturating_add(2);
        let free = self.meter.assumed().free(&record.policy());
        // Half at most, because a process that vanishes takes its reserve along.
        let calls = u32::try_from(wanted).unwrap_or(u32::MAX).min(free / 2);
        if calls < MIN_CALLS {
            return None;
        }
        let terms = LeaseTerms { id: self.meter.next_lease(now), calls, ttl_ms };
        Some(Lease::new(terms, OWN, now))
    }

    fn measure(&mut self, taken: &Taken, now: UnixMillis) {
        if taken.calls == 0 {
            return;
        }
        let mean = |old: u64, new: u64| old.saturating_mul(7).saturating_add(new) / 8;
        // A night without calls would otherwise outweigh the next hundred gaps.
        let gap = now.since(self.asked).min(UNKNOWN_GAP_MS);
        self.gap_ms = mean(self.gap_ms, gap);
        self.taken = mean(self.taken, u64::from(taken.calls).saturating_mul(PARTS));
        self.asked = now;
    }
}

/// The calls that a response gives its holder, and the moment before which they are let through.
struct Taken {
    calls: u32,
    until: UnixMillis,
}

impl Taken {
    /// Of a response that is repeated, the same calls again: that is too many, and never too few.
    fn of(response: &MeterResponse, admit_within_ms: u64) -> Self {
        let lent = response.lease.map_or(0, |lease| lease.calls);
        let lent_until = response.lease.map_or(response.at, |lease| response.at.plus(lease.ttl_ms));
        let admitted = u32::from(response.verdict == Verdict::Allow);
        let admitted_until = Usage::counted_at(response.at, admit_within_ms);
        Self { calls: lent.saturating_add(admitted), until: lent_until.max(admitted_until) }
    }
}

/// Returns the time within which the call of a message may be let through, if what the message changes
/// can be covered by a reserve.
fn reservable(message: &Message) -> Option<u64> {
    let Message::Ask(request) = message else { return None };
    let MeterRequest { units, batch, admit_within_ms, .. } = request;
    // Units are money, and calls that were made without the meter are in no reserve.
    let is_plain =
        *units == 0 && batch.as_ref().is_none_or(|batch| batch.debts == 0 && batch.returned.is_empty());
    is_plain.then_some(*admit_within_ms)
}

#[cfg(test)]
mod tests {
    use std::num::NonZero;

    use super::*;
    use crate::json;
    use crate::key::{ApiKey, KeyEnv, KeyId, KeyRecord};
    use crate::lease_cache::LeaseCache;
    use crate::policy::LimitOverrides;
    use crate::secret::MacKeys;
    use crate::tool::Tool;

    const NOW: UnixMillis = UnixMillis(1_763_712_000_000);

    /// A held meter with calls of a key of `tier` that come every second, in turns through eight isolates.
    struct Calls {
        held: HeldMeter,
        tier: Tier,
        now: UnixMillis,
        made: u32,
        stored: u32,
        row: Meter,
    }

    impl Calls {
        fn of(tier: Tier) -> Self {
            let row = Meter::default();
            Self { held: HeldMeter::new(row.clone()), tier, now: NOW, made: 0, stored: 0, row }
        }

        fn make(&mut self, calls: u64) {
            let keys = MacKeys::parse("0123456789abcdef0123456789abcdef").unwrap();
            let id = KeyId::new([7; 12]);
            let (_, key) = ApiKey::mint(KeyEnv::Live, id, self.tier, NOW, [9; 16], &keys);
            for _ in 0..calls {
                self.made += 1;
                let mut cache = LeaseCache::new(u64::from(self.made % 8) + 1);
                cache.learn(KeyRecord { version: 1, ..KeyRecord::provisional(&key) });
                let request = MeterRequest { want: true, seq: self.made, ..cache.read(&key, self.now) };
                let (reply, is_changed) = self.held.step(Message::Ask(request), self.now);
                let Reply::Ask(response) = reply else { panic!("{reply:?}") };
                assert_eq!(response.verdict, Verdict::Allow);
                if is_changed {
                    self.stored += 1;
                    self.row = self.held.row(Meter::clone);
                }
                self.now = self.now.plus(1_000);
            }
        }

        /// Returns the calls that the meter counts with all that it has lent.
        fn counted(meter: &Meter) -> u32 {
            let (minute, _) = meter.assumed().used();
            minute
        }
    }

    /// A burst left responses of 9 KB, which each call wrote again: half of what wasm did for a call that asks.
    #[test]
    fn stored_responses_of_a_burst_are_short_and_read_back_whole() {
        let keys = MacKeys::parse("0123456789abcdef0123456789abcdef").unwrap();
        let (_, key) = ApiKey::mint(KeyEnv::Live, KeyId::new([7; 12]), Tier::Free, NOW, [9; 16], &keys);
        let limits = LimitOverrides {
            minute: NonZero::new(150),
            day: NonZero::new(1_000),
            ..LimitOverrides::default()
        };
        let record = KeyRecord { version: 1, limits, ..KeyRecord::provisional(&key) };
        let mut caches = [u64::MAX, 1, 1 << 53].map(LeaseCache::new);
        caches.iter_mut().for_each(|cache| cache.learn(record.clone()));
        let mut held = HeldMeter::new(Meter::default());
        let mut ask = |held: &mut HeldMeter, seq: u32| {
            let now = NOW.plus(seq.into());
            let [cache, _, _] = &mut caches;
            let tool = if seq.is_multiple_of(2) { Tool::Qr } else { Tool::Idea };
            let tool = (!seq.is_multiple_of(3)).then(|| tool.label());
            let admit_within_ms = if seq.is_multiple_of(5) { 5_000 } else { 300 };
            let withdrawn = if seq == 100 { vec![99] } else { Vec::new() };
            let request =
                MeterRequest { want: true, seq, tool, admit_within_ms, withdrawn, ..cache.read(&key, now) };
            caches.rotate_left(usize::from(seq.is_multiple_of(7)));
            held.step(Message::Ask(request), now).0
        };
        let whole = |held: &HeldMeter| json::to_string(held.meter()).unwrap();
        for seq in 1..=200 {
            ask(&mut held, seq);
            let text = held.row(json::to_string).unwrap();
            let again = HeldMeter::new(json::from_str(&text).unwrap());
            assert_eq!(whole(&again), whole(&held), "after call {seq}");
            if seq == 140 {
                assert!(text.len() < 4_500, "{} bytes: {text}", text.len());
            }
        }
        // An older version has stored each response in full.
        let text = whole(&held);
        assert!(text.len() > 9_000, "{} bytes", text.len());
        assert_eq!(whole(&HeldMeter::new(json::from_str(&text).unwrap())), text);
    }

    /// Storing the state for each message was 70 % of what a call cost.
    #[test]
    fn calls_of_a_reserve_are_not_stored_and_count_as_made_after_a_restart() {
        let mut calls = Calls::of(Tier::Enterprise);
        calls.make(40);
        let learned = calls.stored;
        assert!(learned < 30, "{learned}");
        calls.make(20);
        assert!(calls.stored <= learned + 3, "{} of 20", calls.stored - learned);
        // What the row shows is never less than what was admitted.
        let (made, row) = (Calls::counted(calls.held.meter()), Calls::counted(&calls.row));
        assert!(row >= made, "{row} of {made}");
    }

    #[test]
    fn rest_of_a_reserve_is_free_once_its_key_pauses() {
        let mut calls = Calls::of(Tier::Enterprise);
        calls.make(40);
        let wait = calls.held.looks_in(calls.now).unwrap();
        assert!(wait <= LOOK_MS && !calls.held.look(calls.now));
        let made = Calls::counted(calls.held.meter());
        assert!(calls.held.look(calls.now.plus(wait)));
        assert_eq!((calls.held.row(Calls::counted), calls.held.looks_in(calls.now)), (made, None));
    }

    /// An object that was idle lost the last reports of a key: its lease counted as spent, and statuses were
    /// missing.
    #[test]
    fn report_without_a_reserve_is_stored() {
        let mut calls = Calls::of(Tier::Enterprise);
        calls.make(1);
        let keys = MacKeys::parse("0123456789abcdef0123456789abcdef").unwrap();
        let (_, key) = ApiKey::mint(KeyEnv::Live, KeyId::new([7; 12]), calls.tier, NOW, [9; 16], &keys);
        let report = MeterRequest { want: false, seq: 2, ..LeaseCache::new(2).read(&key, calls.now) };
        let (_, is_changed) = calls.held.step(Message::Ask(report), calls.now);
        assert!(is_changed);
    }

    #[test]
    fn keys_that_would_lose_by_a_reserve_have_none() {
        let mut free = Calls::of(Tier::Free);
        free.make(10);
        assert_eq!((free.stored, free.held.looks_in(free.now)), (10, None));
        let mut rare = Calls::of(Tier::Enterprise);
        for _ in 0..20 {
            rare.make(1);
            rare.now = rare.now.plus(6_000);
        }
        assert_eq!((rare.stored, rare.held.looks_in(rare.now)), (20, None));
    }
}
