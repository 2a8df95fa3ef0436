//! The cache's share of the local budget, on which a paid key continues while its meter is out of
//! reach.

use std::num::NonZeroU32;

use crate::meter::HeldShare;
use crate::policy::Policy;
use crate::quota::{Counts as _, Decision, QuotaStatus, Usage};
use crate::time::UnixMillis;

/// Age up to which a share is good when the first request fails, in milliseconds. The meter reserves
/// it for at least as long again. Once in use, a share lasts as long as the outage.
const FRESH_MS: u64 = 300_000;

/// A sliding window over the calls that this cache admits without the meter, and the share that the
/// meter has granted it.
#[derive(Debug, Default)]
pub(super) struct LocalBudget {
    used: Usage,
    share: u32,
    /// The sequence number of the request whose response brought the share.
    heard: u32,
    /// When that request was sent. `None` without a share, and once the clock went back.
    at: Option<UnixMillis>,
}

impl LocalBudget {
    /// Takes over the share of a response to the request `seq`, which was first sent at `sent`. A
    /// response that was overtaken changes nothing.
    pub(super) fn learn(&mut self, share: u32, seq: u32, sent: UnixMillis) {
        // A response that was overtaken would restore a share that the meter has since given to
        // others.
        if seq >= self.heard {
            (self.share, self.heard, self.at) = (share, seq, Some(sent));
        }
    }

    /// Forgets the age of the share, because the clock went back. The next response brings another.
    pub(super) const fn distrust(&mut self) {
        self.at = None;
    }

    /// Returns what the meter must continue reserving for this cache.
    pub(super) fn held(&mut self, now: UnixMillis) -> HeldShare {
        self.used.roll(now);
        // Calls of the last minute stay reserved when the share shrinks: the meter grants the rest
        // to others, and together they must keep to the budget.
        HeldShare { heard: self.heard, calls: self.share.max(self.used.in_minute()) }
    }

    /// Returns true if a call would pass. `failing_since` is the moment of the first failure, and
    /// `most` the whole key's local budget.
    pub(super) fn has_left(
        &mut self,
        most: u32,
        policy: &Policy,
        failing_since: UnixMillis,
        now: UnixMillis,
    ) -> bool {
        let part = self.part(most, policy, failing_since);
        self.used.roll(now);
        part.is_some_and(|part| self.used.free(&part) > 0)
    }

    /// Counts a call if it passes. Returns the quota status to show with it.
    pub(super) fn admit(
        &mut self,
        most: u32,
        policy: &Policy,
        failing_since: UnixMillis,
        now: UnixMillis,
    ) -> Option<QuotaStatus> {
        let part = self.part(most, policy, failing_since)?;
        match self.used.admit(&part, now) {
            Decision::Allow(mut quota) => {
                quota.minute.limit = policy.minute.get();
                Some(QuotaStatus { day: None, ..quota })
            }
            Decision::Deny(..) => None,
        }
    }

    /// Returns the cache's part of the key's limits: its share of the minute, and as large a share
    /// of the day.
    fn part(&self, most: u32, policy: &Policy, failing_since: UnixMillis) -> Option<Policy> {
        // The meter gives the share of a silent cache to others after ten minutes. Both would spend
        // it then.
        let is_fresh = self.at.is_some_and(|at| failing_since.since(at) <= FRESH_MS);
        let minute = NonZeroU32::new(self.share.min(most)).filter(|_| is_fresh)?;
        let of_day = |day: NonZeroU32| {
            let calls =
                u64::from(day.get()).saturating_mul(minute.get().into()) / u64::from(policy.minute.get());
            NonZeroU32::new(u32::try_from(calls).unwrap_or(u32::MAX))
        };
        match policy.day.map(of_day) {
            Some(None) => None,
            day => Some(Policy { minute, day: day.flatten() }),
        }
    }
}
