//! One page for each problem code, where a problem's `type` leads.

use maud::html;

use super::layout::{Page, Section, sample};
use crate::{
    problem::{Code, Problem},
    request_id::RequestId,
    response::Response,
};

/// Returns the page that explains a code: what it means, what to do, and an example response.
#[must_use]
pub fn problem_page(code: Code) -> Response {
    let rendered = Problem::new(code, "what happened this time").render(&RequestId([0x5a; 16]));
    let example = serde_json::from_str::<serde_json::Value>(&rendered.body)
        .and_then(|body| serde_json::to_string_pretty(&body))
        .unwrap_or(rendered.body);
    let content = html! {
        h1 { (code.title()) }
        p.lead { span.status { (code.status()) } " " code { (code.as_str()) } }
        p { (code.about()) }
        h2 { "The response" }
        (sample(&example))
        p {
            "Switch on " code { "code" } "; the other texts may change. If you ask for help, give the "
            code { "request_id" } "."
        }
        p { a href="/docs#errors" { "All problems" } }
    };
    let title = format!("{} ({})", code.title(), code.as_str());
    Page { section: Some(Section::Docs), ..Page::new(&title, code.about(), &content) }.response()
}
