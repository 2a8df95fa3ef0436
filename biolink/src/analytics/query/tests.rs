use serde_json::Value;
use shared::{key::BiolinkPlan, request_id::RequestId};

use super::*;
use crate::analytics::page_query::MAX_ROWS;

/// 2026-11-22T13:31:07.250Z, a Sunday.
const NOW: UnixMillis = UnixMillis(1_795_354_267_250);
const DAY_MS: u64 = 86_400_000;

fn at(text: &str) -> UnixMillis {
    UnixMillis::from_rfc3339(text).unwrap()
}

fn try_resolve(query: &str, plan: BiolinkPlan) -> Result<AnalyticsQuery, Problem> {
    let request =
        AnalyticsRequest::parse(Some(query)).unwrap_or_else(|problem| panic!("{}", problem.detail()));
    request.resolve(&Zone::utc(), NOW, crate::policy::analytics_days(plan))
}

fn resolve(query: &str) -> AnalyticsQuery {
    try_resolve(query, BiolinkPlan::Business)
        .unwrap_or_else(|problem| panic!("{query}: {}", problem.detail()))
}

fn body(problem: &Problem) -> Value {
    serde_json::from_str(&problem.render(&RequestId([0; 16])).body).unwrap()
}

#[test]
fn interval_ends_with_this_second() {
    let end = at("2026-11-22T13:31:08Z");
    for (interval, start) in [
        ("24h", "2026-11-21T13:31:08Z"),
        ("7d", "2026-11-16T00:00:00Z"),
        ("30d", "2026-10-24T00:00:00Z"),
        ("90d", "2026-08-25T00:00:00Z"),
        ("mtd", "2026-11-01T00:00:00Z"),
        ("today", "2026-11-22T00:00:00Z"),
    ] {
        let query = resolve(&format!("interval={interval}"));
        assert_eq!((query.span, query.is_clamped), (Span { start: at(start), end }, false), "{interval}");
    }
    let yesterday = Span { start: at("2026-11-21T00:00:00Z"), end: at("2026-11-22T00:00:00Z") };
    assert_eq!(resolve("interval=yesterday").span, yesterday);
}

#[test]
fn interval_longer_than_the_window_is_cut_to_it() {
    let query = try_resolve("interval=30d", BiolinkPlan::None).unwrap();
    assert_eq!((query.span.start, query.is_clamped), (at("2026-11-15T00:00:00Z"), true));
    let whole = try_resolve("interval=7d", BiolinkPlan::None).unwrap();
    assert_eq!((whole.span.start, whole.is_clamped), (at("2026-11-16T00:00:00Z"), false));
}

#[test]
fn start_before_the_window_is_refused_with_the_earliest() {
    for (plan, earliest, days) in [
        (BiolinkPlan::None, "2026-11-15T00:00:00Z", 7),
        (BiolinkPlan::Standard, "2026-08-24T00:00:00Z", 90),
        (BiolinkPlan::Business, "2026-08-24T00:00:00Z", 90),
    ] {
        let before = at(earliest).minus(1_000).to_rfc3339();
        let refused = try_resolve(&format!("start={before}"), plan).unwrap_err();
        assert_eq!((refused.status(), refused.code()), (403, codes::ANALYTICS_WINDOW_EXCEEDED));
        let body = body(&refused);
        assert_eq!((&body["earliest_available"], &body["window_days"]), (&earliest.into(), &days.into()));
        let query = try_resolve(&format!("start={earliest}"), plan).unwrap();
        assert_eq!((query.span.start, query.is_clamped), (at(earliest), false));
    }
}

#[test]
fn end_as_a_date_is_the_whole_day_and_never_in_the_future() {
    let span = |query: &str| (resolve(query).span.start, resolve(query).span.end);
    let expected = (at("2026-11-01T00:00:00Z"), at("2026-11-03T00:00:00Z"));
    assert_eq!(span("start=2026-11-01&end=2026-11-02"), expected);
    assert_eq!(span("start=2026-11-01T00:00:00Z&end=2026-11-03T01:00:00%2B01:00"), expected);
    assert_eq!(span("start=2026-11-22&end=2030-01-01").1, at("2026-11-22T13:31:08Z"));
}

#[test]
fn period_without_time_is_refused() {
    for query in [
        "start=2026-11-02&end=2026-11-01",
        "start=2026-11-01T00:00:00Z&end=2026-11-01T00:00:00Z",
        "start=2026-11-23",
    ] {
        let refused = try_resolve(query, BiolinkPlan::Business).unwrap_err();
        assert_eq!(body(&refused)["errors"][0]["pointer"], "#/start", "{query}");
    }
}

#[test]
fn granularity_suits_the_period_unless_it_is_named() {
    for (query, expected) in [
        ("interval=24h", Granularity::Hour),
        ("interval=7d", Granularity::Day),
        ("interval=90d", Granularity::Day),
        ("interval=90d&granularity=week", Granularity::Week),
        ("interval=7d&granularity=auto", Granularity::Day),
    ] {
        assert_eq!(resolve(query).granularity, expected, "{query}");
    }
}

#[test]
fn series_of_too_many_buckets_is_refused_with_one_that_fits() {
    let refused =
        try_resolve("interval=90d&granularity=hour&group_by=timeseries", BiolinkPlan::Business).unwrap_err();
    assert!(refused.detail().contains("more than 1000 buckets") && refused.detail().contains("day fits"));
    assert_eq!(resolve("interval=30d&granularity=hour&group_by=timeseries").buckets.len(), 29 * 24 + 14);
    assert!(resolve("interval=90d&granularity=hour&group_by=country").buckets.is_empty());
}

#[test]
fn previous_period_is_as_long_and_within_the_window() {
    let query = resolve("start=2026-11-20&end=2026-11-21&compare=previous_period&country=DE");
    let previous = query.previous_query().unwrap();
    assert_eq!((previous.start, previous.end), (at("2026-11-18T00:00:00Z"), at("2026-11-20T00:00:00Z")));
    assert_eq!(previous.filters, query.page_query().filters);
    assert_eq!(resolve("interval=7d").previous_query(), None);
    let cut = try_resolve("interval=7d&compare=previous_period", BiolinkPlan::None).unwrap();
    assert_eq!(cut.previous_query().unwrap().start, cut.earliest);
    let start = cut.earliest.to_rfc3339();
    let none = try_resolve(&format!("start={start}&compare=previous_period"), BiolinkPlan::None).unwrap();
    assert_eq!(none.previous_query(), None);
}

/// Berlin, whose clocks go forward on 29 March 2026 at 1:00 UTC, and back on 25 October.
fn berlin() -> Zone {
    let summer = at("2026-03-29T01:00:00Z")..at("2026-10-25T01:00:00Z");
    let offset = |now: UnixMillis| Some(if summer.contains(&now) { 7_200 } else { 3_600 });
    Zone::build(at("2026-01-01T00:00:00Z"), at("2026-12-01T00:00:00Z"), offset).unwrap()
}

/// Each vector by hand: the time on the wall of the zone, and the two ends of the previous period.
#[test]
fn previous_period_is_cut_at_the_same_time_of_day() {
    for (zone, now, asked, start, end) in [
        // Sunday, 13:31:07. The seconds belong to the period.
        ("UTC", "2026-11-22T13:31:07Z", "interval=today", "2026-11-21T00:00:00Z", "2026-11-21T13:31:08Z"),
        ("UTC", "2026-11-22T13:31:07Z", "interval=7d", "2026-11-09T00:00:00Z", "2026-11-15T13:31:08Z"),
        ("UTC", "2026-11-22T13:31:07Z", "interval=mtd", "2026-10-10T00:00:00Z", "2026-10-31T13:31:08Z"),
        ("UTC", "2026-11-22T13:31:07Z", "interval=24h", "2026-11-20T13:31:08Z", "2026-11-21T13:31:08Z"),
        ("UTC", "2026-11-22T13:31:07Z", "interval=yesterday", "2026-11-20T00:00:00Z", "2026-11-21T00:00:00Z"),
        ("UTC", "2026-11-22T13:31:07Z", "start=2026-11-21", "2026-11-19T00:00:00Z", "2026-11-20T13:31:08Z"),
        // The first second of a day, and its last.
        ("UTC", "2026-11-22T00:00:00Z", "interval=today", "2026-11-21T00:00:00Z", "2026-11-21T00:00:01Z"),
        ("UTC", "2026-11-22T23:59:59Z", "interval=today", "2026-11-21T00:00:00Z", "2026-11-22T00:00:00Z"),
        // A morning beside the morning before.
        (
            "UTC",
            "2026-11-22T13:31:07Z",
            "start=2026-11-21T08:00:00Z&end=2026-11-21T12:00:00Z",
            "2026-11-20T08:00:00Z",
            "2026-11-20T12:00:00Z",
        ),
        // 00:30 in Berlin is the day before in UTC.
        ("Berlin", "2026-11-21T23:30:00Z", "interval=today", "2026-11-20T23:00:00Z", "2026-11-20T23:30:01Z"),
        // The day of 25 hours: 13:31:07 in winter beside 13:31:07 in summer.
        ("Berlin", "2026-10-25T12:31:07Z", "interval=today", "2026-10-23T22:00:00Z", "2026-10-24T11:31:08Z"),
        ("Berlin", "2026-10-25T12:31:07Z", "interval=24h", "2026-10-23T12:31:08Z", "2026-10-24T12:31:08Z"),
        // Half past two comes twice.
        ("Berlin", "2026-10-25T00:30:00Z", "interval=today", "2026-10-23T22:00:00Z", "2026-10-24T00:30:01Z"),
        ("Berlin", "2026-10-25T01:30:00Z", "interval=today", "2026-10-23T22:00:00Z", "2026-10-24T00:30:01Z"),
        // A week with the change in it, beside one without.
        ("Berlin", "2026-10-27T12:31:07Z", "interval=7d", "2026-10-13T22:00:00Z", "2026-10-20T11:31:08Z"),
        // The day of 23 hours, and half past two on the day after, which it does not have.
        ("Berlin", "2026-03-29T11:31:07Z", "interval=today", "2026-03-27T23:00:00Z", "2026-03-28T12:31:08Z"),
        ("Berlin", "2026-03-30T00:30:00Z", "interval=today", "2026-03-28T23:00:00Z", "2026-03-29T01:00:00Z"),
    ] {
        let request = AnalyticsRequest::parse(Some(&format!("{asked}&compare=previous_period"))).unwrap();
        let zone_of = if zone == "UTC" { Zone::utc() } else { berlin() };
        let previous = request.resolve(&zone_of, at(now), 90).unwrap().previous_query().unwrap();
        assert_eq!(
            (previous.start.to_rfc3339(), previous.end.to_rfc3339()),
            (start.to_owned(), end.to_owned()),
            "{asked} at {now} in {zone}"
        );
    }
}

/// A store with `rows` events on each of the last days.
fn days(rows: u64) -> Vec<(UtcDay, u64)> {
    (0..=90).rev().map(|ago| (UtcDay(NOW.day().0 - ago), rows)).collect()
}

#[test]
fn period_too_wide_names_one_that_is_answered() {
    for filter in ["country=DE", "group_by=country,device", "group_by=country&utm_source=-(none)"] {
        for (rows, kept_days) in [(1_000_000, 30), (7_000_000, 4), (MAX_ROWS, 1)] {
            let query = resolve(&format!("interval=90d&{filter}"));
            let start = query.page_query().check_width(&days(rows)).unwrap_err();
            assert_eq!(NOW.day().0 + 1 - start.day().0, kept_days, "{filter}");
            let refused = query.too_wide(start);
            assert_eq!((refused.status(), refused.code()), (422, codes::ANALYTICS_TOO_WIDE));
            let body = body(&refused);
            let text = |name: &str| body[name].as_str().unwrap().to_owned();
            let (start, end) = (text("answered_start"), text("answered_end"));
            assert!(refused.detail().contains(&start) && refused.detail().contains(&end));
            let narrow = resolve(&format!("start={start}&end={end}&{filter}"));
            assert_eq!(narrow.page_query().check_width(&days(rows)), Ok(()), "{filter}, {rows} a day");
            // A day more would be too wide.
            let wide = at(&start).minus(DAY_MS).to_rfc3339();
            let wide = resolve(&format!("start={wide}&end={end}&{filter}"));
            assert!(wide.page_query().check_width(&days(rows)).is_err());
        }
    }
}

#[test]
fn totals_and_one_group_are_never_too_wide() {
    for query in
        ["interval=90d", "interval=90d&group_by=country", "interval=90d&group_by=timeseries,page,country"]
    {
        assert_eq!(resolve(query).page_query().check_width(&days(u64::MAX)), Ok(()), "{query}");
    }
}

/// There is no range of whole days then.
#[test]
fn last_day_too_wide_names_no_range() {
    let query = resolve("interval=7d&country=DE");
    let start = query.page_query().check_width(&days(MAX_ROWS + 1)).unwrap_err();
    let refused = query.too_wide(start);
    assert_eq!(refused.code(), codes::ANALYTICS_TOO_WIDE);
    assert_eq!(
        (&body(&refused)["answered_start"], refused.detail().contains("without filters")),
        (&Value::Null, true)
    );
}

#[test]
fn unknown_timezone_is_refused_by_its_name() {
    let request = AnalyticsRequest::parse(Some("timezone=Mars/Phobos")).unwrap();
    let refused = request.unknown_timezone();
    assert_eq!(body(&refused)["errors"][0]["pointer"], "#/timezone");
    assert_eq!(refused.status(), 422);
}
