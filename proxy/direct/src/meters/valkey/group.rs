//! The messages to one meter that travel together.

use std::time::Duration;

use shared::key::KeyId;
use shared::meter::{Ask, Reply, Turn, TurnError};
use shared::time::UnixMillis;

use super::super::queue::{Job, MeterError, Waiter};

/// The messages to one meter, in their order.
pub(super) struct Group {
    id: KeyId,
    ask: Ask,
    waiters: Vec<Waiter>,
    /// What was read last, which is empty if nothing is stored, and when by the server's clock.
    found: Option<(UnixMillis, Vec<u8>)>,
}

impl Group {
    /// Returns the group of the messages for which someone waits; `None` if there are none.
    pub(super) fn new(id: KeyId, jobs: Vec<Job>) -> Option<Self> {
        // A call that gave up got a refusal, and must not be counted after that.
        let waited = jobs.into_iter().filter(|job| !job.is_abandoned());
        let (messages, waiters): (Vec<_>, Vec<_>) = waited.map(|job| (job.message, job.waiter)).unzip();
        let group = Self { id, ask: Ask::new(fastrand::u64(..), messages), waiters, found: None };
        (!group.waiters.is_empty()).then_some(group)
    }

    pub(super) const fn id(&self) -> KeyId {
        self.id
    }

    /// Returns true if no one waits any more.
    pub(super) fn is_abandoned(&self) -> bool {
        self.waiters.iter().all(Waiter::is_gone)
    }

    /// Returns true if its value was read.
    pub(super) const fn is_read(&self) -> bool {
        self.found.is_some()
    }

    pub(super) fn read(&mut self, time: UnixMillis, value: Vec<u8>) {
        self.found = Some((time, value));
    }

    /// Records that another proxy was ahead, and what is stored now.
    pub(super) fn lose(&mut self, time: UnixMillis, value: Vec<u8>) {
        self.ask.lose();
        self.read(time, value);
    }

    /// Handles the messages. Returns what to store, and the line that leaves the messages in the value if
    /// another proxy is ahead. `trip` is the time of a round trip to the server.
    pub(super) fn turn(&mut self, trip: Duration) -> Result<(Turn, Vec<u8>), MeterError> {
        let (now, value) = self.found.take().ok_or(MeterError::Unexpected)?;
        let waited_ms = self.waiters.iter().map(|waiter| millis(waiter.waited()));
        let turn = self.ask.turn((now, &value), fastrand::u64(..), millis(trip), waited_ms);
        turn.map_err(|error| match error {
            TurnError::Unreadable => MeterError::Unreadable(self.id),
            TurnError::Unwritable(error) => MeterError::failed(error),
        })
    }

    pub(super) fn end(self, replies: Vec<Reply>) {
        for ((message, waiter), reply) in self.ask.into_messages().into_iter().zip(self.waiters).zip(replies)
        {
            waiter.end(Ok((message, reply)));
        }
    }

    pub(super) fn fail(self, error: &MeterError) {
        for waiter in self.waiters {
            waiter.end(Err(error.clone()));
        }
    }
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}
