//! The leases that an isolate holds.

use crate::meter::{LeaseReport, LeaseTerms, SLOT_MS};
use crate::sorted_map::SortedMap;
use crate::time::{UnixMillis, UtcDay};

/// Margin before its end in which a lease is no longer spent, in milliseconds: more than twice what
/// a clock step may hide.
const MARGIN_MS: u64 = 500;

/// All leases of a cache, the oldest first.
#[derive(Debug, Default)]
pub(super) struct Leases {
    held: Vec<HeldLease>,
    /// The ids of leases that were added and their ends. Both copies of a request may bring the
    /// same lease.
    known: Vec<(u64, UnixMillis)>,
}

#[derive(Debug)]
struct HeldLease {
    id: u64,
    calls: u32,
    left: u32,
    from: UnixMillis,
    /// The moment from which it is not spent.
    until: UnixMillis,
    /// The meter's day on which its calls count.
    day: UtcDay,
    spent: SortedMap<u64, u32>,
}

impl Leases {
    /// Adds a lease that was requested at `sent`, unless it was added before. The meter counts its
    /// lifetime from later.
    pub(super) fn add(&mut self, terms: LeaseTerms, sent: UnixMillis, day: UtcDay, now: UnixMillis) {
        self.known.retain(|&(_, until)| now < until);
        // Both copies of a request bring the same lease. Added twice, it would be spent twice.
        if self.known.iter().any(|&(id, _)| id == terms.id) {
            return;
        }
        // From before the request left, which is earlier than the meter's grant: it ends here
        // before it ends there.
        let until = sent.plus(terms.ttl_ms.saturating_sub(MARGIN_MS));
        self.known.push((terms.id, until));
        self.held.push(HeldLease {
            id: terms.id,
            calls: terms.calls,
            left: terms.calls,
            from: sent,
            until,
            day,
            spent: SortedMap::new(),
        });
    }

    /// Drops all leases. The meter then counts them as spent.
    pub(super) fn drop_all(&mut self) {
        self.held.clear();
    }

    /// Ends all leases early: the next report returns them.
    pub(super) fn end_all(&mut self, now: UnixMillis) {
        for lease in &mut self.held {
            lease.until = lease.until.min(now);
        }
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.held.is_empty()
    }

    /// Spends one call. Returns the day it counts on, or `None` if there is nothing to spend.
    pub(super) fn spend(&mut self, now: UnixMillis) -> Option<UtcDay> {
        // The oldest first, because it ends first.
        let lease = self.held.iter_mut().find(|lease| lease.spendable(now))?;
        lease.left = lease.left.saturating_sub(1);
        let calls = lease.spent.get_or_default(now.since(lease.from) / SLOT_MS);
        *calls = calls.saturating_add(1);
        Some(lease.day)
    }

    /// Returns the number of calls that can be spent now.
    pub(super) fn left(&self, now: UnixMillis) -> u32 {
        let spendable = self.held.iter().filter(|lease| lease.spendable(now));
        spendable.fold(0, |sum, lease| sum.saturating_add(lease.left))
    }

    pub(super) fn first_end(&self) -> Option<UnixMillis> {
        self.held.iter().map(|lease| lease.until).min()
    }

    pub(super) fn last_end(&self) -> Option<UnixMillis> {
        self.held.iter().map(|lease| lease.until).max()
    }

    /// Returns true if a lease has ended of which some calls were spent.
    pub(super) fn ended_in_use(&self, now: UnixMillis) -> bool {
        self.held.iter().any(|lease| lease.until <= now && lease.left < lease.calls)
    }

    /// Returns the running totals of all leases. Leases that have ended or are used up are returned
    /// to the meter with this report.
    pub(super) fn report(&mut self, now: UnixMillis) -> Vec<LeaseReport> {
        let reports = self.held.iter().map(|lease| lease.report(now)).collect();
        // Dropped before the report leaves: what the meter takes back must not be spent here any
        // more.
        self.held.retain(|lease| lease.spendable(now));
        reports
    }
}

impl HeldLease {
    fn spendable(&self, now: UnixMillis) -> bool {
        self.left > 0 && now < self.until
    }

    fn report(&self, now: UnixMillis) -> LeaseReport {
        let spent = self.spent.iter().map(|(&slot, &calls)| (slot, calls)).collect();
        // Running totals: a report may be lost or doubled, and the next one says all of it again.
        LeaseReport { lease: self.id, spent, closed: !self.spendable(now) }
    }
}
