//! The status of the tools, for people.

use maud::{Markup, PreEscaped, html};
use shared::response::Response;
use shared::status::{Overall, StatusOutcome, StatusReport};
use shared::time::UnixMillis;

use super::layout::{Page, Section, respond};

/// Stands for the status in the page as it is rendered at build time.
const PLACE: &str = "<!--status-->";

/// Returns the page `/status` without the status, which [`status_page`] completes.
pub fn status_template() -> String {
    let content = html! {
        h1 { "Status" }
        (PreEscaped(PLACE))
        p { a href="/status" { "Read it again" } ", or for programs " a href="/v1/status" { "as JSON" } "." }
    };
    let page = Page::new("Status: Unified Tool Gateway", "Which tools are available now", &content);
    Page { section: Some(Section::Status), ..page }.html()
}

/// Returns the page `/status` as it is at `now`. It can always be read, whatever the tools do.
pub fn status_page(template: &str, outcome: &StatusOutcome, now: UnixMillis) -> Response {
    let time = now.to_rfc3339();
    let content = html! {
        @match outcome {
            Ok(report) => (tools(report)),
            Err(_) => {
                p.lead.bad { "No tool can be reached." }
                p { "The gateway responds, and none of its data centers does. Calls of tools get 503. Keys, pages and analytics are not affected." }
            }
        }
        p.soft { "Read at " time datetime=(time) { (time) } "." }
    };
    respond(template.replace(PLACE, &content.into_string())).unique()
}

fn tools(report: &StatusReport) -> Markup {
    let absent = report.tools.iter().filter(|tool| !tool.available).count();
    html! {
        @match report.status {
            Overall::Operational => p.lead.good { "All tools are available." },
            Overall::Degraded => p.lead.warn { (absent) " of " (report.tools.len()) " tools are not available." },
            Overall::Outage => p.lead.bad { "No tool is available." },
        }
        table {
            caption { "A tool is available if a call finds a healthy server of it." }
            thead { tr { th scope="col" { "Tool" } th scope="col" { "State" } th scope="col" { "Purpose" } } }
            tbody {
                @for status in &report.tools {
                    tr {
                        th scope="row" { (status.tool) }
                        td { @if status.available { span.good { "available" } } @else { span.bad { "not available" } } }
                        td { (status.tool.purpose()) }
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use shared::problem::{Problem, codes};
    use shared::tool::Tool;

    use super::*;

    const NOW: UnixMillis = UnixMillis(1_763_712_345_678);

    fn page(outcome: &StatusOutcome) -> Response {
        status_page(&status_template(), outcome, NOW)
    }

    #[test]
    fn status_names_each_tool_and_when_it_was_read() {
        let html = page(&Ok(StatusReport::new(|tool| tool != Tool::Qr))).body;
        assert!(html.contains("1 of 17 tools are not available"), "{html}");
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
}
