//! The outcomes of calls, kept until the meter has acknowledged them.

use crate::{meter::Batch, time::UtcDay, tool::Tool};

/// A record of where an admitted call is counted, to pass to
/// [`LeaseCache::record_outcome`](super::LeaseCache::record_outcome).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Charge(Place);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// On this day of the meter's.
    Day(UtcDay),
    /// On the local budget, as a debt.
    Debt,
}

/// The batch in flight and the one being gathered behind it.
#[derive(Debug, Default)]
pub(super) struct Pending {
    sending: Option<Batch>,
    gathering: Gathering,
    number: u32,
}

#[derive(Debug, Default)]
struct Gathering {
    day: UtcDay,
    refunds: u32,
    debts: u32,
    ended: Vec<(Tool, u16, u32)>,
}

impl Charge {
    pub(super) const fn on(day: UtcDay) -> Self {
        Self(Place::Day(day))
    }
}

impl Pending {
    pub(super) fn record_end(&mut self, tool: Tool, status: u16) {
        match self.gathering.ended.iter_mut().find(|(t, s, _)| (*t, *s) == (tool, status)) {
            Some((_, _, calls)) => *calls = calls.saturating_add(1),
            None => self.gathering.ended.push((tool, status, 1)),
        }
    }

    /// Counts a call on the local budget, which the meter has yet to count.
    pub(super) fn add_debt(&mut self) -> Charge {
        self.gathering.debts = self.gathering.debts.saturating_add(1);
        Charge(Place::Debt)
    }

    /// Refunds a call to the day it was counted on. A batch holds the refunds of one day, and a day
    /// that is over takes none. A debt that is in flight already stays.
    pub(super) fn refund(&mut self, charge: Charge) {
        let gathered = &mut self.gathering;
        match charge.0 {
            Place::Debt => gathered.debts = gathered.debts.saturating_sub(1),
            Place::Day(day) if day < gathered.day => {}
            Place::Day(day) if day == gathered.day => gathered.refunds = gathered.refunds.saturating_add(1),
            Place::Day(day) => (gathered.day, gathered.refunds) = (day, 1),
        }
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.sending.is_none() && self.gathering.is_empty()
    }

    /// Returns the batch to send now: the same one until it is acknowledged.
    pub(super) fn batch(&mut self) -> Option<Batch> {
        if self.sending.is_none() && !self.gathering.is_empty() {
            let Gathering { day, refunds, debts, ended } = std::mem::take(&mut self.gathering);
            self.number = self.number.saturating_add(1);
            self.sending = Some(Batch { number: self.number, day, refunds, debts, ended });
        }
        self.sending.clone()
    }

    pub(super) fn acknowledge(&mut self, number: u32) {
        if self.sending.as_ref().is_some_and(|batch| batch.number <= number) {
            self.sending = None;
        }
    }
}

impl Gathering {
    const fn is_empty(&self) -> bool {
        self.refunds == 0 && self.debts == 0 && self.ended.is_empty()
    }
}
