//! The tables of the guides, made from the tables that the gateway works by.

use biolink::codes;
use biolink::route::VisitEndpoint;
use maud::{Markup, html};
use shared::policy::{Policy, Window};
use shared::problem::Code;
use shared::request::{MAX_BODY_BYTES, MAX_HEADER_BYTES, MAX_HEADER_LINES};
use shared::route::MAX_TARGET;
use shared::tier::Tier;
use shared::tool::Tool;

use super::super::model::Description;
use super::super::text::inline;

pub(super) fn tools() -> Markup {
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

pub(super) fn tiers() -> Markup {
    html! {
        table {
            thead { tr { th scope="col" { "Tier" } th scope="col" { "In any " (Window::Minute.seconds()) " seconds" } th scope="col" { "On a UTC day" } } }
            tbody {
                @for tier in Tier::ALL {
                    @let policy = Policy::for_tier(tier);
                    tr {
                        th scope="row" { (tier) }
                        td { (policy.minute) }
                        td { @match policy.day { Some(day) => (day), None => "without limit" } }
                    }
                }
            }
        }
    }
}

/// Libraries that retry by themselves: whether they wait as `Retry-After` says, for how long at most if nothing is set,
/// and what to set.
const LIBRARIES: [[&str; 4]; 13] = [
    ["curl `--retry`", "yes", "none", "`--retry-max-time 61`"],
    [
        "got",
        "yes",
        "the timeout of the request, if it has one; beyond it the error is thrown",
        "`retry: { maxRetryAfter: 61_000 }`",
    ],
    [
        "ky",
        "yes",
        "none",
        "`retry: { maxRetryAfter: 61_000 }`; some versions wait so long and send too early, so set `limit` too",
    ],
    [
        "axios-retry 4",
        "yes, or longer if its own delay is",
        "none",
        "a `retryCondition` that refuses a longer `Retry-After`",
    ],
    ["fetch, axios", "no, they do not retry", "", ""],
    [
        "urllib3",
        "yes, three times if nothing is set",
        "6 hours in new versions, none before",
        "`Retry(retry_after_max=61)`, or `respect_retry_after_header=False`",
    ],
    [
        "requests",
        "no, it does not retry; with `HTTPAdapter(max_retries=Retry(…))` as urllib3",
        "as urllib3",
        "as urllib3",
    ],
    ["tenacity", "no, unless your `wait` reads it", "none", "`stop_after_delay(61)`"],
    ["backoff", "no; `backoff.runtime` does if your `value` reads it", "none", "`max_time=61`"],
    [
        "reqwest-retry",
        "no, it waits by its policy",
        "that of the policy",
        "`ExponentialBackoff::builder().retry_bounds(…)`",
    ],
    ["go-retryablehttp", "yes", "none: `RetryWaitMax` is not for it", "a `Backoff` of your own"],
    ["resty 2", "no, unless `SetRetryAfter` reads it", "`RetryMaxWaitTime`, 2 s", "`SetRetryMaxWaitTime`"],
    [
        "clients of openapi-generator",
        "Python as urllib3, by which it sends; TypeScript, Rust and Go do not retry",
        "as urllib3",
        "`configuration.retries` in Python",
    ],
];

pub(super) fn retrying_libraries() -> Markup {
    html! {
        table {
            thead { tr { th scope="col" { "Library" } th scope="col" { "Waits as told" } th scope="col" { "At most" } th scope="col" { "Setting" } } }
            tbody {
                @for [library, waits, most, setting] in LIBRARIES {
                    tr {
                        th scope="row" { (inline(library)) }
                        @for cell in [waits, most, setting] { td { (inline(cell)) } }
                    }
                }
            }
        }
    }
}

pub(super) fn headers(description: &Description) -> Markup {
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

pub(super) fn bounds() -> Markup {
    html! {
        ul {
            li { "Path and query: " (MAX_TARGET) " bytes." }
            li { "Headers: " (MAX_HEADER_LINES) " lines and " (MAX_HEADER_BYTES / 1024) " KiB." }
            li { "Body: " (MAX_BODY_BYTES / 1024 / 1024) " MiB, unless the tool says otherwise." }
        }
    }
}

/// Returns the problems that every request can get.
pub(super) fn anywhere(codes: &[Code]) -> Markup {
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

pub(super) fn codes() -> Markup {
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

pub(super) fn visitors() -> Markup {
    html! {
        p { "What visitors and their programs open. These routes need no key." }
        table {
            thead { tr { th scope="col" { "Route" } th scope="col" { "Meaning" } } }
            tbody {
                @for endpoint in VisitEndpoint::ALL {
                    tr {
                        th scope="row" { code { b { (endpoint.method().as_str()) } " " (endpoint.path()) } }
                        td { (about_visit(endpoint)) }
                    }
                }
            }
        }
    }
}

const fn about_visit(endpoint: VisitEndpoint) -> &'static str {
    match endpoint {
        VisitEndpoint::Page => "The published page.",
        VisitEndpoint::Link => "Counts a click and leads to the link's address.",
        VisitEndpoint::Product => "Counts a click and leads to the product's address.",
        VisitEndpoint::Ping => "Counts a click on a link that leads away by itself.",
        VisitEndpoint::Seen => "Confirms a view: the image that a page has once.",
        VisitEndpoint::Card => "The contact card.",
        VisitEndpoint::QrSvg => "The page's QR code as SVG.",
        VisitEndpoint::QrPng => "The page's QR code as PNG.",
        VisitEndpoint::QrPdf => "The page's QR code as PDF.",
        VisitEndpoint::ProductsXml => "The page's products as a Google Merchant feed.",
        VisitEndpoint::ProductsJson => "The page's products as JSON.",
        VisitEndpoint::Code => "Counts a scan of a QR code and leads to its page.",
        VisitEndpoint::NamedCode => "Counts a scan of a QR code with a name and leads to its page or link.",
        VisitEndpoint::ShortLink => "Leads to a page or link, and counts by the name.",
        VisitEndpoint::ReportForm => "The form with which a visitor reports the page.",
        VisitEndpoint::Report => "Reports the page to the operator.",
    }
}
