//! Pages of the operator's own: nothing there, nothing there any more, and reports of abuse. They
//! are in English, have the design of the site, and search engines leave them out.

use maud::{Markup, html};
use shared::{problem::Problem, request_id::RequestId, response::Response};

use super::layout::{Head, respond};
use crate::page::{ReportReason, document::Direction};

/// Returns a 404: there is no page at the address.
pub fn not_found() -> Response {
    let content = notice("There is no page here", "Check the address, or ask whoever gave it to you.");
    Response { status: 404, ..operator_page("There is no page here", &content) }
}

/// Returns a 410: there was a page. It does not say who took it down, or why.
pub fn gone() -> Response {
    let content = notice("This page is not available", "It is not shown any more.");
    Response { status: 410, ..operator_page("This page is not available", &content) }
}

/// Returns a problem as a page, with the status and the headers that it always has.
pub fn problem_notice(problem: &Problem, request_id: &RequestId) -> Response {
    let Response { headers: own, status, .. } = problem.render(request_id);
    let page = match status {
        // A visitor has made no mistake that the words of a problem would help with.
        400 | 404 => not_found(),
        410 => gone(),
        _ => {
            let title = problem.code().title();
            operator_page(title, &notice(title, problem.detail()))
        }
    };
    let replaced = |name: &str| matches!(name, "cache-control" | "etag" | "vary");
    let shown = page.headers.into_iter().filter(|(name, _)| !replaced(name));
    let own = own.into_iter().filter(|(name, _)| *name != "content-type");
    Response { status, headers: shown.chain(own).collect(), body: page.body }
}

/// Returns the form that reports a page. It is sent to its own address. `path` is that of the page.
pub fn report_form(path: &str) -> Response {
    let home = if path.is_empty() { "/" } else { path };
    let content = html! {
        main {
            h1 { "Report this page" }
            p { "The page is " b { (home) } "." }
            form method="post" action={ (path) "/report" } {
                label for="reason" { "What is wrong with it?" }
                select id="reason" name="reason" required {
                    option value="" { "Choose a reason" }
                    @for reason in ReportReason::ALL { option value=(reason.as_str()) { (reason.label()) } }
                }
                label for="details" { "Anything that helps us to check it (optional)" }
                textarea id="details" name="details" rows="4" maxlength=(crate::page::MAX_REPORT_DETAILS) {}
                button { "Send the report" }
            }
        }
        footer { a href=(home) { "Back to the page" } }
    };
    operator_page("Report this page", &content)
}

/// Returns the confirmation of a report.
pub fn report_received() -> Response {
    let content = notice("Thank you for the report", "We look at every report.");
    operator_page("Thank you for the report", &content)
}

fn notice(title: &str, text: &str) -> Markup {
    html! { main { h1 { (title) } p { (text) } } }
}

fn operator_page(title: &str, content: &Markup) -> Response {
    let head = Head {
        title,
        locale: "en",
        direction: Direction::Ltr,
        theme: None,
        noindex: true,
        icon: None,
        images: Vec::new(),
        more: html! {},
    };
    respond(&head, content).with_headers([("x-robots-tag", "noindex")])
}
