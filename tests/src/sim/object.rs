//! The shell of the Durable Object: load, handle, store, reply, and the restarts in between.

use std::collections::VecDeque;

use shared::{
    meter::{HeldMeter, Message, Meter, Reply, Verdict},
    time::UnixMillis,
};

use super::{Faults, Rng, clock::MachineClock};

/// What a reply gives a holder.
#[derive(Clone, Copy, Default)]
struct Lent {
    calls: u32,
    units: u32,
}

/// One key's meter and its stored row.
pub(super) struct Object {
    meter: HeldMeter,
    /// The stored state, which a restart reads from text.
    row: Meter,
    clock: MachineClock,
    /// The delay of its machine's clock in milliseconds.
    behind: u64,
    /// When it exists; `None` before the first message.
    created: Option<u64>,
    /// The rows that were stored lately, oldest first: time, row, and the calls that were lent with it.
    /// Empty without fail-overs.
    lately: VecDeque<(u64, Meter, Lent)>,
    /// The number of fail-overs so far.
    failovers: usize,
    /// The calls that were lent with rows which a fail-over lost.
    pub(super) lost: u32,
    /// The units that were reserved with such rows.
    pub(super) lost_units: u32,
    /// The rows that were written: those of the state, and one for each alarm.
    pub(super) rows: u32,
    /// The alarms that looked at reserves.
    pub(super) alarms: u32,
    /// The time of the alarm that is set.
    alarm: Option<u64>,
    /// The time of the last message or alarm.
    active: u64,
}

/// The time without a message or an alarm after which the platform evicts an object, in milliseconds.
const EVICTED_AFTER_MS: u64 = 10_000;

impl Object {
    pub(super) fn new(clock: MachineClock) -> Self {
        Self {
            meter: HeldMeter::new(Meter::default()),
            row: Meter::default(),
            clock,
            behind: 0,
            created: None,
            lately: VecDeque::new(),
            failovers: 0,
            lost: 0,
            lost_units: 0,
            rows: 0,
            alarms: 0,
            alarm: None,
            active: 0,
        }
    }

    /// Returns the time at which it exists, if its creation takes so many milliseconds from the first
    /// message.
    pub(super) fn created(&mut self, now: u64, takes: u64) -> u64 {
        *self.created.get_or_insert(now + takes)
    }

    /// Handles a message. Returns the reply and its fate.
    pub(super) fn handle(
        &mut self,
        message: Message,
        now: u64,
        faults: &Faults,
        rng: &mut Rng,
    ) -> (Reply, Fate) {
        self.fire(now);
        self.evict(now);
        let machine = self.machine(now);
        let unseen = debts(&message);
        // An authority with replicas is not held: each of its askers reads the stored state.
        let (reply, is_changed) = match faults.failovers.is_empty() {
            true => self.meter.step(message, machine),
            false => (self.meter.meter_mut().handle(message, machine), true),
        };
        if rng.chance(faults.restarted_before_store) {
            self.restart(faults, rng);
            return (reply, Fate::Forgotten);
        }
        if is_changed {
            self.store(now);
            if faults.forgets_reserve {
                self.row = self.meter.meter().clone();
            }
        }
        if !faults.failovers.is_empty() {
            let lent = lent(&reply);
            self.replicate(now, Lent { calls: lent.calls + unseen, ..lent });
        }
        if rng.chance(faults.restarted_after_store) {
            self.restart(faults, rng);
            return (reply, Fate::Stored);
        }
        (reply, Fate::Sent)
    }

    fn machine(&mut self, now: u64) -> UnixMillis {
        self.clock.read(now).minus(self.behind)
    }

    fn store(&mut self, now: u64) {
        self.row = self.meter.row(Meter::clone);
        self.rows += 1;
        self.arm(now);
    }

    /// Sets the alarm that looks at the reserve, if none is set.
    fn arm(&mut self, now: u64) {
        let machine = self.machine(now);
        if let Some(wait) = self.meter.looks_in(machine).filter(|_| self.alarm.is_none()) {
            self.alarm = Some(now + wait);
            self.rows += 1;
        }
    }

    /// Runs the alarms that were due by `now`. Nothing has happened to the object since.
    fn fire(&mut self, now: u64) {
        while let Some(due) = self.alarm.take_if(|due| *due <= now) {
            self.evict(due);
            self.alarms += 1;
            let machine = self.machine(due);
            match self.meter.look(machine) {
                true => self.store(due),
                false => self.arm(due),
            }
        }
    }

    /// Evicts the meter from memory if nothing has happened to it for long. It continues from its row. An authority
    /// with replicas has nothing in memory.
    fn evict(&mut self, now: u64) {
        let idle = now.saturating_sub(std::mem::replace(&mut self.active, now));
        if idle >= EVICTED_AFTER_MS {
            self.meter = HeldMeter::new(self.row.clone());
        }
    }

    /// Keeps the row for a fail-over that is still to come.
    fn replicate(&mut self, now: u64, lent: Lent) {
        self.lately.push_back((now, self.row.clone(), lent));
        while self.lately.get(1).is_some_and(|(at, ..)| at + Faults::MAX_LAG < now) {
            self.lately.pop_front();
        }
    }

    /// Continues from the row that a replica had, if a fail-over was due by `now`.
    pub(super) fn fail_over(&mut self, start: u64, now: u64, faults: &Faults) {
        while let Some(&(after, lag)) = faults.failovers.get(self.failovers)
            && start + after <= now
        {
            self.failovers += 1;
            let known = start + after - lag;
            while let Some((_, _, lent)) = self.lately.pop_back_if(|(at, ..)| *at > known) {
                self.lost += lent.calls;
                self.lost_units += lent.units;
            }
            let record = self.meter.meter().record().cloned();
            self.row = self.lately.back().map_or_else(Meter::default, |(_, row, _)| row.clone());
            let machine = self.machine(now);
            self.meter = HeldMeter::new(self.row.clone());
            // A proxy sends its record with every request.
            self.meter.meter_mut().handle(Message::Show { record }, machine);
        }
    }

    fn restart(&mut self, faults: &Faults, rng: &mut Rng) {
        let text = serde_json::to_string(&self.row).unwrap();
        self.meter = HeldMeter::new(serde_json::from_str(&text).unwrap());
        self.behind = rng.range(0, faults.machines_behind + 1);
    }
}

/// Returns the calls that a reply gives a holder: the one that waits, a lease, and its share of the local
/// budget.
fn lent(reply: &Reply) -> Lent {
    let Reply::Ask(response) = reply else { return Lent::default() };
    let lease = response.lease.map_or(0, |lease| lease.calls);
    let calls = u32::from(response.verdict == Verdict::Allow) + lease + response.budget.unwrap_or(0);
    Lent { calls, units: response.reserved.map_or(0, |reserved| reserved.units) }
}

/// Returns the calls on the local budget that a message reports.
fn debts(message: &Message) -> u32 {
    let Message::Ask(request) = message else { return 0 };
    request.batch.as_ref().map_or(0, |batch| batch.debts)
}

/// The fate of a reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    /// The object restarted before it stored the effect of the message.
    Forgotten,
    /// The object restarted after it stored the effect. The reply is lost.
    Stored,
    /// The reply was sent.
    Sent,
}
