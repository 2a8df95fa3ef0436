//! `GET /analytics`, `GET /analytics/live` and the reset: what clients get for events that a page's
//! store has.

use biolink::{
    analytics::{AnalyticsRequest, PageCounter, Report, ReportContext, SegmentColumns, Zone},
    events::{Buffer, Dimension, Event, EventKind, Segment},
    page::PageId,
};
use serde_json::{Value, json};
use shared::time::{UnixMillis, UtcDay};
use tests::{
    faults::{Fate, STATS},
    http::{Request, Response},
    keys,
    objects::{Message, consume},
    stack::Edge,
};

use super::{
    pages::{created, issue, issue_with},
    site::Site,
};

const DAY: u64 = 86_400_000;

/// Stores events of the page, as an isolate of this number sends them.
pub(crate) fn store(site: &Site, isolate: u8, events: &[Event]) {
    let (page, mut buffer) = (PageId::parse(site.id()).unwrap(), Buffer::new([isolate; 8]));
    let mut messages = Vec::new();
    for chunk in events.chunks(100) {
        for event in chunk {
            buffer.push(site.account, page, event);
        }
        let batches = buffer.take();
        messages.extend(batches.iter().map(|batch| Message { at: keys::now(), body: batch.to_json() }));
    }
    for messages in messages.chunks(100) {
        assert_eq!(consume(&site.edge, messages), []);
    }
}

fn get(site: &Site, path: &str) -> Response {
    site.send(&Request::get(path).key(&site.key))
}

/// Returns the noon of the day so many days ago.
pub(crate) fn noon(days_ago: u64) -> UnixMillis {
    UtcDay(keys::now().day().0 - days_ago).start().plus(DAY / 2)
}

fn view(at: UnixMillis) -> Event {
    Event::new(at, EventKind::View)
}

/// Returns views, clicks and scans over the last 80 days, with few visitors.
fn mixed() -> Vec<Event> {
    const VALUES: [(Dimension, [&str; 4]); 5] = [
        (Dimension::Country, ["DE", "NP", "US", ""]),
        (Dimension::Source, ["Instagram", "", "Google", "=1+1"]),
        (Dimension::UtmCampaign, ["", "spring sale", "50%", ""]),
        (Dimension::Device, ["mobile", "desktop", "mobile", "tablet"]),
        (Dimension::Ignored, ["", "", "", "bot:ai-crawler"]),
    ];
    let event = |nth: u64| {
        let draw = |salt: u64, of: u64| {
            (nth + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(u32::try_from(salt * 9).unwrap()) % of
        };
        let kind = EventKind::ALL[usize::try_from(draw(1, 4)).unwrap()];
        let at = noon(draw(2, 80)).minus(draw(3, 40_000) * 1_000);
        let event = Event { visitor: draw(4, 20), ..Event::new(at, kind) };
        // A channel of its own, so that the store does not give clicks that of a view.
        let event = event.with(Dimension::Channel, "direct");
        VALUES.iter().zip(5..).fold(event, |event, ((dimension, values), salt)| {
            event.with(*dimension, values[usize::try_from(draw(salt, 4)).unwrap()])
        })
    };
    (0..1_500).map(event).collect()
}

/// Returns the report that the counter makes of all events, without a store.
fn counted(query: &str, page: &str, events: &[Event]) -> Value {
    let query = AnalyticsRequest::parse(Some(query)).unwrap().resolve(&Zone::utc(), keys::now(), 90).unwrap();
    let count = |query| {
        let mut counter = PageCounter::new(query);
        let mut days: Vec<_> = events.iter().map(|event| event.at.day()).collect();
        days.sort_unstable();
        days.dedup();
        for day in days {
            let mut segment = Segment::new(day);
            events.iter().filter(|event| event.at.day() == day).for_each(|event| segment.push(event));
            let columns = segment.encode();
            let dimensions = columns.dimensions.each_ref().map(|column| Some(column.as_slice()));
            let (kind, rows) = (columns.kind.as_slice(), segment.rows());
            let (time, visitor) = (Some(columns.time.as_slice()), Some(columns.visitor.as_slice()));
            counter.add(&SegmentColumns { day, rows, time, kind, visitor, dimensions }).unwrap();
        }
        Report::merge([(PageId::parse(page).unwrap(), counter.finish())])
    };
    let previous = query.previous_query().map(count);
    let rendered = query.render(&count(query.page_query()), previous.as_ref(), &ReportContext::default());
    serde_json::from_str(&rendered.body).unwrap()
}

/// The store reads rows of several batches, and only the columns that it needs.
#[test]
fn report_is_the_count_of_all_events() {
    let site = Site::shared();
    let events = mixed();
    store(&site, 1, &events);
    let day = |ago| noon(ago).to_rfc3339()[..10].to_owned();
    let whole = format!("start={}&end={}", day(79), day(1));
    let part = format!("start={}&end={}", noon(40).plus(1_234_000).to_rfc3339(), noon(3).to_rfc3339());
    for period in [whole, part] {
        for query in [
            "",
            "&compare=previous_period",
            "&group_by=timeseries&granularity=week",
            "&group_by=timeseries&granularity=hour&metrics=views,visitors&compare=previous_period",
            "&group_by=country",
            "&group_by=country,source,utm_campaign,device,bot_class,timeseries&limit=2",
            "&group_by=country,source&metrics=visitors,clicks,unique_ctr",
            "&country=DE,NP&group_by=source,timeseries",
            "&country=-DE&device=mobile&compare=previous_period",
            "&utm_campaign=spring+sale,(none)&source=-(none)&group_by=utm_campaign",
            "&bot_class=ai-crawler&group_by=bot_class",
        ] {
            let query = format!("{period}{query}");
            if query.contains("=hour") && !query.contains('T') {
                // More than a thousand hours.
                assert_eq!(get(&site, &format!("/analytics?{query}")).status, 422);
                continue;
            }
            let (report, expected) = (site.report(&query), counted(&query, site.id(), &events));
            for member in ["totals", "groups", "ignored", "previous"] {
                assert_eq!(report.get(member), expected.get(member), "{member} of {query}");
            }
            assert_eq!(report["meta"]["exact"], true, "{query}");
        }
    }
}

#[test]
fn window_follows_the_plan_of_the_key() {
    let site = Site::shared();
    let (poor, _) = issue_with(&site.edge, "none", Some(&site.account.to_string()));
    store(&site, 1, &[view(noon(80)), view(noon(20)), view(noon(6))]);
    let get = |key: &str, query: &str| site.send(&Request::get(&format!("/analytics?{query}")).key(key));
    for (key, days, views) in [(&site.key, 90, 3), (&poor, 7, 1)] {
        let report = get(key, "interval=90d").json();
        let meta = &report["meta"];
        assert_eq!((&meta["window_days"], &meta["clamped"]), (&json!(days), &json!(days == 7)));
        assert_eq!(report["totals"]["views"], views);
        assert_eq!(report["lifetime"]["views"], 3);
        let earliest = UtcDay(keys::now().day().0 - days).start();
        let before = get(key, &format!("start={}", earliest.minus(1_000).to_rfc3339()));
        assert_eq!((before.status, before.code().as_str()), (403, "analytics-window-exceeded"));
        let named = before.json()["earliest_available"].as_str().unwrap().to_owned();
        assert_eq!(
            (named.as_str(), &meta["earliest_available"]),
            (earliest.to_rfc3339().as_str(), &json!(named))
        );
        assert_eq!(get(key, &format!("start={named}")).json()["totals"]["views"], views);
    }
    let reset = Request::new("POST", &format!("/pages/{}/analytics/reset", site.id())).key(&poor);
    assert_eq!(site.send(&reset).code(), "plan-required");
}

/// The rows of a day are made to look like more than may be read.
#[test]
fn period_too_wide_is_422_naming_one_that_is_answered() {
    let site = Site::start();
    store(
        &site,
        1,
        &[view(noon(9)).with(Dimension::Country, "NP"), view(noon(2)).with(Dimension::Country, "NP")],
    );
    let busy = noon(9).day().0;
    site.stats().sql(&format!("UPDATE segment SET rows = 30000000 WHERE day = {busy}"));
    for query in ["country=NP", "group_by=country,device"] {
        let refused = get(&site, &format!("/analytics?interval=30d&{query}"));
        assert_eq!((refused.status, refused.code().as_str()), (422, "analytics-too-wide"), "{query}");
        let (start, end) = (&refused.json()["answered_start"], &refused.json()["answered_end"]);
        assert_eq!(start, &UtcDay(busy + 1).start().to_rfc3339());
        let report =
            site.report(&format!("start={}&end={}&{query}", start.as_str().unwrap(), end.as_str().unwrap()));
        assert_eq!(report["totals"]["views"], 1, "{query}");
    }
}

#[test]
fn page_of_another_account_is_unknown() {
    let site = Site::shared();
    let (other, _) = issue(&site.edge, None);
    store(&site, 1, &[view(noon(1))]);
    let id = site.id();
    for request in [
        Request::get(&format!("/analytics?page_id={id}")),
        Request::get(&format!("/analytics/live?page_id={id}")),
        Request::new("POST", &format!("/pages/{id}/analytics/reset")),
    ] {
        let refused = site.send(&request.clone().key(&other));
        assert_eq!((refused.status, refused.code().as_str()), (404, "page-unknown"), "{}", request.target);
        assert_eq!(site.send(&request).code(), "key-missing");
    }
    let report = site.send(&Request::get("/analytics").key(&other)).json();
    assert_eq!((&report["totals"]["views"], &report["lifetime"]["views"]), (&json!(0), &json!(0)));
    assert_eq!(site.report("")["totals"]["views"], 1, "not reset");
}

/// Also calls that are refused once the account has admitted them.
#[test]
fn each_report_costs_one_call() {
    let site = Site::shared();
    created(&site.edge, &site.key, &json!({"title": "Second"}));
    let mut left = None;
    for (path, status) in [
        ("/analytics", 200),
        ("/analytics?group_by=timeseries,page,link&compare=previous_period", 200),
        ("/analytics?format=csv", 200),
        ("/analytics/live", 200),
        ("/analytics?start=2020-01-01", 403),
        ("/analytics?timezone=Mars/Phobos", 422),
    ] {
        let response = get(&site, path);
        assert_eq!(response.status, status, "{path}: {}", response.text());
        assert_eq!(response.header("ratelimit-policy"), Some("\"hour\";q=1000;w=3600"), "{path}");
        let limit = response.header("ratelimit").unwrap().strip_prefix("\"hour\";r=").unwrap().to_owned();
        let now: u64 = limit.split(';').next().unwrap().parse().unwrap();
        assert!(left.is_none_or(|left: u64| left == now + 1), "{path}: {left:?}, then {now}");
        left = Some(now);
    }
}

#[test]
fn faults_of_a_query_are_422_naming_each() {
    let site = Site::shared();
    let refused = get(&site, "/analytics?interval=7&metrics=likes&contry=DE");
    assert_eq!((refused.status, refused.code().as_str()), (422, "fields-invalid"));
    let errors = refused.json()["errors"].as_array().unwrap().clone();
    let pointers: Vec<_> = errors.iter().map(|error| error["pointer"].as_str().unwrap()).collect();
    assert_eq!(pointers, ["#/interval", "#/metrics", "#/contry"]);
    let live = get(&site, "/analytics/live?interval=7d");
    assert_eq!(live.json()["errors"][0]["pointer"], "#/interval", "{}", live.text());
}

/// The runtime's own time zones.
#[test]
fn days_begin_at_midnight_of_the_time_zone() {
    let site = Site::shared();
    store(&site, 1, &[view(noon(2))]);
    for (zone, midnight) in [
        ("Asia/Kathmandu", "T18:15:00Z"),
        ("Asia/Kolkata", "T18:30:00Z"),
        ("Etc/GMT%2B3", "T03:00:00Z"),
        ("Etc/GMT+3", "T03:00:00Z"),
        ("Pacific/Apia", "T11:00:00Z"),
        ("asia/kathmandu", "T18:15:00Z"),
    ] {
        let report = site.report(&format!("interval=7d&timezone={zone}&group_by=timeseries&metrics=views"));
        let series = report["groups"]["timeseries"].as_array().unwrap();
        assert_eq!(series.len(), 7, "{zone}");
        assert!(
            series.iter().all(|row| row["start"].as_str().unwrap().ends_with(midnight)),
            "{zone}: {series:?}"
        );
        assert_eq!(series.iter().map(|row| row["views"].as_u64().unwrap()).sum::<u64>(), 1, "{zone}");
    }
    let refused = get(&site, "/analytics?timezone=Mars/Phobos");
    assert_eq!((refused.status, &refused.json()["errors"][0]["pointer"]), (422, &json!("#/timezone")));
}

#[test]
fn csv_is_a_file_with_one_table() {
    let site = Site::shared();
    let event = |source: &'static str| view(noon(1)).with(Dimension::UtmSource, source);
    store(&site, 1, &[event("=cmd()"), event("=cmd()"), event("a,b"), event("")]);
    let csv = get(&site, "/analytics?group_by=utm_source&format=csv");
    assert_eq!(
        (csv.status, csv.header("content-type")),
        (200, Some("text/csv; charset=utf-8; header=present"))
    );
    assert_eq!(csv.header("content-disposition"), Some("attachment; filename=\"analytics-utm_source.csv\""));
    assert_eq!(
        csv.text(),
        "utm_source,views,clicks,ctr\r\n\"'=cmd()\",2,0,0\r\n(none),1,0,0\r\n\"a,b\",1,0,0\r\n"
    );
}

#[test]
fn live_is_this_minute_and_the_four_before() {
    let site = Site::shared();
    let (now, minute) = (keys::now(), 60_000);
    let start = UnixMillis(now.0 / minute * minute);
    let visitor = |at, visitor| Event { visitor, ..view(at) };
    store(
        &site,
        1,
        &[
            visitor(start.minus(6 * minute), 1),
            visitor(start.minus(2 * minute), 1),
            visitor(start.minus(2 * minute).plus(1_000), 1),
            visitor(start, 2),
        ],
    );
    let live = get(&site, &format!("/analytics/live?page_id={}", site.id())).json();
    let minutes = live["minutes"].as_array().unwrap();
    assert_eq!(minutes.len(), 5);
    // A minute may have ended since.
    assert_eq!((&live["totals"]["views"], &live["totals"]["visitors"]), (&json!(3), &json!(2)), "{live}");
    let of = |at: UnixMillis| minutes.iter().find(|row| row["start"] == at.to_rfc3339()).unwrap();
    let busy = of(start.minus(2 * minute));
    assert_eq!((&busy["views"], &busy["visitors"]), (&json!(2), &json!(1)));
    assert_eq!(of(start)["views"], 1);
    assert_eq!(get(&site, "/analytics/live").json()["totals"], live["totals"]);
}

/// Events of before the reset may arrive after it.
#[test]
fn reset_drops_events_that_are_still_on_their_way() {
    let site = Site::shared();
    let path = format!("/pages/{}/analytics/reset", site.id());
    let post = |path: &str| site.send(&Request::new("POST", path).key(&site.key)).status;
    let lifetime = || site.report("interval=90d")["lifetime"]["views"].clone();
    store(&site, 1, &[view(noon(1)), view(noon(80))]);
    let before = keys::now().minus(1_000);
    assert_eq!((post(&format!("{path}?dry_run=true")), lifetime()), (204, json!(2)));
    assert_eq!((post(&path), lifetime()), (204, json!(0)));
    store(&site, 2, &[view(before), view(noon(3))]);
    assert_eq!(lifetime(), 0);
    // The reset is over within this second, and stores keep whole seconds.
    store(&site, 3, &[view(keys::now().plus(1_000))]);
    assert_eq!(lifetime(), 1);
    assert_eq!((post(&path), post(&path), lifetime()), (204, 204, json!(0)));
}

#[test]
fn page_without_events_reports_zeros() {
    let site = Site::shared();
    let report = site.report("interval=7d&group_by=timeseries,link,page,country");
    assert!(report["totals"].as_object().unwrap().values().all(|value| value == 0 || value.is_null()));
    assert_eq!(report["lifetime"], json!({"views": 0, "clicks": 0, "scans": 0}));
    let meta = &report["meta"];
    let expected =
        json!({"gaps": 0, "dropped": 0, "counting": "exact", "exact": true, "visitor_definition": "daily"});
    for (name, value) in expected.as_object().unwrap() {
        assert_eq!(&meta[name], value, "{name}");
    }
    let until = UnixMillis::from_rfc3339(meta["complete_until"].as_str().unwrap()).unwrap();
    assert!(until < keys::now() && keys::now().since(until) < 60_000, "{until:?}");
    assert_eq!(report["groups"]["timeseries"].as_array().map(Vec::len), Some(7));

    let edge = Edge::shared();
    let (key, _) = issue_with(&edge, "none", None);
    let report = Request::get("/analytics").key(&key).send(edge.addr).json();
    assert_eq!((&report["meta"]["complete_until"], &report["totals"]["views"]), (&Value::Null, &json!(0)));
}

#[test]
fn store_that_fails_is_503_and_not_half_a_report() {
    let site = Site::start();
    created(&site.edge, &site.key, &json!({"title": "Second"}));
    store(&site, 1, &[view(noon(1))]);
    for path in ["/analytics", "/analytics/live"] {
        site.faults.set_once(STATS, Fate::Fail);
        let refused = get(&site, path);
        assert_eq!((refused.status, refused.code().as_str()), (503, "pages-unavailable"), "{path}");
        assert!(refused.header("retry-after").is_some() && refused.header("ratelimit").is_some());
        site.faults.set(STATS, Fate::Pass);
        assert_eq!(get(&site, path).status, 200);
    }
    let reset = Request::new("POST", &format!("/pages/{}/analytics/reset", site.id())).key(&site.key);
    site.faults.set(STATS, Fate::Fail);
    assert_eq!(site.send(&reset).code(), "pages-unavailable");
    site.faults.set(STATS, Fate::Pass);
    assert_eq!(site.report("")["totals"]["views"], 1);
}
