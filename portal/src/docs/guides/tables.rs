//! The tables of the guides that are made from the tables that the gateway works by.

use biolink::codes;
use maud::{Markup, html};
use shared::problem::Code;
use shared::tool::Tool;

use super::super::text::inline;
use super::Source;
use crate::docs::model::Description;

/// Returns the table of a name; `None` if there is none.
pub(super) fn of(name: &str, source: &Source<'_>) -> Option<Markup> {
    match name {
        "tools" => Some(tools()),
        "headers" => Some(headers(source.gateway)),
        "any-request" => Some(anywhere(source.anywhere)),
        "problems" => Some(problems()),
        _ => None,
    }
}

fn tools() -> Markup {
    html! {
        table {
            thead { tr { th scope="col" { "Tool" } th scope="col" { "Purpose" } } }
            tbody {
                @for tool in Tool::ALL {
                    tr {
                        // The operations of qr have sections of their own, for all tools.
                        th scope="row" {
                            code { "/v1/" (tool) "/" }
                            @if tool != Tool::Qr { a id=(format!("{tool}_get")) {} a id=(format!("{tool}_post")) {} }
                        }
                        td { (tool.purpose()) }
                    }
                }
            }
        }
    }
}

fn headers(description: &Description) -> Markup {
    html! {
        table {
            thead { tr { th scope="col" { "Header" } th scope="col" { "Meaning" } } }
            tbody {
                @for (name, about) in description.headers() {
                    tr { th scope="row" { code { (name) } } td { (inline(about)) } }
                }
            }
        }
    }
}

/// Returns the problems that every request can get.
fn anywhere(codes: &[Code]) -> Markup {
    html! {
        p id="any-request" {
            "Any request can get "
            @for (at, code) in codes.iter().enumerate() {
                @if at > 0 { ", " }
                a href=(path(*code)) { (code.as_str()) }
            }
            "."
        }
    }
}

fn problems() -> Markup {
    html! {
        table {
            caption { "Every problem, with a page that explains it" }
            thead { tr { th scope="col" { "Code" } th scope="col" { "Meaning" } } }
            tbody {
                @for code in codes::all() {
                    tr {
                        th scope="row" { a href=(path(code)) { code { (code.as_str()) } } }
                        td { span.status.bad { (code.status()) } " " (code.title()) }
                    }
                }
            }
        }
    }
}

fn path(code: Code) -> String {
    format!("/problems/{}", code.as_str())
}
