//! The status of the tools, for people: now, over 90 days, and what an administrator says of failures.

mod history;
mod incidents;

use maud::{Markup, PreEscaped, html};
use shared::response::Response;
use shared::status::message::StatusRecord;
use shared::status::{Overall, StatusOutcome, StatusReport};
use shared::time::UnixMillis;

use super::layout::{Page, Section, respond};
use crate::NAME;
use crate::feed::MEDIA_TYPE;
use crate::route::STATUS_FEED_PATH;

pub use incidents::incident_feed;

/// Stands for the status in the page as it is rendered at build time.
const PLACE: &str = "<!--status-->";
const STYLE: &str = include_str!("status.css");

/// Returns the page `/status` without the status, which [`status_page`] completes.
pub fn status_template() -> String {
    let content = html! {
        h1 { "Status" }
        (PreEscaped(PLACE))
        p {
            a href="/status" { "Read it again" } ", follow the " a href=(STATUS_FEED_PATH) { "feed of incidents" }
            ", or read for programs what is " a href="/v1/status" { "now" } ", what was in "
            a href="/v1/status/history" { "90 days" } " and the " a href="/v1/status/incidents" { "incidents" } "."
        }
    };
    let title = format!("Status: {NAME}");
    let page = Page::new(&title, "Which tools are available now, and were in 90 days", &content);
    let alternates = [(MEDIA_TYPE, STATUS_FEED_PATH.to_owned())];
    Page { section: Some(Section::Status), style: STYLE, alternates: &alternates, ..page }.html()
}

/// Returns the page `/status` as it is at `now`. It can always be read, whatever the tools do. `record` is `None` if
/// history and incidents cannot be read.
pub fn status_page(
    template: &str,
    outcome: &StatusOutcome,
    record: Option<&StatusRecord>,
    now: UnixMillis,
) -> Response {
    let content = html! {
        @match outcome {
            Ok(report) => (summary(report)),
            Err(_) => {
                p.state.bad { "No tool can be reached." }
                p { "The gateway responds, and none of its data centers does. Calls of tools get 503. Keys, pages and analytics are not affected." }
            }
        }
        @match record {
            Some(record) => {
                (incidents::open(&record.incidents))
                (history::tools(outcome.as_ref().ok(), Some(&record.history), now))
                (incidents::past(&record.incidents))
            }
            None => {
                (history::tools(outcome.as_ref().ok(), None, now))
                p.warn { "History and incidents cannot be read at the moment. Calls are not affected." }
            }
        }
        p.soft { "Read at " (time(now)) "." }
    };
    respond(template.replace(PLACE, &content.into_string())).unique()
}

/// Returns a time as people read it, to the minute: `2026-11-29 07:06 UTC`.
fn time(at: UnixMillis) -> Markup {
    let exact = at.to_rfc3339();
    let (day, clock) = exact.split_once('T').unwrap_or((&exact, ""));
    html! { time.soft datetime=(exact) { (day) " " (clock.get(..5).unwrap_or(clock)) " UTC" } }
}

fn summary(report: &StatusReport) -> Markup {
    let absent = report.tools.iter().filter(|tool| !tool.available).count();
    html! {
        @match report.status {
            Overall::Operational => p.state.good { "All tools are available." },
            Overall::Degraded => p.state.warn {
                (absent) " of " (report.tools.len()) " tools " (if absent == 1 { "is" } else { "are" }) " not available."
            },
            Overall::Outage => p.state.bad { "No tool is available." },
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use shared::problem::{Problem, codes};
    use shared::status::history::{AvailabilityHistory, DaySamples};
    use shared::status::incident::{IncidentId, Incidents, NewIncident, NewUpdate};
    use shared::tool::Tool;

    use super::*;

    const NOW: UnixMillis = UnixMillis(1_763_712_345_678);

    fn page(outcome: &StatusOutcome) -> Response {
        status_page(&status_template(), outcome, Some(&StatusRecord::default()), NOW)
    }

    /// Returns two samples of today, in one of which qr was away, and two incidents, of which one is over.
    fn record() -> StatusRecord {
        let mut today = DaySamples::new(NOW.day());
        today.record(&StatusReport::new(|_| true), NOW.minus(60_000));
        today.record(&StatusReport::new(|tool| tool != Tool::Qr), NOW);
        let mut incidents = Incidents::default();
        for (number, title) in [(1, "Slow <codes>"), (2, "No images")] {
            let body =
                json!({ "title": title, "impact": "major", "tools": ["qr"], "message": "We look & see." });
            let new = NewIncident::read(body.to_string().as_bytes()).unwrap();
            incidents.create(IncidentId::new([number; 12]), new, None, NOW.minus(120_000)).unwrap();
        }
        let over = NewUpdate::read(br#"{"state": "resolved", "message": "Mended."}"#).unwrap();
        incidents.update(IncidentId::new([1; 12]), over, NOW).unwrap();
        StatusRecord { history: AvailabilityHistory(vec![today]), incidents }
    }

    #[test]
    fn status_names_each_tool_and_when_it_was_read() {
        let html = page(&Ok(StatusReport::new(|tool| tool != Tool::Qr))).body;
        assert!(html.contains("1 of 17 tools is not available"), "{html}");
        assert!(html.contains("datetime=\"2025-11-21T08:05:45.678Z\">2025-11-21 08:05 UTC</time>"), "{html}");
        assert!(html.contains("2025-11-21T08:05:45"));
        assert_eq!(html.matches(">available<").count(), Tool::ALL.len() - 1);
        assert!(page(&Ok(StatusReport::new(|_| true))).body.contains("All tools are available."));
        assert!(page(&Ok(StatusReport::new(|_| false))).body.contains("No tool is available."));
    }

    #[test]
    fn status_is_200_without_an_origin_and_kept_by_no_cache() {
        let response = page(&Err(Problem::new(codes::TOOL_UNAVAILABLE, "none")));
        assert_eq!((response.status, response.header("cache-control")), (200, Some("private, no-cache")));
        assert!(response.body.contains("No tool can be reached."));
        assert!(response.header("content-security-policy").is_some() && response.header("etag").is_none());
    }

    #[test]
    fn page_has_90_days_of_each_tool_and_says_which_were_bad() {
        let html =
            status_page(&status_template(), &Ok(StatusReport::new(|_| true)), Some(&record()), NOW).body;
        assert_eq!(html.matches("<svg class=\"bars\"").count(), Tool::ALL.len());
        assert!(html.contains("qr in 90 days: 50.00 % of 2 known minutes"), "{html}");
        assert!(html.contains("<td>2025-11-21</td><td>50.00 %</td>"), "{html}");
        assert_eq!(html.matches("class=\"bad\" d=\"").count(), 1, "one bar is a bad one");
        assert!(!html.contains("style=\""), "the page's policy allows none");
    }

    #[test]
    fn page_has_open_incidents_first_and_escapes_them() {
        let html =
            status_page(&status_template(), &Ok(StatusReport::new(|_| true)), Some(&record()), NOW).body;
        let (open, past) = html.split_once("Past incidents").unwrap();
        assert!(open.contains("No images") && !open.contains("Slow"), "{html}");
        assert!(past.contains("Slow &lt;codes&gt;") && past.contains("Mended."), "{html}");
        assert!(open.contains("We look &amp; see."));
    }

    #[test]
    fn page_without_the_record_shows_what_is_now() {
        let html = status_page(&status_template(), &Ok(StatusReport::new(|_| true)), None, NOW).body;
        assert!(
            html.contains("All tools are available.")
                && html.contains("History and incidents cannot be read")
        );
        assert_eq!(html.matches(">available<").count(), Tool::ALL.len());
        assert!(!html.contains("<svg class=\"bars\""));
    }

    /// Oracle: another implementation of RFC 4287.
    #[test]
    fn feed_has_every_incident_with_its_updates() {
        let text = incident_feed(&record().incidents, "https://api.example.com").body;
        let feed: atom_syndication::Feed = text.parse().unwrap();
        let [second, first] = feed.entries() else { panic!("{text}") };
        assert_eq!(first.title().as_str(), "Resolved: Slow <codes>");
        assert_eq!(first.id(), format!("https://api.example.com/status#{}", IncidentId::new([1; 12])));
        assert_eq!(first.updated().to_rfc3339(), "2025-11-21T08:05:45.678+00:00");
        assert_eq!(feed.updated(), first.updated());
        assert!(first.content().unwrap().value().unwrap().contains("Mended."));
        assert_eq!(second.title().as_str(), "Investigating: No images");
        let none: atom_syndication::Feed = incident_feed(&Incidents::default(), "").body.parse().unwrap();
        assert!(none.entries().is_empty());
    }
}
