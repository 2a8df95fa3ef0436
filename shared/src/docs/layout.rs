//! What all pages have in common.

use base64::{Engine, engine::general_purpose::STANDARD};
use maud::{DOCTYPE, Markup, PreEscaped, html};

use crate::{secret::sha256, written::Written};

const STYLE: &str = include_str!("style.css");

/// A whole page.
pub(super) fn page(title: &str, description: &str, content: &Markup) -> Written {
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
                    a.name href="/docs" { "Unified Tool Gateway" }
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
    Written::public("text/html; charset=utf-8", html.into_string()).with_headers([
        ("content-security-policy", content_security_policy()),
        ("referrer-policy", "no-referrer".to_owned()),
    ])
}

/// A command or a message, which scrolls rather than wraps; reachable by keyboard for that.
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
