//! The view of `GET /analytics`.

use maud::{Markup, html};
use serde_json::Value;

use super::chart::{Series, bar};
use super::parts::{Row, count, flag, heading, label, list, parameter, select, table, text};

/// The groups that the view asks for first.
const GROUPS: &str = "timeseries,page,link,product,source,device,browser,country";
/// The choices of groups: as many in each as a report may have.
const CHOICES: [(&str, &str); 2] = [
    (GROUPS, "Links, sources and devices"),
    (
        "timeseries,link,variant,via,channel,utm_source,utm_medium,utm_campaign",
        "Campaigns, short links and QR codes",
    ),
];
/// The tables of groups, each with its title and what its rows are ranked by.
const TABLES: [(&str, &str, &str); 12] = [
    ("link", "Top links", "clicks"),
    ("product", "Top products", "clicks"),
    ("variant", "Destinations of links", "clicks"),
    ("via", "Short links and QR codes", "views"),
    ("source", "Sources", "views"),
    ("channel", "Channels", "views"),
    ("utm_source", "Campaign sources", "views"),
    ("utm_medium", "Campaign media", "views"),
    ("utm_campaign", "Campaigns", "views"),
    ("device", "Devices", "views"),
    ("browser", "Browsers", "views"),
    ("country", "Countries", "views"),
];
const INTERVALS: [(&str, &str); 7] = [
    ("24h", "24 hours"),
    ("today", "Today"),
    ("yesterday", "Yesterday"),
    ("7d", "7 days"),
    ("30d", "30 days"),
    ("90d", "90 days"),
    ("mtd", "This month"),
];
const METRICS: [(&str, &str); 4] =
    [("views", "Views"), ("visitors", "Visitors"), ("clicks", "Clicks"), ("scans", "Scans")];

/// Returns the address of the report about a page, or about all pages of the account.
pub(super) fn address(page_id: Option<&str>, interval: &str) -> String {
    let page = page_id.map(|id| format!("&page_id={id}")).unwrap_or_default();
    format!("/analytics?interval={interval}&group_by={GROUPS}{page}")
}

/// Returns the view.
pub(super) fn report(query: Option<&str>, report: &Value) -> Markup {
    let page_id = parameter(query, "page_id");
    html! {
        (heading("Analytics"))
        (interval(query, &page_id))
        (period(report))
        div.tiles.small {
            @for (metric, name) in METRICS {
                div.tile { strong { (name) } span.number { (count(report, &format!("/totals/{metric}"))) } }
            }
        }
        (over_time(report))
        @if page_id.is_empty() && report.pointer("/groups/page").is_some() {
            (pages(list(report, "/groups/page")))
        }
        div.columns {
            @for (name, title, metric) in TABLES {
                @if report.pointer(&format!("/groups/{name}")).is_some() { (group(report, name, title, metric)) }
            }
        }
    }
}

fn interval(query: Option<&str>, page_id: &str) -> Markup {
    html! {
        form data-view="/analytics" {
            (select("Period", "interval", &INTERVALS, &parameter(query, "interval")))
            (select("Tables", "group_by", &CHOICES, &parameter(query, "group_by")))
            input type="hidden" name="page_id" value=(page_id);
            button { "Show" }
        }
    }
}

fn period(report: &Value) -> Markup {
    let shown = |pointer| label(text(report, pointer), "hour");
    html! {
        p.soft {
            (shown("/meta/start")) " to " (shown("/meta/end")) " UTC"
            @if flag(report, "/meta/clamped") { ", cut to the " (count(report, "/meta/window_days")) " days of the plan" }
            ". Programs are not counted: " (count(report, "/totals/bots")) " events of theirs. " (losses(report))
        }
    }
}

/// Returns what the report may lack. A server that crashes leaves no trace of its last second.
fn losses(report: &Value) -> Markup {
    html! {
        @for (pointer, lost) in [("/meta/gaps", "missing batches of events"), ("/meta/dropped", "dropped events")] {
            @if count(report, pointer) > 0 { strong { (count(report, pointer)) " " (lost) ". " } }
        }
        "Of each server that crashed, up to a second of events may be missing."
    }
}

fn over_time(report: &Value) -> Markup {
    let (buckets, period) = (list(report, "/groups/timeseries"), text(report, "/meta/granularity"));
    let chart = |metric, name| {
        let point = |bucket| (label(text(bucket, "/start"), period), count(bucket, &format!("/{metric}")));
        let total = count(report, &format!("/totals/{metric}"));
        Series { name, period, points: buckets.iter().map(point).collect(), total }
    };
    let row = |bucket: &Value| {
        let counts = METRICS.map(|(metric, _)| html! { (count(bucket, &format!("/{metric}"))) });
        [html! { (label(text(bucket, "/start"), period)) }].into_iter().chain(counts).collect()
    };
    let rows: Vec<Row> = buckets.iter().map(row).collect();
    html! {
        h3 { "Over time" }
        div.columns {
            div {
                @for (metric, name) in METRICS {
                    @if metric == "views" || count(report, &format!("/totals/{metric}")) > 0 { (chart(metric, name).bars()) }
                }
            }
            div.tall { (table("Counts over time", &["From", "Views", "Visitors", "Clicks", "Scans"], &rows, "No period.")) }
        }
    }
}

fn pages(pages: &[Value]) -> Markup {
    let row = |page: &Value| {
        vec![
            html! { a href=(format!("#{}", address(Some(text(page, "/id")), "30d"))) { (text(page, "/title")) } },
            html! { (count(page, "/views")) },
            html! { (count(page, "/visitors")) },
            html! { (count(page, "/clicks")) },
        ]
    };
    let rows: Vec<Row> = pages.iter().map(row).collect();
    html! {
        h3 { "Pages" }
        (table("Pages", &["Page", "Views", "Visitors", "Clicks"], &rows, "No page was visited."))
    }
}

fn group(report: &Value, name: &str, title: &str, metric: &str) -> Markup {
    let (rows, metric_pointer) = (list(report, &format!("/groups/{name}")), format!("/{metric}"));
    let highest = rows.iter().map(|row| count(row, &metric_pointer)).max().unwrap_or_default();
    let row = |row: &Value| {
        vec![
            html! { (value_of(row, name)) },
            bar(count(row, &metric_pointer), highest),
            html! { (count(row, &metric_pointer)) },
        ]
    };
    let counted = rows.iter().filter(|row| count(row, &metric_pointer) > 0);
    let column = if metric == "views" { "Views" } else { "Clicks" };
    let cells: Vec<Row> = counted.map(row).collect();
    html! { div { h3 { (title) } (table(title, &["Name", "Share", column], &cells, "None.")) } }
}

/// Returns the value of a row, or what stands for it.
fn value_of<'a>(row: &'a Value, group: &str) -> &'a str {
    let own = text(row, &format!("/{group}"));
    match text(row, "/title") {
        _ if flag(row, "/other") => "All others",
        "" if !own.is_empty() => own,
        "" if flag(row, "/deleted") => text(row, "/id"),
        "" => "Unknown",
        title => title,
    }
}
