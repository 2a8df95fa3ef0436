//! The examples of analytics: events of visitors to the page of the examples, and what the code
//! counts of them.

use biolink::analytics::{
    AnalyticsQuery, AnalyticsRequest, Completeness, EventCounts, LiveRequest, PageCounter, PageQuery, Report,
    ReportContext, SegmentColumns, Zone,
};
use biolink::events::{Columns, Event, EventKind, Occurrence, Request, Segment, observe};
use biolink::page::{LinkId, PageId};
use biolink::policy::ANALYTICS_DAYS;
use biolink::stats::{COUNTED_AFTER_MS, event_line};
use serde_json::Value;
use shared::key::KeyId;
use shared::problem::Problem;
use shared::response::Response;
use shared::time::UnixMillis;

use super::{Exchange, Store};

/// The parameters of the report in the examples.
pub(in super::super) const INTERVAL: &str = "24h";
pub(in super::super) const TIMEZONE: &str = "Europe/Berlin";
pub(in super::super) const GROUPS: [&str; 3] = ["link", "channel", "bot_class"];

/// 2026-01-07 09:00 UTC, when the report is asked for.
const NOW: UnixMillis = UnixMillis(1_767_776_400_000);
/// Berlin's, in winter.
const OFFSET_SECONDS: i32 = 3_600;
const PHONE: &str = "Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.5 Mobile/15E148 Safari/604.1";
const COMPUTER: &str = "Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0";
const CRAWLER: &str = "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)";

/// What a visitor does.
struct Visit {
    kind: EventKind,
    /// Milliseconds before [`NOW`].
    ago: u64,
    visitor: u64,
    user_agent: &'static str,
    referrer: Option<&'static str>,
    query: Option<&'static str>,
}

const VISITS: [Visit; 7] = [
    visit(EventKind::View, 3_600_000, (1, PHONE), Some("https://l.instagram.com/")),
    visit(EventKind::Confirm, 3_599_000, (1, PHONE), None),
    visit(EventKind::Click, 3_590_000, (1, PHONE), None),
    visit(EventKind::View, 1_800_000, (0, CRAWLER), None),
    visit(EventKind::Scan, 121_000, (2, COMPUTER), None),
    Visit { query: Some("via=qr"), ..visit(EventKind::View, 120_000, (2, COMPUTER), None) },
    visit(EventKind::Confirm, 119_000, (2, COMPUTER), None),
];

const fn visit(
    kind: EventKind,
    ago: u64,
    (visitor, user_agent): (u64, &'static str),
    referrer: Option<&'static str>,
) -> Visit {
    Visit { kind, ago, visitor, user_agent, referrer, query: None }
}

/// Returns the example of `GET /analytics`.
pub(super) fn report(store: &Store, page: PageId, links: &[LinkId]) -> Exchange {
    exchange(rendered(
        store,
        page,
        links,
        &format!(
            "interval={INTERVAL}&timezone={TIMEZONE}&compare=previous_period&group_by={}",
            GROUPS.join(",")
        ),
    ))
}

/// Returns the example of `GET /analytics` as a table.
pub(in super::super) fn csv() -> String {
    let mut store = Store::default();
    let (page, links) = store.create();
    rendered(&store, page, &links, "format=csv&group_by=channel").map(|table| table.body).unwrap_or_default()
}

/// Returns the example of `GET /analytics/live`.
pub(super) fn live(page: PageId, links: &[LinkId]) -> Exchange {
    let report = Report::merge([(page, count(&LiveRequest::page_query(NOW), &segment(page, links)))]);
    exchange(Ok(LiveRequest::render(NOW, &report)))
}

/// Returns an event as a line of the export.
pub(in super::super) fn event() -> Value {
    let (page, links) = Store::default().create();
    let click = events(page, &links).find(|event| event.kind == EventKind::Click);
    let line = click.map(|click| event_line(&page, &click)).unwrap_or_default();
    serde_json::from_str(&line).unwrap_or_default()
}

fn exchange(response: Result<Response, Problem>) -> Exchange {
    match response {
        Ok(response) => {
            let body = serde_json::from_str(&response.body).ok();
            Exchange { request: None, status: response.status, response: body }
        }
        Err(problem) => Exchange { request: None, status: problem.code().status(), response: None },
    }
}

/// Does what the edge does with a query.
fn rendered(store: &Store, page: PageId, links: &[LinkId], query: &str) -> Result<Response, Problem> {
    let request = AnalyticsRequest::parse(Some(query))?;
    let (from, to) = AnalyticsRequest::zone_span(NOW, ANALYTICS_DAYS);
    let zone = Zone::build(from, to, |_| Some(OFFSET_SECONDS)).unwrap_or_else(Zone::utc);
    let query: AnalyticsQuery = request.resolve(&zone, NOW, ANALYTICS_DAYS)?;
    let segment = segment(page, links);
    let report = Report::merge([(page, count(&query.page_query(), &segment))]);
    let previous = query.previous_query().map(|query| Report::merge([(page, count(&query, &segment))]));
    let content = |page, revision| Ok::<_, Problem>(store.contents.get(&(page, revision)).cloned());
    let complete_until = Some(NOW.minus(COUNTED_AFTER_MS));
    let context = ReportContext {
        labels: store.account.labels(content)?,
        delivery: Completeness { complete_until, ..Completeness::default() },
        lifetime: Some(EventCounts::of(&segment)),
    };
    Ok(query.render(&report, previous.as_ref(), &context))
}

fn segment(page: PageId, links: &[LinkId]) -> Segment {
    let mut segment = Segment::new(NOW.day());
    events(page, links).for_each(|event| segment.push(&event));
    segment
}

fn events(page: PageId, links: &[LinkId]) -> impl Iterator<Item = Event> {
    let link = links.first().map(ToString::to_string);
    VISITS.into_iter().map(move |visit| {
        let kind = visit.kind;
        let occurrence = Occurrence {
            target: link.clone().filter(|_| kind == EventKind::Click),
            qr_code: (kind == EventKind::Scan).then(|| super::SLUG.to_owned()),
            number: visit.ago,
            ..Occurrence::new(KeyId::new(super::ACCOUNT), page, kind)
        };
        let header = |name: &str| match name {
            "user-agent" => Some(visit.user_agent),
            "referer" => visit.referrer,
            "accept-language" => Some("en-GB"),
            _ => None,
        };
        let request = Request {
            method: "GET",
            header: &header,
            query: visit.query,
            own_host: None,
            country: Some("DE"),
            at: NOW.minus(visit.ago),
        };
        let (event, is_numbered) = observe(&occurrence, &request);
        if is_numbered { Event { visitor: visit.visitor, ..event } } else { event }
    })
}

fn count(query: &PageQuery, segment: &Segment) -> biolink::analytics::PageReport {
    let Columns { time, kind, visitor, dimensions } = segment.encode();
    let columns = SegmentColumns {
        day: segment.day(),
        rows: segment.rows(),
        time: Some(&time),
        kind: &kind,
        visitor: Some(&visitor),
        dimensions: dimensions.each_ref().map(|column| Some(column.as_slice())),
    };
    let mut counter = PageCounter::new(query.clone());
    // Columns that were just encoded can be read.
    let _added = counter.add(&columns);
    counter.finish()
}
