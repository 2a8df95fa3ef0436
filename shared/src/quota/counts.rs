//! The decisions that follow from the counts of a key, in whatever form they are kept.

use std::num::NonZeroU32;

use crate::policy::{Policy, Window};
use crate::quota::{Denial, QuotaStatus, WindowStatus};
use crate::time::UnixMillis;

/// The calls of one key that count now: what no longer counts must have been forgotten before
/// anything is asked.
pub trait Counts {
    /// Returns the calls counted in the last minute.
    fn in_minute(&self) -> u32;

    /// Returns the moment by which at least `n` of the minute's calls will have left it, if nothing
    /// is added; `None` if there are fewer than `n`.
    fn freed_at(&self, n: u32) -> Option<UnixMillis>;

    /// Returns the calls counted today.
    fn in_day(&self) -> u32;

    /// Returns the number of calls that would pass now.
    fn free(&self, policy: &Policy) -> u32 {
        let minute = policy.minute.get().saturating_sub(self.in_minute());
        let day = policy.day.map_or(u32::MAX, |day| day.get().saturating_sub(self.in_day()));
        minute.min(day)
    }

    /// Returns the key's quota status. `now` is read off the key's own
    /// [`Clock`](crate::quota::Clock).
    fn status(&self, policy: &Policy, now: UnixMillis) -> QuotaStatus {
        let left = |limit: NonZeroU32, used: u32, reset_ms: u64| WindowStatus {
            limit: limit.get(),
            remaining: limit.get().saturating_sub(used),
            reset_ms,
        };
        let minute = left(policy.minute, self.in_minute(), minute_reset(self, policy, now));
        let day = policy.day.map(|limit| left(limit, self.in_day(), now.day().end().since(now)));
        QuotaStatus { minute, day, units: None }
    }

    /// Returns the reason for which a call is refused, and when one will pass if nothing else is
    /// called until then.
    fn denial(&self, policy: &Policy, now: UnixMillis) -> Denial {
        let day_full = policy.day.is_some_and(|day| self.in_day() >= day.get());
        let minute_full = self.in_minute() >= policy.minute.get();
        let minute = if minute_full { minute_reset(self, policy, now).max(1) } else { 1 };
        let day = if day_full { now.day().end().since(now) } else { 0 };
        // The later of both: sent at the earlier moment, the call would be refused again.
        if day < minute {
            Denial { window: Window::Minute, retry_ms: minute }
        } else {
            Denial { window: Window::Day, retry_ms: day }
        }
    }
}

/// Until the next call passes when the minute is full, until the first count leaves otherwise.
fn minute_reset(counts: &(impl Counts + ?Sized), policy: &Policy, now: UnixMillis) -> u64 {
    let excess = counts.in_minute().saturating_sub(policy.minute.get().saturating_sub(1));
    counts.freed_at(excess.max(1)).map_or(0, |at| at.since(now))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tier::Tier;

    /// Counts of a key whose minute and day are full. Its minute is free again at this moment.
    struct Full(UnixMillis);

    impl Counts for Full {
        fn in_minute(&self) -> u32 {
            u32::MAX
        }

        fn freed_at(&self, _: u32) -> Option<UnixMillis> {
            Some(self.0)
        }

        fn in_day(&self) -> u32 {
            u32::MAX
        }
    }

    #[test]
    fn denial_names_the_window_that_is_full_for_longer() {
        let (policy, end) = (Policy::for_tier(Tier::Free), UnixMillis(1_763_726_400_000).day().end());
        for (freed, window, retry_ms) in [
            (end.minus(1), Window::Day, 5_000),
            (end, Window::Day, 5_000),
            (end.plus(1), Window::Minute, 5_001),
        ] {
            let denial = Full(freed).denial(&policy, end.minus(5_000));
            assert_eq!(denial, Denial { window, retry_ms });
        }
    }
}
