//! The layout that all pages share.

use base64::{Engine, engine::general_purpose::STANDARD};
use maud::{DOCTYPE, Markup, PreEscaped, html};

use crate::{response::Response, secret::sha256};

const STYLE: &str = include_str!("style.css");

/// Returns a whole page.
pub(super) fn page(title: &str, description: &str, content: &Markup) -> Response {
    let html = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="description" content=(description);
                meta name="color-scheme" content="light dark";
                title { (title) }
                style { (PreEscaped(STYLE)) }
            }
            body {
                a.skip href="#main" { "Skip to the content" }
                header {
                    a.name href="/" { "Unified Tool Gateway" }
                    nav aria-label="Site" {
                        a href="/docs" { "Reference" }
                        a href="/openapi.json" { "OpenAPI" }
                        a href="/v1/status" { "Status" }
                    }
                }
                main id="main" { (content) }
            }
        }
    };
    Response::public("text/html; charset=utf-8", html.into_string()).with_headers([
        ("content-security-policy", content_security_policy()),
        ("referrer-policy", "no-referrer".to_owned()),
    ])
}

/// Returns the markup of a command or a message. It scrolls rather than wraps, and can be reached
/// by keyboard for that.
pub(super) fn sample(label: &str, text: &str) -> Markup {
    html! {
        pre tabindex="0" role="region" aria-label=(label) { code { (text) } }
    }
}

/// `Content-Security-Policy` of the pages: their own style and nothing else.
fn content_security_policy() -> String {
    let digest = STANDARD.encode(sha256(&[STYLE.as_bytes()]));
    format!(
        "default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )
}
