//! The time that a report is about.

use shared::time::UnixMillis;

use super::zone::{Date, Zone};

/// A period as a client names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Period {
    Interval(Interval),
    Explicit { start: Moment, end: Option<Moment> },
}

/// A period that ends now or with yesterday.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Interval {
    /// The last 24 hours.
    Last24Hours,
    /// The last days, today among them.
    Days(i64),
    MonthToDate,
    Today,
    Yesterday,
}

/// A start or an end as a client writes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Moment {
    At(UnixMillis),
    Day(Date),
}

/// A span of time, without its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Span {
    pub(super) start: UnixMillis,
    pub(super) end: UnixMillis,
}

impl Interval {
    /// Every interval, with its name.
    pub(super) const ALL: [(&'static str, Self); 7] = [
        ("24h", Self::Last24Hours),
        ("7d", Self::Days(7)),
        ("30d", Self::Days(30)),
        ("90d", Self::Days(90)),
        ("mtd", Self::MonthToDate),
        ("today", Self::Today),
        ("yesterday", Self::Yesterday),
    ];
}

impl Moment {
    /// Reads an RFC 3339 time, or a date. Fractions of a second are cut off.
    pub(super) fn parse(text: &str) -> Option<Self> {
        match UnixMillis::from_rfc3339(text) {
            Some(at) => Some(Self::At(whole_second(at))),
            None => {
                let midnight = UnixMillis::from_rfc3339(&format!("{text}T00:00:00Z"))?;
                Some(Self::Day(Zone::utc().date(midnight)))
            }
        }
    }
}

impl Period {
    /// Returns the span, which ends now at the latest. The event of this second belongs to it.
    pub(super) fn span(self, zone: &Zone, now: UnixMillis) -> Span {
        // Stores keep whole seconds. An event of this second would otherwise be at the end, and
        // left out.
        let end = whole_second(now).plus(1000);
        let today = zone.date(now);
        let from = |day: Date| Span { start: zone.start_of(day), end };
        match self {
            Self::Interval(Interval::Last24Hours) => Span { start: end.minus(86_400_000), end },
            Self::Interval(Interval::Days(days)) => from(today.plus(1 - days)),
            Self::Interval(Interval::MonthToDate) => from(today.month()),
            Self::Interval(Interval::Today) => from(today),
            Self::Interval(Interval::Yesterday) => {
                Span { start: zone.start_of(today.plus(-1)), end: zone.start_of(today) }
            }
            Self::Explicit { start, end: until } => {
                let start = match start {
                    Moment::At(at) => at,
                    Moment::Day(day) => zone.start_of(day),
                };
                let until = match until {
                    None => end,
                    Some(Moment::At(at)) => at,
                    // A date names the whole day.
                    Some(Moment::Day(day)) => zone.start_of(day.plus(1)),
                };
                // A series into the future would be empty buckets without end.
                Span { start, end: until.min(end) }
            }
        }
    }
}

impl Span {
    /// Returns the same times of day so many days before that the two have nothing in common.
    ///
    /// A span of days, which may be cut in the middle of the last, goes back by the days of the zone, of which
    /// some have 23 or 25 hours. Another goes back by whole 24 hours.
    pub(super) fn previous(self, zone: &Zone) -> Self {
        let (first, last) = (zone.date(self.start), zone.date(self.end.minus(1)));
        let before = |at| match zone.start_of(first) == self.start {
            true => zone.days_before(at, last.0 - first.0 + 1),
            false => at.minus(self.end.since(self.start).div_ceil(DAY_MS) * DAY_MS),
        };
        // A zone that skipped a day has no such time on it.
        Self { start: before(self.start), end: before(self.end).min(self.start) }
    }
}

const DAY_MS: u64 = 86_400_000;

const fn whole_second(at: UnixMillis) -> UnixMillis {
    UnixMillis(at.0 - at.0 % 1000)
}
