//! The start page.

use maud::html;

use super::layout::Page;
use crate::{response::Response, tool::Tool};

/// Returns the page `/`, which leads to the reference.
#[must_use]
pub fn landing() -> Response {
    let content = html! {
        h1 { "One key, " (Tool::ALL.len()) " tools, and pages for your links" }
        p.lead { "An HTTP API behind one API key. Whoever runs this gateway issues you the key." }
        ul {
            li { a href="/docs" { "Reference" } ": quick start, tools, limits and errors" }
            li { a href="/openapi.json" { "OpenAPI" } ": the same for programs" }
            li { a href="/biolink/openapi.json" { "OpenAPI of bio-link pages" } }
            li { a href="/v1/status" { "Status" } ": which tools are available now" }
        }
    };
    Page::new("Unified Tool Gateway", "One HTTP API for many tools and for bio-link pages", &content)
        .response()
}
