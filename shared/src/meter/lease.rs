//! Calls lent to one isolate for a short time.

use serde::{Deserialize, Serialize};

use crate::quota::Usage;
use crate::time::UnixMillis;

/// Lifetime of a lease, in milliseconds, counted by the meter from its response. It bounds how long
/// a revoked or downgraded key can continue.
pub const TTL_MS: u64 = 10_000;

/// Length of the slots in which a cache reports what it spent, in milliseconds from its request.
pub(crate) const SLOT_MS: u64 = 250;

/// The terms of a lease, as the meter grants it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeaseTerms {
    /// The id of the lease at its meter.
    pub id: u64,
    /// Calls it is good for.
    pub calls: u32,
    /// Its lifetime in milliseconds, which the cache counts from *before* it sent the request.
    pub ttl_ms: u64,
}

/// The calls that a cache has spent of a lease: running totals, so that a report may be lost,
/// doubled or overtaken.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeaseReport {
    /// The id of the lease.
    pub lease: u64,
    /// Calls spent so far in each slot that has any.
    pub spent: Vec<(u64, u32)>,
    /// True if the cache will spend no more of it.
    pub closed: bool,
}

/// A lease as the meter keeps it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Lease {
    pub(super) id: u64,
    pub(super) holder: u64,
    pub(super) left: u32,
    pub(super) until: UnixMillis,
    from: UnixMillis,
    /// Calls spent so far.
    spent: u32,
}

impl Lease {
    pub(super) const fn new(terms: LeaseTerms, holder: u64, from: UnixMillis) -> Self {
        let until = from.plus(terms.ttl_ms);
        Self { id: terms.id, holder, left: terms.calls, until, from, spent: 0 }
    }

    /// Counts what `report` adds to what was known.
    ///
    /// A call spent in slot `s` was spent before `from + (s + 1) * SLOT_MS`, because `from` is
    /// later than the moment the holder counts from. It is counted at that moment. A holder spends
    /// slot after slot, so what is new is what it spent last, and the total is all that must be
    /// known.
    pub(super) fn apply(&mut self, report: &LeaseReport, usage: &mut Usage) {
        let total = report.spent.iter().fold(0u32, |sum, &(_, calls)| sum.saturating_add(calls));
        // A report that was overtaken has a smaller total and adds nothing.
        let mut added = total.saturating_sub(self.spent).min(self.left);
        self.spent = self.spent.saturating_add(added);
        self.left = self.left.saturating_sub(added);
        // The newest first: what is new is what the holder has spent last.
        for &(slot, calls) in report.spent.iter().rev() {
            // The last slot may reach past the end of the lease, and no call was spent there.
            let at = self.from.plus(slot.saturating_add(1).saturating_mul(SLOT_MS)).min(self.until);
            usage.spend(at, added.min(calls));
            added = added.saturating_sub(calls);
        }
    }
}
