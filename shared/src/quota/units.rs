//! The units that a key has spent: each call costs as many as its price says.
//!
//! Why: docs/decisions/limits.md, "Units are reserved by the meter and never lent".

use std::num::NonZeroU32;

use serde::{Deserialize, Serialize};

use crate::policy::{UnitLimits, Window};
use crate::quota::{Denial, RollingMinute, UnitsStatus, WindowStatus};
use crate::time::{UnixMillis, UtcDay};

/// The units of one key that count now.
///
/// ```
/// use std::num::NonZeroU32;
///
/// use shared::{policy::UnitLimits, quota::UnitUsage, time::UnixMillis};
///
/// let now = UnixMillis(1_763_712_000_000);
/// let limits = UnitLimits { day: NonZeroU32::new(100), ..UnitLimits::NONE };
/// let mut usage = UnitUsage::default();
/// usage.roll(now);
/// // A call that costs at most 60 units has used 10 of them.
/// let reserved = usage.reserve(60, now, now.day());
/// usage.give_back(reserved, 50);
/// assert_eq!(usage.denial(&limits, 90, now), None);
/// assert!(usage.denial(&limits, 91, now).is_some());
/// ```
///
/// **Promise.** On the key's own [`Clock`](crate::quota::Clock), no interval of 60 seconds, no UTC day
/// and no UTC month holds more units than its limit, of calls that passed [`UnitUsage::denial`] and were
/// reserved. What is given back does not count. A call counts with all that is reserved for it until
/// then.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnitUsage {
    minute: RollingMinute,
    day: UtcDay,
    day_used: u32,
    month_used: u32,
}

/// Units that are reserved for one call, and where they are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "(UnixMillis, UtcDay, u32)", into = "(UnixMillis, UtcDay, u32)")]
pub struct ReservedUnits {
    /// The moment at which they are counted in the minute.
    pub at: UnixMillis,
    /// The day on which they are counted.
    pub day: UtcDay,
    /// The units.
    pub units: u32,
}

/// The units that a key has spent in each of its windows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SpentUnits {
    /// In the last minute.
    pub minute: u32,
    /// Today.
    pub day: u32,
    /// In this month.
    pub month: u32,
}

impl UnitUsage {
    /// Forgets what no longer counts at `now`.
    pub fn roll(&mut self, now: UnixMillis) {
        self.minute.expire(now);
        let day = now.day();
        // Only forward: a step back of the clock must not give a day's units again.
        if day > self.day {
            if day >= self.day.month().1 {
                self.month_used = 0;
            }
            (self.day, self.day_used) = (day, 0);
        }
    }

    /// Counts `units` at the moment `at` and on `day`.
    pub fn reserve(&mut self, units: u32, at: UnixMillis, day: UtcDay) -> ReservedUnits {
        self.minute.add(at, units);
        self.day_used = self.day_used.saturating_add(units);
        self.month_used = self.month_used.saturating_add(units);
        ReservedUnits { at, day, units }
    }

    /// Gives `units` of a reservation back, where they still count. Must be called once for each unit.
    pub fn give_back(&mut self, reserved: ReservedUnits, units: u32) {
        // Nothing more than was reserved, or a tool could report its way to free calls.
        let units = units.min(reserved.units);
        self.minute.remove(reserved.at, units);
        // A call that began yesterday has spent units of yesterday.
        if reserved.day == self.day {
            self.day_used = self.day_used.saturating_sub(units);
        }
        if reserved.day.month() == self.day.month() {
            self.month_used = self.month_used.saturating_sub(units);
        }
    }

    /// Counts a reservation of the moment `from` at the moment `to` instead.
    pub(crate) fn postpone(&mut self, units: u32, from: UnixMillis, to: UnixMillis) {
        self.minute.remove(from, units);
        self.minute.add(to, units);
    }

    /// Returns the reason for which a call of `units` is refused, and when it will pass if nothing else
    /// is called until then. `None` if it passes. Of several windows it is the one that stays full
    /// longest.
    pub fn denial(&self, limits: &UnitLimits, units: u32, now: UnixMillis) -> Option<Denial> {
        let denials = limits.each().filter_map(|(window, limit)| {
            let used = self.used(window);
            let excess = used.saturating_add(units).saturating_sub(limit.get());
            if excess == 0 {
                return None;
            }
            let retry_ms = if excess > used { Denial::NEVER } else { self.freed_in(window, excess, now) };
            Some(Denial { window, retry_ms })
        });
        denials.max_by_key(|denial| denial.retry_ms)
    }

    /// Returns the status of each limit.
    pub fn status(&self, limits: &UnitLimits, now: UnixMillis) -> UnitsStatus {
        let status = |window: Window, limit: NonZeroU32| {
            let used = self.used(window);
            let remaining = limit.get().saturating_sub(used);
            // Until the next unit is to be had, as the status of calls says.
            let excess = used.saturating_sub(limit.get().saturating_sub(1)).max(1);
            let reset_ms = self.freed_in(window, excess, now);
            WindowStatus { limit: limit.get(), remaining, reset_ms }
        };
        UnitsStatus {
            minute: limits.minute.map(|limit| status(Window::UnitsMinute, limit)),
            day: limits.day.map(|limit| status(Window::UnitsDay, limit)),
            month: limits.month.map(|limit| status(Window::UnitsMonth, limit)),
        }
    }

    /// Returns what counts now.
    pub const fn spent(&self) -> SpentUnits {
        SpentUnits { minute: self.minute.total(), day: self.day_used, month: self.month_used }
    }

    /// Returns true if nothing counts any more at `now`.
    pub fn is_over(&self, now: UnixMillis) -> bool {
        let mut later = self.clone();
        later.roll(now);
        later.spent() == SpentUnits::default()
    }

    /// Drops what lies further ahead of `now` than stored moments may
    /// ([`UnixMillis::latest_stored`]). Returns true if there was any.
    pub fn drop_future(&mut self, now: UnixMillis) -> bool {
        let latest = now.latest_stored();
        let is_ahead = self.day > latest.day()
            || self.minute.buckets().any(|(bucket, _)| RollingMinute::begins_at(bucket) > latest);
        if is_ahead {
            *self = Self::default();
        }
        is_ahead
    }

    const fn used(&self, window: Window) -> u32 {
        match window {
            Window::Minute | Window::UnitsMinute => self.minute.total(),
            Window::Day | Window::UnitsDay => self.day_used,
            Window::UnitsMonth => self.month_used,
        }
    }

    /// Returns the milliseconds until `units` of a window are free again. 0 if it has fewer.
    fn freed_in(&self, window: Window, units: u32, now: UnixMillis) -> u64 {
        match window {
            Window::Minute | Window::UnitsMinute => self.minute.freed_at(units).map_or(0, |at| at.since(now)),
            Window::Day | Window::UnitsDay => now.day().end().since(now),
            Window::UnitsMonth => now.day().month().1.start().since(now),
        }
    }
}

impl From<(UnixMillis, UtcDay, u32)> for ReservedUnits {
    fn from((at, day, units): (UnixMillis, UtcDay, u32)) -> Self {
        Self { at, day, units }
    }
}

impl From<ReservedUnits> for (UnixMillis, UtcDay, u32) {
    fn from(ReservedUnits { at, day, units }: ReservedUnits) -> Self {
        (at, day, units)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOON: UnixMillis = UnixMillis(1_763_726_400_000);

    fn limits(minute: u32, day: u32, month: u32) -> UnitLimits {
        let limit = NonZeroU32::new;
        UnitLimits { minute: limit(minute), day: limit(day), month: limit(month) }
    }

    fn spend(usage: &mut UnitUsage, limits: &UnitLimits, units: u32, now: UnixMillis) -> Option<Denial> {
        usage.roll(now);
        let denial = usage.denial(limits, units, now);
        if denial.is_none() {
            usage.reserve(units, now, now.day());
        }
        denial
    }

    #[test]
    fn call_that_could_exceed_a_window_is_denied_until_it_passes() {
        let limits = limits(100, 150, 0);
        let mut usage = UnitUsage::default();
        assert_eq!(spend(&mut usage, &limits, 60, NOON), None);
        let denial = spend(&mut usage, &limits, 41, NOON.plus(1_000)).unwrap();
        assert_eq!(denial, Denial { window: Window::UnitsMinute, retry_ms: 59_550 });
        assert_eq!(spend(&mut usage, &limits, 40, NOON.plus(1_000)), None, "a cheaper call passes");
        let denial = spend(&mut usage, &limits, 51, NOON.plus(62_000)).unwrap();
        assert_eq!(
            (denial.window, denial.retry_ms),
            (Window::UnitsDay, NOON.day().end().since(NOON.plus(62_000)))
        );
        let denial = spend(&mut usage, &limits, 101, NOON.plus(62_000)).unwrap();
        assert_eq!(denial, Denial { window: Window::UnitsMinute, retry_ms: Denial::NEVER });
    }

    #[test]
    fn units_given_back_count_in_no_window() {
        let limits = limits(100, 100, 100);
        let mut usage = UnitUsage::default();
        usage.roll(NOON);
        let reserved = usage.reserve(100, NOON, NOON.day());
        assert!(usage.denial(&limits, 1, NOON).is_some());
        usage.give_back(reserved, 93);
        assert_eq!(usage.spent(), SpentUnits { minute: 7, day: 7, month: 7 });
        assert_eq!(usage.denial(&limits, 93, NOON), None);
        let late = UnixMillis(NOON.day().end().0 + 1_000);
        usage.roll(late);
        usage.give_back(ReservedUnits { units: 7, ..reserved }, 7);
        assert_eq!(usage.spent(), SpentUnits::default(), "of yesterday, in the same month");
    }

    #[test]
    fn month_ends_with_the_calendar_month() {
        let limits = limits(0, 0, 10);
        let last = UnixMillis::from_rfc3339("2026-11-30T23:59:59Z").unwrap();
        let mut usage = UnitUsage::default();
        assert_eq!(spend(&mut usage, &limits, 10, last.minus(20 * 86_400_000)), None);
        let denial = spend(&mut usage, &limits, 1, last).unwrap();
        assert_eq!(denial, Denial { window: Window::UnitsMonth, retry_ms: 1_000 });
        assert_eq!(spend(&mut usage, &limits, 10, last.plus(1_000)), None);
        assert_eq!(usage.spent(), SpentUnits { minute: 10, day: 10, month: 10 });
    }

    #[test]
    fn usage_reads_back_and_is_over_with_its_month() {
        let mut usage = UnitUsage::default();
        usage.roll(NOON);
        usage.reserve(5, NOON, NOON.day());
        let text = serde_json::to_string(&usage).unwrap();
        assert_eq!(serde_json::from_str::<UnitUsage>(&text).unwrap(), usage);
        assert!(!usage.is_over(NOON.plus(86_400_000)) && usage.is_over(NOON.plus(10 * 86_400_000)));
        assert!(!usage.drop_future(NOON) && usage.drop_future(NOON.minus(86_400_000)));
        assert_eq!(usage, UnitUsage::default());
    }
}
