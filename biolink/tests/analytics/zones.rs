//! Days, weeks, months and hours of time zones, beside those that `jiff` finds with its own copy of
//! the time-zone database.

use biolink::events::{Event, EventKind};
use jiff::{Timestamp, tz::TimeZone};
use proptest::{prelude::*, sample::select};
use serde_json::Value;
use shared::time::UnixMillis;

use crate::{
    buckets::{built, moment, previous, start_of_day, start_of_month, starts, zoned},
    question::ZONES,
    store::{Stores, batches, query},
    world::{DAY, Happened, SECOND, pages},
};

const WINDOW: u32 = 90;
const INTERVALS: [&str; 7] = ["24h", "7d", "30d", "90d", "mtd", "today", "yesterday"];
const GRANULARITIES: [&str; 4] = ["hour", "day", "week", "month"];

fn zone(name: &str) -> TimeZone {
    TimeZone::get(name).unwrap()
}

fn at(text: &str) -> UnixMillis {
    UnixMillis::from_rfc3339(text).unwrap()
}

/// Returns the moments after 2023 at which the clocks of a zone change, and one of no significance.
fn changes(zone: &TimeZone) -> Vec<UnixMillis> {
    let from: Timestamp = "2023-01-01T00:00:00Z".parse().unwrap();
    let changes =
        zone.following(from).take(4).map(|change| moment(&change.timestamp().to_zoned(zone.clone())));
    changes.chain([at("2026-11-22T13:31:07Z")]).collect()
}

/// Returns a view every 97 minutes in the ten days around a moment, and at it.
fn views(around: UnixMillis) -> Vec<Happened> {
    let times = (0..150).map(|nth| around.minus(5 * DAY).plus(nth * 97 * 60 * SECOND));
    let view = |at| Happened { page: pages()[0], event: Event::new(at, EventKind::View) };
    times.chain([around.minus(SECOND), around]).map(view).collect()
}

/// Returns the span of an interval.
fn span(interval: &str, now: UnixMillis, zone: &TimeZone) -> (UnixMillis, UnixMillis) {
    let end = UnixMillis(now.0 / SECOND * SECOND + SECOND);
    let start = match interval {
        "24h" => end.minus(DAY),
        "7d" => start_of_day(now, -6, zone),
        "30d" => start_of_day(now, -29, zone),
        "90d" => start_of_day(now, -89, zone),
        "mtd" => start_of_month(now, zone),
        "today" => start_of_day(now, 0, zone),
        _ => return (start_of_day(now, -1, zone), start_of_day(now, 0, zone)),
    };
    (start, end)
}

/// Compares the ends of the previous period, as far as the window has it.
fn check_previous(report: &Value, span: (UnixMillis, UnixMillis), name: &str, now: UnixMillis) {
    let earliest = UnixMillis((now.0 / DAY - u64::from(WINDOW)) * DAY);
    let (start, end) = previous(span, name);
    let expected = match end > earliest {
        true => [start.max(earliest).to_rfc3339().into(), end.to_rfc3339().into(), (start < earliest).into()],
        false => [Value::Null, Value::Null, Value::Null],
    };
    let found = ["start", "end", "partial"].map(|name| report["previous"][name].clone());
    assert_eq!(found, expected, "before {span:?} in {name} at {now:?}");
}

/// Asks for a series, and compares its buckets and their counts.
fn check(name: &str, interval: &str, granularity: &str, now: UnixMillis, events: &[Happened]) {
    let zone = zone(name);
    let (start, end) = span(interval, now, &zone);
    let expected = starts((start, end), granularity, &zone);
    let text = format!(
        "interval={interval}&granularity={granularity}&timezone={name}&group_by=timeseries&metrics=views&compare=previous_period"
    );
    let asked = query(&text, &built(&zone, now, WINDOW), now, WINDOW);
    if expected.len() > 1_000 {
        assert_eq!(asked.unwrap_err().code().as_str(), "fields-invalid", "{text}");
        return;
    }
    let asked = asked.unwrap_or_else(|problem| panic!("{text}: {problem:?}"));
    let stores = Stores::of(&batches(events, 1, 60), 8, 100);
    let report: Value = serde_json::from_str(&stores.report(&asked).body).unwrap();
    let series = report["groups"]["timeseries"].as_array().unwrap();
    let meta = |name: &str| report["meta"][name].as_str().unwrap().to_owned();
    assert_eq!((meta("start"), meta("end")), (start.to_rfc3339(), end.to_rfc3339()), "{text} at {now:?}");
    check_previous(&report, (start, end), name, now);
    let found: Vec<_> = series.iter().map(|row| row["start"].as_str().unwrap().to_owned()).collect();
    let expected_texts: Vec<_> = expected.iter().map(|start| start.to_rfc3339()).collect();
    assert_eq!(found, expected_texts, "{text} at {now:?}");
    let ends = expected.iter().skip(1).chain([&end]);
    for ((row, start), end) in series.iter().zip(&expected).zip(ends) {
        let inside = events.iter().filter(|it| *start <= it.event.at && it.event.at < *end).count();
        assert_eq!(row["views"], inside, "{text} at {now:?}, from {start:?}");
    }
    let sum: u64 = series.iter().map(|row| row["views"].as_u64().unwrap()).sum();
    assert_eq!(report["totals"]["views"], sum, "{text} at {now:?}");
}

/// The clocks of each zone change by an hour, by half of one, at midnight, or never.
#[test]
fn buckets_around_each_change_are_those_of_the_calendar() {
    for name in ZONES {
        for change in changes(&zone(name)) {
            let events = views(change);
            // On the day of the change, and when it lies in the month before.
            for (later, intervals) in [(5 * 3_600 * SECOND, &INTERVALS[..]), (20 * DAY, &["30d", "90d"][..])]
            {
                for interval in intervals {
                    for granularity in GRANULARITIES {
                        check(name, interval, granularity, change.plus(later), &events);
                    }
                }
            }
        }
    }
}

fn lengths(name: &str, day: &str) -> Vec<u64> {
    let zone = zone(name);
    let now = at(&format!("{day}T12:00:00Z")).plus(2 * DAY);
    let text = format!("start={day}&end={day}&granularity=hour&timezone={name}&group_by=timeseries");
    let asked = query(&text, &built(&zone, now, WINDOW), now, WINDOW).unwrap();
    let report: Value = serde_json::from_str(&Stores::of(&[], 1, 1).report(&asked).body).unwrap();
    let series = report["groups"]["timeseries"].as_array().unwrap();
    let starts = series.iter().map(|row| at(row["start"].as_str().unwrap()));
    let starts: Vec<_> = starts.chain([at(report["meta"]["end"].as_str().unwrap())]).collect();
    starts.windows(2).map(|pair| pair[1].since(pair[0]) / 60_000).collect()
}

#[test]
fn day_of_a_change_has_23_or_25_hours() {
    assert_eq!(lengths("Europe/Berlin", "2026-03-29"), [60; 23]);
    assert_eq!(lengths("Europe/Berlin", "2026-10-25"), [60; 25]);
    assert_eq!(lengths("America/New_York", "2026-03-08"), [60; 23]);
    assert_eq!(lengths("America/New_York", "2026-11-01"), [60; 25]);
    assert_eq!(lengths("Asia/Kathmandu", "2026-10-25"), [60; 24]);
}

/// At 2:00 the clocks go back to 1:30, and at 2:00 they go on to 2:30.
#[test]
fn change_by_half_an_hour_makes_one_short_hour() {
    let mut back = vec![60; 25];
    back[2] = 30;
    assert_eq!(lengths("Australia/Lord_Howe", "2026-04-05"), back);
    let mut on = vec![60; 24];
    on[2] = 30;
    assert_eq!(lengths("Australia/Lord_Howe", "2026-10-04"), on);
}

/// Until 2011, the clocks of St. John's went back to 23:01 at 0:01.
#[test]
fn change_within_an_hour_begins_another() {
    let back: Vec<_> = [1, 59].into_iter().chain([60; 24]).collect();
    assert_eq!(lengths("America/St_Johns", "2010-11-07"), back);
}

#[test]
fn day_of_kathmandu_begins_at_a_quarter_past_six() {
    let now = at("2026-11-22T18:20:00Z");
    let asked =
        query("interval=today&timezone=Asia/Kathmandu", &built(&zone("Asia/Kathmandu"), now, 7), now, 7)
            .unwrap();
    let report: Value = serde_json::from_str(&Stores::of(&[], 1, 1).report(&asked).body).unwrap();
    assert_eq!(report["meta"]["start"], "2026-11-22T18:15:00Z");
}

/// The clocks of Samoa went from December 29, 2011 to December 31.
#[test]
fn day_that_a_zone_has_skipped_has_no_bucket() {
    let (name, now) = ("Pacific/Apia", at("2012-01-03T00:00:00Z"));
    let events = views(at("2011-12-30T10:00:00Z"));
    for interval in ["7d", "30d", "mtd"] {
        for granularity in GRANULARITIES {
            check(name, interval, granularity, now, &events);
        }
    }
    let zone = zone(name);
    let days = starts(span("7d", now, &zone), "day", &zone);
    let dates: Vec<_> = days.iter().map(|day| zoned(*day, &zone).date().day()).collect();
    assert_eq!(dates, [28, 29, 31, 1, 2, 3]);
}

fn names() -> Vec<String> {
    jiff::tz::db().available().map(|name| name.to_string()).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(192))]

    #[test]
    fn buckets_of_any_zone_are_those_of_the_calendar(
        name in select(names()),
        now in 1_577_836_800_000..2_082_758_400_000u64,
        interval in select(&INTERVALS[..]),
        granularity in select(&GRANULARITIES[..]),
    ) {
        let now = UnixMillis(now);
        check(&name, interval, granularity, now, &views(now.minus(5 * DAY)));
    }
}
