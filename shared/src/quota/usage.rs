//! The calls that a key has used, and the decision on one more.

use serde::{Deserialize, Serialize};

use crate::policy::Policy;
use crate::quota::{Clock, Counts, Denial, QuotaStatus, Rolling};
use crate::time::{UnixMillis, UtcDay};

/// Any 60 seconds, in quarters of a second. A count stays [`MARGIN_MS`] longer than it must. What
/// can be sustained is 0.9 % below the limit.
pub type RollingMinute = Rolling<250, { 60_000 + MARGIN_MS }>;

/// Time that may lie between the moment a call is counted and the moment it is let through, or be
/// hidden by a small step of a clock, in milliseconds.
pub const MARGIN_MS: u64 = 300;

/// The calls of one key that count now.
///
/// ```
/// use shared::{policy::{Policy, Window}, quota::{Decision, Usage}, tier::Tier, time::UnixMillis};
///
/// let (policy, now) = (Policy::for_tier(Tier::Free), UnixMillis(1_763_712_000_000));
/// let mut usage = Usage::default();
/// for _ in 0..10 {
///     assert!(matches!(usage.admit(&policy, now), Decision::Allow(_)));
/// }
/// let Decision::Deny(denial, _) = usage.admit(&policy, now) else { unreachable!() };
/// assert_eq!(denial.window, Window::Minute);
/// // The window slides: the next call passes at the moment that the denial names.
/// assert!(matches!(usage.admit(&policy, now.plus(denial.retry_ms)), Decision::Allow(_)));
/// ```
///
/// **Promise.** On the key's own [`Clock`], no interval of 60 seconds, both its ends included, and
/// no UTC day holds more calls admitted here than the policy allowed at the last of them, whatever
/// the order of `now`. What is refunded does not count towards its day.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    clock: Clock,
    minute: RollingMinute,
    day: UtcDay,
    day_used: u32,
}

/// The decision on one call. A refusal is a value, not an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Decision {
    /// It may, and is counted.
    Allow(QuotaStatus),
    /// It may not, and is not counted.
    Deny(Denial, QuotaStatus),
}

impl Usage {
    /// Decides on one call and counts it if it passes.
    pub fn admit(&mut self, policy: &Policy, now: UnixMillis) -> Decision {
        let now = self.read_clock(now);
        self.roll(now);
        if self.free(policy) == 0 {
            return Decision::Deny(self.denial(policy, now), self.status(policy, now));
        }
        self.spend(now, 1);
        Decision::Allow(self.status(policy, now))
    }

    /// Returns the moment on the key's own clock, which the other calls take.
    pub(crate) fn read_clock(&mut self, now: UnixMillis) -> UnixMillis {
        self.clock.read(now)
    }

    /// Forgets what no longer counts at `now`.
    pub fn roll(&mut self, now: UnixMillis) {
        self.minute.expire(now);
        if now.day() > self.day {
            self.day = now.day();
            self.day_used = 0;
        }
    }

    /// Counts `n` calls made at the moment `at`, today.
    pub fn spend(&mut self, at: UnixMillis, n: u32) {
        self.minute.add(at, n);
        self.day_used = self.day_used.saturating_add(n);
    }

    /// Returns the moment at which a call must be counted that may be let through until `within_ms`
    /// after `at`.
    pub(crate) const fn counted_at(at: UnixMillis, within_ms: u64) -> UnixMillis {
        at.plus(within_ms.saturating_sub(MARGIN_MS))
    }

    /// Counts a call of the moment `from` at the moment `to` instead.
    pub(crate) fn postpone(&mut self, from: UnixMillis, to: UnixMillis) {
        self.minute.remove(from, 1);
        self.minute.add(to, 1);
    }

    /// Takes back a call that was counted at `at` on `day` and was never let through.
    pub(crate) fn withdraw(&mut self, at: UnixMillis, day: UtcDay) {
        self.minute.remove(at, 1);
        self.refund(day, 1);
    }

    /// Gives `n` calls of `day` back to the day's quota. The minute keeps them: it protects the
    /// tools.
    pub fn refund(&mut self, day: UtcDay, n: u32) {
        if day == self.day {
            self.day_used = self.day_used.saturating_sub(n);
        }
    }

    /// Forgets every call. The clock stays.
    pub(crate) fn clear(&mut self) {
        self.minute = RollingMinute::default();
        self.day_used = 0;
    }

    /// Returns the moment from which nothing that is counted now counts.
    pub(crate) fn ends_at(&self) -> UnixMillis {
        let day = if self.day_used > 0 { self.day.end() } else { UnixMillis::default() };
        self.minute.freed_at(self.minute.total()).map_or(day, |minute| minute.max(day))
    }

    /// Returns the day that is being counted.
    pub const fn day(&self) -> UtcDay {
        self.day
    }

    /// Returns the calls counted in the last minute and today.
    pub const fn used(&self) -> (u32, u32) {
        (self.minute.total(), self.day_used)
    }
}

impl Counts for Usage {
    fn in_minute(&self) -> u32 {
        self.minute.total()
    }

    fn freed_at(&self, n: u32) -> Option<UnixMillis> {
        self.minute.freed_at(n)
    }

    fn in_day(&self) -> u32 {
        self.day_used
    }
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU32;

    use super::*;
    use crate::policy::Window;
    use crate::tier::Tier;

    const FREE: Policy = Policy::for_tier(Tier::Free);
    const NOON: UnixMillis = UnixMillis(1_763_726_400_000);

    fn allows(usage: &mut Usage, now: UnixMillis) -> bool {
        matches!(usage.admit(&FREE, now), Decision::Allow(_))
    }

    #[test]
    fn eleventh_call_of_a_minute_is_denied() {
        let mut usage = Usage::default();
        for _ in 0..10 {
            assert!(allows(&mut usage, NOON));
        }
        let Decision::Deny(denial, quota) = usage.admit(&FREE, NOON.plus(1_000)) else { panic!("admitted") };
        assert_eq!(denial, Denial { window: Window::Minute, retry_ms: 59_550 });
        assert_eq!((quota.minute.remaining, quota.day.map(|day| day.remaining)), (0, Some(90)));
        assert!(!allows(&mut usage, NOON.plus(1_000 + denial.retry_ms - 1)));
        assert!(allows(&mut usage, NOON.plus(1_000 + denial.retry_ms)));
    }

    #[test]
    fn call_over_the_day_is_denied_until_midnight() {
        let mut usage = Usage::default();
        let mut now = NOON;
        for _ in 0..100 {
            assert!(allows(&mut usage, now));
            now = now.plus(7_000);
        }
        let Decision::Deny(denial, _) = usage.admit(&FREE, now) else { panic!("admitted") };
        assert_eq!(denial, Denial { window: Window::Day, retry_ms: now.day().end().since(now) });
        assert!(allows(&mut usage, now.plus(denial.retry_ms)));
    }

    #[test]
    fn full_minute_outlasts_midnight() {
        let mut usage = Usage::default();
        let own = Policy { minute: NonZeroU32::new(10).unwrap(), day: NonZeroU32::new(10) };
        let late = NOON.day().end().minus(5_000);
        for _ in 0..10 {
            usage.admit(&own, late);
        }
        let Decision::Deny(denial, _) = usage.admit(&own, late) else { panic!("admitted") };
        assert_eq!(denial, Denial { window: Window::Minute, retry_ms: 60_550 });
    }

    #[test]
    fn refund_changes_the_day_and_not_the_minute() {
        let mut usage = Usage::default();
        for _ in 0..10 {
            allows(&mut usage, NOON);
        }
        usage.refund(NOON.day(), 10);
        assert_eq!(usage.used(), (10, 0));
        usage.refund(UtcDay(NOON.day().0 - 1), 5);
        assert_eq!(usage.used(), (10, 0), "yesterday is closed");
    }

    #[test]
    fn counts_end_with_the_day_and_the_minute() {
        let mut usage = Usage::default();
        assert_eq!(usage.ends_at(), UnixMillis::default());
        allows(&mut usage, NOON);
        assert_eq!(usage.ends_at(), NOON.day().end());
        usage.clear();
        assert_eq!((usage.used(), usage.ends_at()), ((0, 0), UnixMillis::default()));
    }

    #[test]
    fn lowered_limit_denies_until_enough_has_left() {
        let mut usage = Usage::default();
        let pro = Policy::for_tier(Tier::Pro);
        for second in 0..30 {
            usage.admit(&pro, NOON.plus(second * 1_000));
        }
        let Decision::Deny(denial, _) = usage.admit(&FREE, NOON.plus(30_000)) else { panic!("admitted") };
        assert!(!allows(&mut usage, NOON.plus(30_000 + denial.retry_ms - 1)));
        assert!(allows(&mut usage, NOON.plus(30_000 + denial.retry_ms)));
    }
}
