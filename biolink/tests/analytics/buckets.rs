//! The buckets of a series, found by asking the time zones of `jiff` quarter hour by quarter hour.

use biolink::analytics::{AnalyticsRequest, Zone};
use jiff::{
    Timestamp, Zoned,
    tz::{AmbiguousOffset, TimeZone},
};
use shared::time::UnixMillis;

use crate::world::DAY;

/// Clocks of the last decades differ and change by multiples of it.
const STEP: u64 = 15 * 60_000;

/// Returns the moment on the clocks of a zone.
pub(crate) fn zoned(at: UnixMillis, zone: &TimeZone) -> Zoned {
    Timestamp::from_millisecond(i64::try_from(at.0).unwrap()).unwrap().to_zoned(zone.clone())
}

pub(crate) fn moment(zoned: &Zoned) -> UnixMillis {
    UnixMillis(u64::try_from(zoned.timestamp().as_millisecond()).unwrap())
}

/// Returns a text that all moments of a bucket share, and no others in a row.
pub(crate) fn label(at: UnixMillis, granularity: &str, zone: &TimeZone) -> String {
    let at = zoned(at, zone);
    let date = at.date();
    match granularity {
        // A change of the offset begins an hour.
        "hour" => format!("{date} {} {}", at.hour(), at.offset()),
        "day" => date.to_string(),
        "week" => {
            let week = date.iso_week_date();
            format!("{}-{}", week.year(), week.week())
        }
        "month" => date.strftime("%Y-%m").to_string(),
        other => panic!("{other} is not a granularity"),
    }
}

/// Returns the starts of the buckets of a span.
pub(crate) fn starts(
    (start, end): (UnixMillis, UnixMillis),
    granularity: &str,
    zone: &TimeZone,
) -> Vec<UnixMillis> {
    let mut starts = vec![start];
    let mut last = label(start, granularity, zone);
    let mut at = UnixMillis(start.0 - start.0 % STEP + STEP);
    while at < end {
        let here = label(at, granularity, zone);
        if here != last {
            starts.push(at);
            last = here;
        }
        at = at.plus(STEP);
    }
    starts
}

/// Returns the first moment of a day: `days` days after that of `at`.
pub(crate) fn start_of_day(at: UnixMillis, days: i32, zone: &TimeZone) -> UnixMillis {
    let date = zoned(at, zone).date().checked_add(jiff::Span::new().days(days)).unwrap();
    moment(&date.to_zoned(zone.clone()).unwrap().start_of_day().unwrap())
}

/// Returns the first moment of the month of `at`.
pub(crate) fn start_of_month(at: UnixMillis, zone: &TimeZone) -> UnixMillis {
    let first = zoned(at, zone).date().first_of_month();
    moment(&first.to_zoned(zone.clone()).unwrap().start_of_day().unwrap())
}

/// Returns the period before, at the same times of day, as the calendar of `jiff` has them.
pub(crate) fn previous((start, end): (UnixMillis, UnixMillis), zone: &str) -> (UnixMillis, UnixMillis) {
    let zone = TimeZone::get(zone).unwrap();
    if start != start_of_day(start, 0, &zone) {
        let days = (1..).find(|days| end.minus(days * DAY) <= start).unwrap();
        return (start.minus(days * DAY), end.minus(days * DAY));
    }
    let before = |at, days: i32| {
        let there = zoned(at, &zone).datetime().checked_sub(jiff::Span::new().days(days)).unwrap();
        // A time that comes twice is the first, and one that is skipped the end of the gap.
        let there = zone.to_ambiguous_zoned(there);
        match there.offset() {
            AmbiguousOffset::Gap { .. } => {
                let after = there.later().unwrap();
                let change = zone.preceding(after.timestamp()).next().unwrap().timestamp();
                moment(&change.to_zoned(zone.clone()))
            }
            _ => moment(&there.earlier().unwrap()),
        }
    };
    let days = (1..).find(|days| start_of_day(end.minus(1), -days, &zone) < start).unwrap();
    (before(start, days), before(end, days).min(start))
}

/// Returns the zone as the worker builds it, from what a clock of it shows.
pub(crate) fn built(zone: &TimeZone, now: UnixMillis, window_days: u32) -> Zone {
    let (from, to) = AnalyticsRequest::zone_span(now, window_days);
    Zone::build(from, to, |at| Some(zoned(at, zone).offset().seconds())).unwrap()
}
