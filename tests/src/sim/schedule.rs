//! The event queue of the simulation.

use std::{cmp::Reverse, collections::BinaryHeap};

use shared::{
    lease_cache::{Charge, ReportTurn},
    meter::{MeterRequest, MeterResponse},
    time::UnixMillis,
};

use super::{
    PricedCall,
    turns::{Command, Found},
};

/// An event. Isolates and exchanges are given by their index.
pub(super) enum Event {
    Call { isolate: usize, fails: bool, priced: Option<PricedCall> },
    AtMeter(usize, Box<MeterRequest>),
    AtIsolate(usize, Box<MeterRequest>, Box<MeterResponse>),
    AtServer(usize, Box<Command>),
    AtProxy(usize, Box<Found>),
    Retry(usize),
    Deadline(usize),
    Timer { isolate: usize, life: u32, started: UnixMillis, turn: ReportTurn },
    Ended { isolate: usize, life: u32, fails: bool, charge: Charge },
    CostKnown { isolate: usize, life: u32, units: u32, charge: Charge },
    Change(usize),
}

/// A priority queue of events by time. Events of the same time keep the order in which they were
/// pushed.
#[derive(Default)]
pub(super) struct Schedule {
    queue: BinaryHeap<Reverse<Scheduled>>,
    pushed: u64,
}

struct Scheduled {
    at: u64,
    order: u64,
    event: Event,
}

impl Schedule {
    /// Adds an event at a time in milliseconds since the epoch.
    pub(super) fn push(&mut self, at: u64, event: Event) {
        self.pushed += 1;
        self.queue.push(Reverse(Scheduled { at, order: self.pushed, event }));
    }

    /// Removes the next event. Returns it with its time.
    pub(super) fn pop(&mut self) -> Option<(u64, Event)> {
        self.queue.pop().map(|Reverse(next)| (next.at, next.event))
    }
}

impl PartialEq for Scheduled {
    fn eq(&self, other: &Self) -> bool {
        self.order == other.order
    }
}

impl Eq for Scheduled {}

impl PartialOrd for Scheduled {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Scheduled {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (self.at, self.order).cmp(&(other.at, other.order))
    }
}
