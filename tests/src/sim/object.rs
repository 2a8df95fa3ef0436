//! The Durable Object's shell: load, handle, store, reply; and what may happen in between.

use shared::meter::{Message, Meter, Reply};

use super::{Faults, Rng, clock::MachineClock};

/// One key's meter and its stored row.
pub(super) struct Object {
    meter: Meter,
    /// What a restart begins with. It is turned into text and back when that happens.
    row: Meter,
    clock: MachineClock,
    /// How far the machine it runs on is behind.
    behind: u64,
}

impl Object {
    pub(super) fn new(clock: MachineClock) -> Self {
        Self { meter: Meter::default(), row: Meter::default(), clock, behind: 0 }
    }

    /// Answers a message, and whether the answer was stored and could leave.
    pub(super) fn handle(
        &mut self,
        message: Message,
        now: u64,
        faults: &Faults,
        rng: &mut Rng,
    ) -> (Reply, Fate) {
        let machine = self.clock.read(now).minus(self.behind);
        let reply = self.meter.handle(message, machine);
        if rng.chance(faults.restarted_before_store) {
            self.restart(faults, rng);
            return (reply, Fate::Forgotten);
        }
        self.row = self.meter.clone();
        if rng.chance(faults.restarted_after_store) {
            self.restart(faults, rng);
            return (reply, Fate::Stored);
        }
        (reply, Fate::Sent)
    }

    fn restart(&mut self, faults: &Faults, rng: &mut Rng) {
        let text = serde_json::to_string(&self.row).unwrap();
        self.meter = serde_json::from_str(&text).unwrap();
        self.behind = rng.range(0, faults.machines_behind + 1);
    }
}

/// What became of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    /// The object restarted before it was stored: it never was.
    Forgotten,
    /// The object restarted once it was stored: it holds, but nobody hears it.
    Stored,
    /// It left.
    Sent,
}
