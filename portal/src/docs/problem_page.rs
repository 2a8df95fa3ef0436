//! One page for each problem code, where a problem's `type` leads.

mod handling;
mod sample;

use maud::html;
use shared::problem::{Code, Retry};
use shared::response::Response;

use super::host::Host;
use super::layout::{self, Page, Section};
use super::text::inline;

/// Returns the page that explains a code: cause, cure, whether to retry, an example response, and
/// code that handles it.
pub fn problem_page(code: Code, host: Host) -> Response {
    let content = html! {
        h1 { (code.title()) }
        p.lead { span.status.bad { (code.status()) } " " code { (code.as_str()) } }
        h2 { "Cause" }
        p { (inline(code.about())) }
        h2 { "Cure" }
        p { (inline(code.cure())) }
        h2 { "Retry" }
        p { (inline(advice(code.retry()))) }
        h2 { "Response" }
        (layout::sample(&example(code)))
        p {
            "Switch on " code { "code" } ". The texts may change. If you ask for help, give the "
            code { "request_id" } "."
        }
        h2 { "Handle it" }
        h3 { "JavaScript" }
        (layout::sample(&handling::javascript(code)))
        h3 { "Python" }
        (layout::sample(&handling::python(code)))
        p { a href="/docs/errors" { "All problems, and how to retry" } }
    };
    let title = format!("{} ({})", code.title(), code.as_str());
    let page = Page::new(&title, code.about(), &content);
    Page { host, section: Some(Section::Docs), ..page }.response()
}

/// Returns the example response of a code.
pub(super) fn example(code: Code) -> String {
    sample::response(code)
}

const fn advice(retry: Retry) -> &'static str {
    match retry {
        Retry::Never => "No. The same request is refused again.",
        Retry::Later => {
            "Yes, after the seconds in `Retry-After`. Without that header wait a second, and twice as long after each further attempt. Give up after a few. Send a POST again only if it may happen twice, or under the same `Idempotency-Key`."
        }
        Retry::AfterRead => {
            "Not as it is. Read the page again, repeat the change on what you read, and send its `ETag` as `If-Match`."
        }
    }
}
