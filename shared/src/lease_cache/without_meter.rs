//! Decisions without the meter, and how long it is waited for before.

use super::timeouts::{LONGEST_MS, Timeouts};
use super::{Admission, LeaseCache};
use crate::key::{KeyError, VerifiedKey};
use crate::quota::QuotaStatus;
use crate::time::UnixMillis;

/// The shortest time after which a paid key continues on its local budget, in milliseconds. The second
/// copy of a request to a near meter has to arrive in it, however the way there varies.
const SHORTEST_MS: u64 = 600;

impl LeaseCache {
    /// Returns how long a call of this key waits for the meter. One that can continue on the local
    /// budget waits for two round trips at most. Any other one has no other way.
    pub(super) fn timeouts(&mut self, key: &VerifiedKey, units: u32, now: UnixMillis) -> Timeouts {
        let hedge_ms = self.round_trip.hedge_ms();
        let total_ms = if self.round_trip.is_known() && self.can_continue(key, units, now) {
            hedge_ms.saturating_mul(2).clamp(SHORTEST_MS, LONGEST_MS)
        } else {
            LONGEST_MS
        };
        Timeouts { hedge_ms, total_ms }
    }

    /// Calls continue on the local budget if the key has one, and the meter counts them once it is
    /// back. A revoked key stays refused. Any other refusal may be out of date, and only the meter
    /// knows. Units have no local budget: a call that must reserve some never passes.
    pub(super) fn decide_without_meter(
        &mut self,
        key: &VerifiedKey,
        units: u32,
        now: UnixMillis,
    ) -> Admission {
        let record = self.record_or_provisional(key);
        let continued = match record.check(key, now) {
            Err(KeyError::Revoked) => return Admission::Refuse(KeyError::Revoked),
            // A secret that was rotated just now is unknown here, and was refused as invalid once.
            Err(_) => None,
            Ok(()) if self.must_reserve(units) || self.is_day_used_up(now) => None,
            Ok(()) => {
                let failing_since = self.backoff.failing_since(now);
                self.local_budget.admit(record.local_budget(), &record.policy(), failing_since, now)
            }
        };
        match continued {
            Some(quota) => {
                let charge = self.pending.add_debt(record.secret_id(key), now);
                Admission::Allow { quota, degraded: true, charge }
            }
            None => Admission::Unavailable { retry_ms: self.backoff.remaining_ms(now) },
        }
    }

    fn can_continue(&mut self, key: &VerifiedKey, units: u32, now: UnixMillis) -> bool {
        if self.must_reserve(units) {
            return false;
        }
        let failing_since = self.backoff.failing_since(now);
        let Some(record) = self.record.as_ref().filter(|record| record.check(key, now).is_ok()) else {
            return false;
        };
        let (most, policy) = (record.local_budget(), record.policy());
        !self.is_day_used_up(now) && self.local_budget.has_left(most, &policy, failing_since, now)
    }

    /// Returns true if nothing of today was left when the meter responded last.
    fn is_day_used_up(&self, now: UnixMillis) -> bool {
        let day = self.last.and_then(|(QuotaStatus { day, .. }, at)| Some((day?, at)));
        day.is_some_and(|(day, at)| day.remaining == 0 && now.since(at) < day.reset_ms)
    }
}
