//! One page for each problem code, where a problem's `type` leads.

mod handling;
mod remedy;
mod sample;

use maud::html;

use super::{
    host::Host,
    layout::{self, Page, Section},
    text::inline,
};
use crate::{problem::Code, response::Response};

use remedy::{Retry, cure};

/// Returns the page that explains a code: cause, cure, whether to retry, an example response, and
/// code that handles it.
#[must_use]
pub fn problem_page(code: Code, host: Host) -> Response {
    let retry = Retry::of(code);
    let content = html! {
        h1 { (code.title()) }
        p.lead { span.status.bad { (code.status()) } " " code { (code.as_str()) } }
        h2 { "Cause" }
        p { (inline(code.about())) }
        h2 { "Cure" }
        p { (inline(cure(code))) }
        h2 { "Retry" }
        p { (inline(retry.advice())) }
        h2 { "Response" }
        (layout::sample(&sample::response(code)))
        p {
            "Switch on " code { "code" } ". The texts may change. If you ask for help, give the "
            code { "request_id" } "."
        }
        h2 { "Handle it" }
        h3 { "JavaScript" }
        (layout::sample(&handling::javascript(code)))
        h3 { "Python" }
        (layout::sample(&handling::python(code)))
        p { a href="/docs#errors" { "All problems, and how to retry" } }
    };
    let title = format!("{} ({})", code.title(), code.as_str());
    let page = Page::new(&title, code.about(), &content);
    Page { host, section: Some(Section::Docs), ..page }.response()
}
