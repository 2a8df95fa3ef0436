use serde_json::{Value, json};

use super::*;
use crate::{
    analytics::{AnalyticsRequest, PageCounter, PageReport, SegmentColumns, Zone},
    events::{Dimension, Event, EventKind, Segment},
};

const NOW: UnixMillis = UnixMillis(1_795_354_267_250);
const FORMULAS: [&str; 14] = [
    "=1+1",
    "=cmd|' /C calc'!A0",
    "+1",
    "-1",
    "@SUM(A1)",
    "\t=1",
    "\r=1",
    "\n=1",
    "＝1",
    "＋1",
    "－1",
    "＠1",
    "-2+3+cmd|' /C calc'!A0",
    "=HYPERLINK(\"https://example.com\",\"a\")",
];
const PLAIN: [&str; 6] = ["a,b", "say \"hi\"", "two\nlines", "two\r\nlines", "semi;colon", "Ünï ☃ 🎉"];

fn view(dimension: Dimension, value: &str) -> Event {
    Event::new(NOW, EventKind::View).with(dimension, value.to_owned())
}

fn count(query: &AnalyticsQuery, events: &[Event]) -> PageReport {
    let mut segment = Segment::new(NOW.day());
    events.iter().for_each(|event| segment.push(event));
    let columns = segment.encode();
    let mut counter = PageCounter::new(query.page_query());
    counter
        .add(&SegmentColumns {
            day: segment.day(),
            rows: segment.rows(),
            time: Some(&columns.time),
            kind: &columns.kind,
            visitor: Some(&columns.visitor),
            dimensions: columns.dimensions.each_ref().map(|bytes| Some(bytes.as_slice())),
        })
        .unwrap();
    counter.finish()
}

fn page() -> PageId {
    PageId::new([7; 12])
}

fn context() -> ReportContext {
    let link = LinkLabel {
        id: "lnk_a".to_owned(),
        title: "=Title, \"quoted\"".to_owned(),
        url: None,
        deleted: false,
    };
    let page = PageLabel { id: page(), title: "Ada".to_owned(), slug: "ada".to_owned() };
    ReportContext { labels: Labels { links: vec![link], pages: vec![page] }, ..ReportContext::default() }
}

fn response(query: &str, events: &[Event]) -> Response {
    let query = AnalyticsRequest::parse(Some(query)).unwrap().resolve(&Zone::utc(), NOW, 90).unwrap();
    let report = Report::merge([(page(), count(&query, events))]);
    query.render(&report, None, &context())
}

fn json_of(query: &str, events: &[Event]) -> Value {
    serde_json::from_str(&response(query, events).body).unwrap()
}

/// Reads a response as programs do. The first record is the header.
fn csv_of(query: &str, events: &[Event]) -> Vec<Vec<String>> {
    let response = response(&format!("{query}&format=csv"), events);
    assert_eq!(response.header("content-type"), Some("text/csv; charset=utf-8; header=present"));
    let mut reader = ::csv::ReaderBuilder::new().has_headers(false).from_reader(response.body.as_bytes());
    let fields = |record: ::csv::StringRecord| record.iter().map(str::to_owned).collect();
    reader.records().map(|record| fields(record.unwrap())).collect()
}

#[test]
fn csv_values_with_separators_read_back() {
    let events: Vec<_> = PLAIN.iter().map(|value| view(Dimension::UtmCampaign, value)).collect();
    let records = csv_of("group_by=utm_campaign", &events);
    assert_eq!(records[0], ["utm_campaign", "views", "clicks", "ctr"]);
    let mut found: Vec<_> = records[1..].iter().map(|record| record[0].as_str()).collect();
    found.sort_unstable();
    let mut expected = PLAIN;
    expected.sort_unstable();
    assert_eq!(found, expected);
    assert!(records[1..].iter().all(|record| record[1..] == ["1", "0", "0"]));
}

/// OWASP, CSV injection. Visitors choose what stands here.
#[test]
fn csv_value_that_is_a_formula_becomes_a_text() {
    for formula in FORMULAS {
        let events = [view(Dimension::UtmSource, formula)];
        let body = response("group_by=utm_source&format=csv", &events).body;
        let records = csv_of("group_by=utm_source", &events);
        assert_eq!(records[1][0], format!("'{formula}"));
        assert!(body.contains("\r\n\"'"), "not quoted: {body}");
    }
}

/// Spreadsheets of some countries split at semicolons, and others at tabs.
#[test]
fn csv_formula_behind_another_separator_stays_in_its_cell() {
    for value in ["a;=1+1", "a\t=1+1", "a;\"=1+1"] {
        let body = response("group_by=utm_source&format=csv", &[view(Dimension::UtmSource, value)]).body;
        for separator in *b";\t" {
            let mut reader = ::csv::ReaderBuilder::new()
                .has_headers(false)
                .flexible(true)
                .delimiter(separator)
                .from_reader(body.as_bytes());
            for record in reader.records() {
                assert!(record.unwrap().iter().all(|cell| !cell.starts_with('=')), "{body}");
            }
        }
    }
}

#[test]
fn csv_lines_end_as_rfc_4180_says() {
    let response = response(
        "group_by=country&format=csv",
        &[view(Dimension::Country, "DE"), view(Dimension::Country, "")],
    );
    assert_eq!(response.body, "country,views,clicks,ctr\r\n(none),1,0,0\r\nDE,1,0,0\r\n");
    let disposition = response.header("content-disposition");
    assert_eq!(disposition, Some("attachment; filename=\"analytics-country.csv\""));
    assert_eq!(response.header("cache-control"), Some("no-store"));
}

#[test]
fn csv_of_each_group_has_its_columns() {
    let click = Event::new(NOW, EventKind::Click).with(Dimension::Target, "lnk_a");
    let gone = Event::new(NOW, EventKind::Click).with(Dimension::Target, "lnk_gone");
    let events = [Event::new(NOW, EventKind::View), click.clone(), click, gone];
    let links = csv_of("group_by=link", &events);
    assert_eq!(links[0], ["id", "title", "url", "deleted", "clicks", "unique_clicks", "ctr"]);
    assert_eq!(links[1], ["lnk_a", "'=Title, \"quoted\"", "", "false", "2", "0", "2"]);
    assert_eq!(links[2], ["lnk_gone", "", "", "true", "1", "0", "1"]);
    let other = csv_of("group_by=link&limit=1", &events);
    assert_eq!(other[2], ["(other)", "", "", "", "1", "", "1"]);
    let pages = csv_of("group_by=page&metrics=views,ctr", &events);
    assert_eq!(
        pages,
        [vec!["id", "title", "slug", "views", "ctr"], vec![&page().to_string(), "Ada", "ada", "1", "3"]]
    );
    let totals = csv_of("metrics=views,ctr,unique_ctr", &events);
    assert_eq!(totals, [["views", "ctr", "unique_ctr"], ["1", "3", ""]]);
    let series = csv_of("interval=today&granularity=day&group_by=timeseries&metrics=clicks", &events);
    assert_eq!(series, [["start", "clicks"], ["2026-11-22T00:00:00Z", "3"]]);
}

#[test]
fn ratio_has_four_digits_rounded_half_up() {
    let ratio = |clicks: usize, views: usize| {
        let mut events = vec![Event::new(NOW, EventKind::Click); clicks];
        events.extend(vec![Event::new(NOW, EventKind::View); views]);
        let body = response("metrics=ctr", &events).body;
        let (_, rest) = body.split_once("\"totals\":{\"ctr\":").unwrap();
        rest.split_once('}').unwrap().0.to_owned()
    };
    for (clicks, views, expected) in [
        (0, 0, "null"),
        (1, 0, "null"),
        (0, 1, "0"),
        (1, 1, "1"),
        (1, 2, "0.5"),
        (1, 3, "0.3333"),
        (2, 3, "0.6667"),
        (5, 2, "2.5"),
        (1, 16, "0.0625"),
        (1, 32, "0.0313"),
        (1, 100, "0.01"),
        (1, 2_000, "0.0005"),
        (1, 20_000, "0.0001"),
        (1, 20_001, "0"),
        (19_999, 20_000, "1"),
    ] {
        assert_eq!(ratio(clicks, views), expected, "{clicks} of {views}");
    }
}

#[test]
fn json_of_any_text_is_read_by_others() {
    let texts = FORMULAS.into_iter().chain(PLAIN).chain(["\\", "\u{7f}", "\u{2028}", "</script>"]);
    for text in texts {
        let report = json_of("group_by=utm_source", &[view(Dimension::UtmSource, text)]);
        assert_eq!(
            report["groups"]["utm_source"],
            json!([{"utm_source": text, "views": 1, "clicks": 0, "ctr": 0}])
        );
    }
}

#[test]
fn report_without_events_has_zeros_and_every_bucket() {
    let report = json_of("interval=7d&group_by=timeseries,link,country,page", &[]);
    assert_eq!(
        report["totals"],
        json!({"views": 0, "visitors": 0, "clicks": 0, "unique_clicks": 0, "ctr": null, "unique_ctr": null,
            "scans": 0, "unique_scans": 0, "views_confirmed": 0, "bots": 0})
    );
    assert_eq!(
        report["ignored"],
        json!({"head": 0, "prefetch": 0, "preview": 0, "own": 0, "embed": 0, "flood": 0, "bot": {}})
    );
    assert_eq!(report["groups"]["timeseries"].as_array().map(Vec::len), Some(7));
    for group in ["link", "country", "page"] {
        assert_eq!(report["groups"][group], json!([]), "{group}");
    }
    assert_eq!(report.get("previous"), None);
}

#[test]
fn meta_says_how_complete_the_counts_are() {
    let query = AnalyticsRequest::parse(None).unwrap().resolve(&Zone::utc(), NOW, 90).unwrap();
    let meta = |delivery: Completeness| {
        let context = ReportContext { delivery, ..context() };
        let body = query.render(&Report::default(), None, &context).body;
        serde_json::from_str::<Value>(&body).unwrap()["meta"].clone()
    };
    let exact = meta(Completeness { complete_until: Some(NOW), ..Completeness::default() });
    assert_eq!(
        (&exact["complete_until"], &exact["counting"]),
        (&json!("2026-11-22T13:31:07.25Z"), &json!("exact"))
    );
    let mut both = Completeness { complete_until: Some(NOW), gaps: 1, dropped: 2, coalesced: false };
    both.merge(&Completeness {
        complete_until: Some(NOW.minus(1_000)),
        gaps: 3,
        dropped: 4,
        coalesced: true,
    });
    let merged = meta(both);
    assert_eq!(merged["complete_until"], "2026-11-22T13:31:06.25Z");
    assert_eq!(
        (&merged["gaps"], &merged["dropped"], &merged["counting"]),
        (&json!(4), &json!(6), &json!("coalesced"))
    );
}

#[test]
fn other_value_of_a_visitor_is_no_sum() {
    let events = [
        view(Dimension::UtmSource, "(other)"),
        view(Dimension::UtmSource, "b"),
        view(Dimension::UtmSource, "c"),
    ];
    let rows = json_of("group_by=utm_source&limit=1", &events)["groups"]["utm_source"].clone();
    assert_eq!(rows[0], json!({"utm_source": "(other)", "views": 1, "clicks": 0, "ctr": 0}));
    assert_eq!(rows[1], json!({"utm_source": "(other)", "views": 2, "clicks": 0, "ctr": 0, "other": true}));
}
