//! A lease in an isolate's hand.

use std::collections::BTreeMap;

use crate::{
    meter::{LeaseTerms, Report, SLOT_MS},
    time::{UnixMillis, UtcDay},
};

/// How long before its end a lease is no longer spent, in milliseconds: twice what a clock step may hide.
const MARGIN_MS: u64 = 2 * SLOT_MS;

#[derive(Debug)]
pub(super) struct Held {
    pub(super) calls: u32,
    pub(super) left: u32,
    /// From this moment on it is not spent.
    pub(super) until: UnixMillis,
    /// The meter's day its calls count on.
    pub(super) day: UtcDay,
    id: u64,
    from: UnixMillis,
    spent: BTreeMap<u64, u32>,
}

impl Held {
    /// A lease that was asked for at `sent`. The meter counts its time from later.
    pub(super) fn new(terms: LeaseTerms, sent: UnixMillis, day: UtcDay) -> Self {
        Self {
            calls: terms.calls,
            left: terms.calls,
            until: sent.plus(terms.ttl_ms.saturating_sub(MARGIN_MS)),
            day,
            id: terms.id,
            from: sent,
            spent: BTreeMap::new(),
        }
    }

    pub(super) fn spendable(&self, now: UnixMillis) -> bool {
        self.left > 0 && now < self.until
    }

    pub(super) fn spend(&mut self, now: UnixMillis) {
        self.left = self.left.saturating_sub(1);
        let calls = self.spent.entry(now.since(self.from) / SLOT_MS).or_insert(0);
        *calls = calls.saturating_add(1);
    }

    pub(super) fn used(&self) -> bool {
        self.left < self.calls
    }

    pub(super) fn report(&self, now: UnixMillis) -> Report {
        let spent = self.spent.iter().map(|(&slot, &calls)| (slot, calls)).collect();
        Report { lease: self.id, spent, closed: !self.spendable(now) }
    }
}
