//! Decisions without the meter, and how long it is waited for before.

use super::{
    Admission, LeaseCache,
    timeouts::{LONGEST_MS, Timeouts},
};
use crate::{
    key::{KeyError, VerifiedKey},
    policy::Policy,
    quota::Decision,
    tier::Tier,
    time::UnixMillis,
};

/// The shortest time after which a paid key continues on its local budget, in milliseconds.
const SHORTEST_MS: u64 = 300;

impl LeaseCache {
    /// Returns how long a call of this key waits for the meter. A paid key that can continue on its
    /// local budget waits for two round trips at most, or 300 ms while the round trip is unknown.
    pub(super) fn timeouts(&self, key: &VerifiedKey, now: UnixMillis) -> Timeouts {
        let hedge_ms = self.round_trip.hedge_ms();
        let total_ms = match self.record.as_ref().map_or(key.issued_tier, |record| record.tier) {
            _ if self.record.is_some() && !self.is_usable(key, now) => LONGEST_MS,
            Tier::Free => LONGEST_MS,
            Tier::Pro | Tier::Enterprise if self.round_trip.is_known() => {
                hedge_ms.saturating_mul(2).clamp(SHORTEST_MS, LONGEST_MS)
            }
            Tier::Pro | Tier::Enterprise => SHORTEST_MS,
        };
        Timeouts { hedge_ms, total_ms }
    }

    /// Calls of Free keys fail, because their limit is small and they always need the meter. Paid
    /// keys continue on a local budget, and the meter counts those calls once it is back. A revoked
    /// key stays refused. Any other refusal may be out of date, and only the meter knows.
    pub(super) fn decide_without_meter(&mut self, key: &VerifiedKey, now: UnixMillis) -> Admission {
        let retry_ms = self.backoff.remaining_ms(now);
        let record = self.record_or_provisional(key);
        match (record.check(key, now), record.tier) {
            (Err(KeyError::Revoked), _) => Admission::Refuse(KeyError::Revoked),
            (Err(_), _) | (Ok(()), Tier::Free) => Admission::Unavailable { retry_ms },
            (Ok(()), Tier::Pro | Tier::Enterprise) => self.decide_on_local_budget(&record.policy(), now),
        }
    }

    fn decide_on_local_budget(&mut self, policy: &Policy, now: UnixMillis) -> Admission {
        match self.local_budget.admit(policy, now) {
            Decision::Allow(quota) => {
                let charge = self.pending.add_debt(now);
                Admission::Allow { quota, degraded: true, charge }
            }
            Decision::Deny(denial, quota) => Admission::Deny(denial, quota),
        }
    }
}
