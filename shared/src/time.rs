//! Points in time as plain numbers. Nothing here reads a clock: `now` is always an argument.

use std::time::UNIX_EPOCH;

use serde::{Deserialize, Serialize};
use time::format_description::well_known::{Rfc2822, Rfc3339};
use time::{Date, OffsetDateTime};

/// Milliseconds since the Unix epoch, UTC. The one timestamp of a request is taken once and passed
/// down.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct UnixMillis(pub u64);

/// A UTC calendar day, counted from 1970-01-01.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct UtcDay(pub u64);

const DAY_MS: u64 = 86_400_000;
/// An hour in milliseconds.
pub const HOUR_MS: u64 = 3_600_000;
/// The Julian day of 1970-01-01.
const UNIX_EPOCH_JULIAN_DAY: i32 = 2_440_588;
/// How far ahead of the clock a stored moment may lie, in milliseconds: a minute, and a second
/// between two clocks.
const MAX_AHEAD_MS: u64 = 61_000;

impl UnixMillis {
    /// Returns the last moment that something stored may have at `self`. What is later was stored
    /// by a clock that was ahead, and would hold for as long as that was ahead.
    pub const fn latest_stored(self) -> Self {
        self.plus(MAX_AHEAD_MS)
    }

    /// Returns the whole seconds since the epoch, rounded down.
    pub const fn seconds(self) -> u64 {
        self.0 / 1000
    }

    /// Returns the moment as clients read it, such as `2026-11-21T08:00:00.123Z`; after the year
    /// 9999, the end of that year.
    pub fn to_rfc3339(self) -> String {
        const LAST: u64 = 253_402_300_799_999;
        OffsetDateTime::from_unix_timestamp_nanos(i128::from(self.0.min(LAST)) * 1_000_000)
            .ok()
            .and_then(|moment| moment.format(&Rfc3339).ok())
            .unwrap_or_default()
    }

    /// Returns the moment with exactly three digits of a second: `2026-11-21T08:00:00.000Z`.
    pub fn to_rfc3339_ms(self) -> String {
        let mut text = Self(self.seconds().saturating_mul(1000)).to_rfc3339();
        // The end of the last year has its milliseconds already.
        if text.len() == "2026-11-21T08:00:00Z".len() {
            text.pop();
            text.push_str(&format!(".{:03}Z", self.0 % 1000));
        }
        text
    }

    /// Reads an RFC 3339 time with any offset and with `T`, `t` or a space before the time of day (section
    /// 5.6); `None` for anything else and for times before 1970.
    pub fn from_rfc3339(text: &str) -> Option<Self> {
        // `time` takes any character there.
        if !matches!(text.as_bytes().get(10), Some(b'T' | b't' | b' ')) {
            return None;
        }
        let moment = OffsetDateTime::parse(text, &Rfc3339).ok()?;
        u64::try_from(moment.unix_timestamp_nanos() / 1_000_000).ok().map(Self)
    }

    /// Returns the moment as a date of HTTP (RFC 9110, section 5.6.7), such as
    /// `Sat, 21 Nov 2026 08:00:00 GMT`.
    pub fn to_http_date(self) -> String {
        let seconds = i64::try_from(self.seconds()).unwrap_or_default();
        let moment = OffsetDateTime::from_unix_timestamp(seconds).ok();
        let text = moment.and_then(|moment| moment.format(&Rfc2822).ok()).unwrap_or_default();
        text.replace("+0000", "GMT")
    }

    /// Reads a date of HTTP in any of its three forms; `None` for anything else and for times before 1970.
    pub fn from_http_date(text: &str) -> Option<Self> {
        let moment = httpdate::parse_http_date(text).ok()?.duration_since(UNIX_EPOCH).ok()?;
        Some(Self(moment.as_secs().saturating_mul(1_000)))
    }

    /// Returns the hours from the epoch to the start of the hour this moment lies in.
    pub const fn hour(self) -> u64 {
        self.0 / HOUR_MS
    }

    /// Returns the UTC day this moment lies in.
    pub const fn day(self) -> UtcDay {
        UtcDay(self.0 / DAY_MS)
    }

    /// Returns the moment `ms` milliseconds later. Saturates instead of wrapping.
    #[must_use]
    pub const fn plus(self, ms: u64) -> Self {
        Self(self.0.saturating_add(ms))
    }

    /// Returns the moment `ms` milliseconds earlier. Saturates at the epoch.
    #[must_use]
    pub const fn minus(self, ms: u64) -> Self {
        Self(self.0.saturating_sub(ms))
    }

    /// Returns the milliseconds from `earlier` to this moment; 0 when `earlier` is not earlier.
    pub const fn since(self, earlier: Self) -> u64 {
        self.0.saturating_sub(earlier.0)
    }

    /// Returns the seconds from this moment until `later`, rounded up, so that waiting that long is
    /// always enough.
    pub const fn seconds_until(self, later: Self) -> u64 {
        later.since(self).div_ceil(1000)
    }
}

impl UtcDay {
    /// Returns the first moment of the day.
    pub const fn start(self) -> UnixMillis {
        UnixMillis(self.0.saturating_mul(DAY_MS))
    }

    /// Returns the first moment of the next day, when the day's quota is whole again.
    pub const fn end(self) -> UnixMillis {
        Self(self.0.saturating_add(1)).start()
    }

    /// Returns the first day of this day's calendar month, and the first day of the next one. Both are
    /// the day itself and its successor after the year 9999.
    pub fn month(self) -> (Self, Self) {
        let days = i32::try_from(self.0).ok().and_then(|days| days.checked_add(UNIX_EPOCH_JULIAN_DAY));
        let Some(date) = days.and_then(|days| Date::from_julian_day(days).ok()) else {
            return (self, Self(self.0.saturating_add(1)));
        };
        let first = Self(self.0.saturating_sub(u64::from(date.day()) - 1));
        (first, Self(first.0.saturating_add(u64::from(date.month().length(date.year())))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wait_in_seconds_is_rounded_up() {
        assert_eq!(UnixMillis(1_000).seconds_until(UnixMillis(1_001)), 1);
        assert_eq!(UnixMillis(1_000).seconds_until(UnixMillis(2_000)), 1);
        assert_eq!(UnixMillis(1_000).seconds_until(UnixMillis(500)), 0);
    }

    #[test]
    fn times_are_written_and_read_as_rfc_3339() {
        let moment = UnixMillis(1_763_712_000_123);
        assert_eq!(moment.to_rfc3339(), "2025-11-21T08:00:00.123Z");
        assert_eq!(UnixMillis::from_rfc3339("2025-11-21T10:00:00.123+02:00"), Some(moment));
        assert_eq!(UnixMillis::from_rfc3339("2025-11-21 10:00:00.123+02:00"), Some(moment));
        assert_eq!(UnixMillis::from_rfc3339("2025-11-21K10:00:00.123+02:00"), None);
        assert_eq!(UnixMillis::from_rfc3339("1969-12-31T23:59:59Z"), None);
        assert_eq!(UnixMillis(u64::MAX).to_rfc3339(), "9999-12-31T23:59:59.999Z");
    }

    #[test]
    fn time_has_three_digits_of_a_second() {
        for (ms, end) in [(0, "00.000Z"), (7, "00.007Z"), (120, "00.120Z"), (1_999, "01.999Z")] {
            assert_eq!(UnixMillis(1_763_712_000_000 + ms).to_rfc3339_ms(), format!("2025-11-21T08:00:{end}"));
        }
        assert_eq!(UnixMillis(u64::MAX).to_rfc3339_ms(), "9999-12-31T23:59:59.999Z");
    }

    #[test]
    fn dates_of_http_are_written_and_read() {
        let moment = UnixMillis(1_763_712_000_123);
        assert_eq!(moment.to_http_date(), "Fri, 21 Nov 2025 08:00:00 GMT");
        // The three forms of RFC 9110, section 5.6.7.
        for text in
            ["Fri, 21 Nov 2025 08:00:00 GMT", "Friday, 21-Nov-25 08:00:00 GMT", "Fri Nov 21 08:00:00 2025"]
        {
            assert_eq!(UnixMillis::from_http_date(text), Some(moment.minus(123)), "{text}");
        }
        for text in ["", "120", "Fri, 21 Nov 1925 08:00:00 GMT", "Nov 21 08:00:00 2025"] {
            assert_eq!(UnixMillis::from_http_date(text), None, "{text}");
        }
    }

    #[test]
    fn month_has_its_days_in_common_and_leap_years() {
        let day = |text: &str| UnixMillis::from_rfc3339(&format!("{text}T12:00:00Z")).unwrap().day();
        for (some, first, next) in [
            ("2026-11-25", "2026-11-01", "2026-12-01"),
            ("2026-12-01", "2026-12-01", "2027-01-01"),
            ("2028-02-29", "2028-02-01", "2028-03-01"),
            ("2027-02-28", "2027-02-01", "2027-03-01"),
        ] {
            assert_eq!(day(some).month(), (day(first), day(next)), "{some}");
        }
        assert_eq!(UtcDay(u64::MAX).month(), (UtcDay(u64::MAX), UtcDay(u64::MAX)));
    }

    #[test]
    fn day_ends_where_the_next_one_starts() {
        let day = UnixMillis(1_763_712_000_123).day();
        assert!(day.start() <= UnixMillis(1_763_712_000_123) && UnixMillis(1_763_712_000_123) < day.end());
        assert_eq!(day.end().day(), UtcDay(day.0 + 1));
    }
}
