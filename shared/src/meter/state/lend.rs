//! The number of calls that a meter lends to a lease cache.

use super::Meter;
use crate::meter::lease::Lease;
use crate::meter::{LeaseTerms, MeterRequest, TTL_MS};
use crate::policy::Policy;
use crate::quota::Counts as _;
use crate::sorting::sort_by_key;
use crate::tier::Tier;
use crate::time::UnixMillis;

/// The smallest lease that is granted. Less than that is better left for all.
const MIN_LEASE: u32 = 2;

/// The shortest lease that is granted, in milliseconds: the last of a day are too short to be of
/// use.
const MIN_TTL_MS: u64 = 2_000;

impl Meter {
    /// Grants a lease of the calls that the cache will use before the lease ends, and a little for
    /// chance, less what it will have used of other leases by then. If that is too little, the
    /// cache renews early. A lease is at most the cache's share of half of what is free, or an
    /// eighth if many caches share, so that one that goes quiet blocks little.
    pub(super) fn lend(
        &mut self,
        request: &MeterRequest,
        policy: &Policy,
        tier: Tier,
        now: UnixMillis,
    ) -> Option<LeaseTerms> {
        match tier {
            Tier::Free => return None,
            Tier::Pro | Tier::Enterprise => {}
        }
        // A lease that outlasted its day would be counted on one day and spent on the next.
        let ttl_ms = TTL_MS.min(now.day().end().since(now));
        if ttl_ms < MIN_TTL_MS {
            return None;
        }
        let uses = |ms: u64| u64::from(request.rate).saturating_mul(ms).div_ceil(1_000_000);
        let held = self.leases.iter().filter(|lease| lease.holder == request.holder);
        let in_hand = held.map(|lease| uses(lease.until.since(now)).min(u64::from(lease.left))).sum();
        let mean = uses(ttl_ms);
        // Calls come at random: a lease of their mean alone would be used up too early every other
        // time.
        let wanted = mean.saturating_add(mean.isqrt()).saturating_add(1).saturating_sub(in_hand);
        let free = self.assumed().free(policy);
        // Equal shares alone starved the busiest of many isolates: 24 of them waited for the meter
        // ten times as often.
        let share = (free / 2 / self.holders_with(request.holder)).max(free / 8);
        let calls = share.min(u32::try_from(wanted).unwrap_or(u32::MAX));
        if calls < MIN_LEASE {
            return None;
        }
        let terms = LeaseTerms { id: self.next_lease(now), calls, ttl_ms };
        self.leases.push(Lease::new(terms, request.holder, now));
        Some(terms)
    }

    /// Returns the number of a new lease. An authority that lost its last writes must not give a number
    /// again that a holder may report (docs/decisions/limits.md, "A lease is numbered by the clock").
    pub(in crate::meter) fn next_lease(&mut self, now: UnixMillis) -> u64 {
        self.last_lease = self.last_lease.saturating_add(1).max(now.0);
        self.last_lease
    }

    /// Returns the number of caches that hold leases, `holder` among them.
    fn holders_with(&self, holder: u64) -> u32 {
        let mut holders: Vec<u64> = self.leases.iter().map(|lease| lease.holder).collect();
        holders.push(holder);
        sort_by_key(&mut holders, |holder| *holder);
        holders.dedup();
        u32::try_from(holders.len()).unwrap_or(u32::MAX)
    }

    /// Returns the milliseconds until the first lease ends whose cache may return something.
    pub(super) fn first_return(&self, now: UnixMillis) -> Option<u64> {
        let lent = self.leases.iter().filter(|lease| lease.left > 0);
        lent.map(|lease| lease.until.since(now)).min()
    }
}
