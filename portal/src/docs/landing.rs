//! The start page.

use biolink::codes;
use maud::{Markup, html};
use shared::response::Response;
use shared::tool::Tool;

use super::host::Host;
use super::layout::{Page, sample};
use super::reference::serve;

/// A call that works as it stands, with a key that may have pages.
const PAGE_CALL: &str = r#"curl -sS -X POST https://server.invalid/pages \
  -H "X-API-Key: $KEY" \
  -H 'Content-Type: application/json' -d '{
    "title": "Ada Lovelace", "slug": "ada",
    "bio": "Notes on engines and numbers.",
    "links": [
      {"title": "Read the notes", "url": "https://example.com/notes"},
      {"title": "Newsletter", "url": "https://example.com/news"}
    ],
    "status": "published"
  }'"#;
const PAGE_RESPONSE: &str = r#"{
  "object": "page",
  "id": "pg_Xk2Lw9Qd7Vb4Tz8Rn",
  "status": "published",
  "urls": {"public": "https://server.invalid/ada", …}, …
}"#;
const TOOL_CALL: &str = r#"curl -sS -X POST https://server.invalid/v1/qr/generate \
  -H "X-API-Key: $KEY" \
  -H 'Content-Type: application/json' \
  -d '{"url": "https://example.com", "size": 256}'"#;
const TOOL_RESPONSE: &str = "HTTP/1.1 200 OK\ncontent-type: image/svg+xml\nratelimit: \"minute\";r=9;t=60, \"day\";r=99;t=51234\n\n<svg …";

/// Returns the page `/`: a call with what comes of it, what is promised, and where to go next. `server` is the
/// address that the call has.
pub fn landing(host: Host, server: &str) -> Response {
    let is_edge = host == Host::Edge;
    let content = html! {
        h1 { "One key, " (Tool::ALL.len()) " tools" @if is_edge { ", and pages for your links" } }
        p.lead {
            "Call every tool at one address, with exact limits and errors that explain themselves. "
            @if is_edge { "The same key publishes bio-link pages with analytics and webhooks." }
        }
        p.actions { a.button href="/docs" { "Start with the docs" } @if is_edge { " " a.button.plain href="/console" { "Open the console" } } }
        (shown(is_edge))
        h2 id="promises" { "Guarantees" }
        (promises(is_edge))
        h2 id="path" { "Path of a request" }
        ol.path {
            li { b { "Your program" } " sends " code { "POST /v1/qr/generate" } " with " code { "X-API-Key" } }
            @if is_edge {
                li { b { "Edge" } " verifies the key without a lookup, and spends one call of its quota" }
                li { b { "Proxy" } " verifies the edge’s signature, and picks a healthy server" }
            } @else {
                li { b { "Proxy" } " verifies the key, spends one call of its quota, and picks a healthy server" }
            }
            li { b { "Tool" } " responds, and the response streams back unchanged" }
        }
        h2 id="next" { "Where to go" }
        ul.cards {
            li { a href="/docs" { "Docs" } br; "The first call in a minute, then every operation, limit and error." }
            @if is_edge {
                li { a href="/docs/tools" { "Tools" } br; "What each tool can do, from its own description." }
                li { a href="/status" { "Status" } br; "Which tools are available now." }
                li { a href="/llms.txt" { "For agents" } br; "One text to call the API from, and an MCP server at " code { "/mcp" } "." }
            }
            li { a href="/openapi.json" { "OpenAPI" } br; "The tools and keys, for code generators." }
            @if is_edge {
                li { a href="/biolink/openapi.json" { "OpenAPI of bio-link pages" } br; "Pages, analytics and webhooks." }
            }
        }
        p { "The operator of this gateway issues your key." }
    };
    let description = if is_edge {
        "One HTTP API for many tools and for bio-link pages"
    } else {
        "One HTTP API for many tools"
    };
    let page = Page::new("Unified Tool Gateway", description, &content);
    serve(&Page { host, style: include_str!("landing.css"), wide: true, ..page }.html(), server)
}

/// Returns a call, its response, and at the edge the page that it made.
fn shown(is_edge: bool) -> Markup {
    let (call, response) = if is_edge { (PAGE_CALL, PAGE_RESPONSE) } else { (TOOL_CALL, TOOL_RESPONSE) };
    html! {
        div.shown {
            section { h2 id="call" { "A call" } (sample(call)) }
            section { h2 id="response" { "Its response" } (sample(response)) }
            @if is_edge {
                section {
                    h2 id="page" { "The page" }
                    div.phone {
                        span.face aria-hidden="true" { "A" }
                        b { "Ada Lovelace" }
                        p { "Notes on engines and numbers." }
                        span.link { "Read the notes" }
                        span.link { "Newsletter" }
                    }
                }
            }
        }
    }
}

/// Returns the promises with the figures that tests or measurements of this repository show.
fn promises(is_edge: bool) -> Markup {
    html! {
        dl.figures {
            div { dt { "0" } dd { "calls over a limit in any 60 seconds or any day, wherever they are made. While the meter of a paid key is out of reach, at most 1.25 × its limit. " a href="/docs/limits" { "Limits" } } }
            div { dt { (codes::all().count()) } dd { "problems with a stable code, each with a page that says what to do. " a href="/docs/errors" { "Errors" } } }
            div { dt { "10 s" } dd { "until a key that you revoke is refused everywhere. " a href="/docs/keys#revoke_own_key" { "Your key" } } }
            div { dt { "0.65 ×" } dd { "the CPU time of a bare Pingora proxy for a GET, with limits, metrics and logging. " code { "make bench-proxy" } " measures it." } }
            @if is_edge {
                div { dt { "100" } dd { "of 100 points of Lighthouse for published pages, in every category, without script and cookies. " a href="/docs/publish" { "Publish a page" } } }
            }
        }
    }
}
