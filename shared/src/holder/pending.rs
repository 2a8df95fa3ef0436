//! What became of calls, kept until the meter has taken it.

use crate::{meter::Batch, time::UtcDay, tool::Tool};

/// The batch under way and the one being gathered behind it.
#[derive(Debug, Default)]
pub(super) struct Pending {
    sending: Option<Batch>,
    gathering: Gathered,
    number: u32,
}

#[derive(Debug, Default)]
struct Gathered {
    day: UtcDay,
    refunds: u32,
    debts: u32,
    ended: Vec<(Tool, u16, u32)>,
}

impl Pending {
    pub(super) fn ended(&mut self, tool: Tool, status: u16, uncharged: bool, day: UtcDay) {
        self.roll(day);
        self.gathering.refunds += u32::from(uncharged);
        match self.gathering.ended.iter_mut().find(|(t, s, _)| (*t, *s) == (tool, status)) {
            Some((_, _, calls)) => *calls = calls.saturating_add(1),
            None => self.gathering.ended.push((tool, status, 1)),
        }
    }

    pub(super) fn owe(&mut self, day: UtcDay) {
        self.roll(day);
        self.gathering.debts = self.gathering.debts.saturating_add(1);
    }

    pub(super) fn any(&self) -> bool {
        self.sending.is_some() || self.gathering.any()
    }

    /// The batch to send now: the same as before until it was acknowledged.
    pub(super) fn batch(&mut self, day: UtcDay) -> Option<Batch> {
        if self.sending.is_none() && self.gathering.any() {
            self.roll(day);
            let Gathered { day, refunds, debts, ended } = std::mem::take(&mut self.gathering);
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

    /// Refunds belong to their day; what was not given back by its end is void.
    fn roll(&mut self, day: UtcDay) {
        if self.gathering.day != day {
            self.gathering.day = day;
            self.gathering.refunds = 0;
        }
    }
}

impl Gathered {
    fn any(&self) -> bool {
        self.refunds > 0 || self.debts > 0 || !self.ended.is_empty()
    }
}
