//! Time zones, as far as a query needs them.

use shared::time::UnixMillis;

const MINUTE_MS: u64 = 60_000;
/// The distance of the moments at which [`Zone::build`] asks for the offset. No zone changes its
/// offset twice in a week.
const STEP_MS: u64 = 7 * 86_400_000;

/// The offsets of a time zone from UTC over a span of time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Zone {
    /// The first moment of each offset, ascending, and the offset in milliseconds. The first moment
    /// is 0.
    offsets: Vec<(u64, i64)>,
}

/// A calendar day in some time zone, counted from 1970-01-01.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Date(pub(super) i64);

const DAY_MS: i64 = 86_400_000;

impl Zone {
    /// Returns UTC.
    pub fn utc() -> Self {
        Self { offsets: vec![(0, 0)] }
    }

    /// Returns a zone that is right from `from` to `to`. `offset_at` returns the offset in seconds
    /// (east is positive) that clocks of the zone have at a moment, which is always a whole minute.
    /// It is called about once for each week, and 14 times more for each change of the offset.
    ///
    /// Returns `None` if `offset_at` does, because it does not know the zone.
    pub fn build(
        from: UnixMillis,
        to: UnixMillis,
        mut offset_at: impl FnMut(UnixMillis) -> Option<i32>,
    ) -> Option<Self> {
        let mut offset_at = |at: u64| Some(i64::from(offset_at(UnixMillis(at))?) * 1000);
        let mut at = from.0 - from.0 % MINUTE_MS;
        let mut offset = offset_at(at)?;
        let mut offsets = vec![(0, offset)];
        while at < to.0 {
            let next = at.saturating_add(STEP_MS).min(to.0 - to.0 % MINUTE_MS + MINUTE_MS);
            let mut found = offset_at(next)?;
            if found == offset {
                at = next;
                continue;
            }
            // Bisect: at `at` the offset is the old one, at `other` it is another.
            let mut other = next;
            while other - at > MINUTE_MS {
                let middle = at + (other - at) / (2 * MINUTE_MS) * MINUTE_MS;
                let there = offset_at(middle)?;
                if there == offset {
                    at = middle;
                } else {
                    (other, found) = (middle, there);
                }
            }
            (at, offset) = (other, found);
            offsets.push((at, offset));
        }
        Some(Self { offsets })
    }

    /// Returns the day of a moment.
    pub(super) fn date(&self, at: UnixMillis) -> Date {
        Date(self.clock(at).div_euclid(DAY_MS))
    }

    /// Returns the first moment of a day. For a day that the zone skips, it is that of the next day.
    pub(super) fn start_of(&self, date: Date) -> UnixMillis {
        self.first_at(date.0.saturating_mul(DAY_MS))
    }

    /// Returns the same time of day so many days earlier.
    pub(super) fn days_before(&self, at: UnixMillis, days: i64) -> UnixMillis {
        self.first_at(self.clock(at).saturating_sub(days.saturating_mul(DAY_MS)))
    }

    /// Returns what the zone's clocks show at a moment, in milliseconds since 1970.
    fn clock(&self, at: UnixMillis) -> i64 {
        let last = self.offsets.iter().rev().find(|(from, _)| *from <= at.0);
        signed(at.0).saturating_add(last.map_or(0, |(_, offset)| *offset))
    }

    /// Returns the first moment at which the zone's clocks show this or, if they skip it, more.
    fn first_at(&self, clock: i64) -> UnixMillis {
        for (at, (from, offset)) in self.offsets.iter().enumerate() {
            // A midnight that the zone skips is the moment at which it changed.
            let moment = unsigned(clock.saturating_sub(*offset)).max(*from);
            if self.offsets.get(at + 1).is_none_or(|(end, _)| moment < *end) {
                return UnixMillis(moment);
            }
        }
        UnixMillis(unsigned(clock))
    }

    /// Returns the next moment after `at` at which an hour begins on the zone's clocks. A change of
    /// the offset begins an hour too, so that no two hours of the clock are mixed.
    pub(super) fn next_hour(&self, at: UnixMillis) -> UnixMillis {
        const HOUR_MS: i64 = 3_600_000;
        let index = self.offsets.iter().rposition(|(from, _)| *from <= at.0).unwrap_or(0);
        let offset = self.offsets.get(index).map_or(0, |(_, offset)| *offset);
        let past = signed(at.0).saturating_add(offset).rem_euclid(HOUR_MS);
        let next = at.plus(unsigned(HOUR_MS - past));
        UnixMillis(self.offsets.get(index + 1).map_or(next.0, |(change, _)| next.0.min(*change)))
    }
}

impl Date {
    /// Returns the Monday of its week.
    pub(super) const fn monday(self) -> Self {
        // 1970-01-01 was a Thursday.
        Self(self.0 - (self.0 + 3).rem_euclid(7))
    }

    /// Returns the first day of its month.
    pub(super) fn month(self) -> Self {
        // Only years beyond 9999 are not a date.
        let date = i32::try_from(self.0)
            .ok()
            .and_then(|day| time::Date::from_julian_day(day.checked_add(JULIAN_DAY_OF_1970)?).ok());
        Self(date.map_or(self.0, |date| self.0 - i64::from(date.day()) + 1))
    }

    /// Returns the day that many days later.
    pub(super) const fn plus(self, days: i64) -> Self {
        Self(self.0.saturating_add(days))
    }
}

const JULIAN_DAY_OF_1970: i32 = 2_440_588;

fn signed(ms: u64) -> i64 {
    i64::try_from(ms).unwrap_or(i64::MAX)
}

fn unsigned(ms: i64) -> u64 {
    u64::try_from(ms).unwrap_or(0)
}
