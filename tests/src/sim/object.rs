//! The shell of the Durable Object: load, handle, store, reply, and the restarts in between.

use shared::meter::{Message, Meter, Reply};

use super::{Faults, Rng, clock::MachineClock};

/// One key's meter and its stored row.
pub(super) struct Object {
    meter: Meter,
    /// The stored state, which a restart reads from text.
    row: Meter,
    clock: MachineClock,
    /// The delay of its machine's clock in milliseconds.
    behind: u64,
    /// When it exists; `None` before the first message.
    created: Option<u64>,
}

impl Object {
    pub(super) fn new(clock: MachineClock) -> Self {
        Self { meter: Meter::default(), row: Meter::default(), clock, behind: 0, created: None }
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
