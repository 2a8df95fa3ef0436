//! The start page.

use maud::html;
use shared::response::Response;
use shared::tool::Tool;

use super::host::Host;
use super::layout::Page;

/// Returns the page `/`: what this is, the way of a request, and where to go next.
pub fn landing(host: Host) -> Response {
    let is_edge = host == Host::Edge;
    let content = html! {
        h1 { "One key, " (Tool::ALL.len()) " tools" @if is_edge { ", and pages for your links" } }
        p.lead {
            "The gateway takes every call at one address, checks one API key and its limits exactly, and hands the call to a healthy server of the tool. "
            @if is_edge { "The same key publishes bio-link pages with analytics and webhooks." }
        }
        h2 id="path" { "The way of a request" }
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
        p { "What the gateway refuses is a problem with a stable code, and a page that explains it. A call that reached no tool costs nothing of the day." }
        h2 id="next" { "Where to go" }
        ul.cards {
            li { a href="/docs" { "Docs" } br; "The first call in a minute, then every operation, limit and error." }
            @if is_edge {
                li { a href="/console" { "Console" } br; "Usage, pages, analytics and webhooks of your key." }
                li { a href="/status" { "Status" } br; "Which tools are available now." }
                li { a href="/llms.txt" { "For agents" } br; "One text to call the API from, and an MCP server at " code { "/mcp" } "." }
            }
            li { a href="/openapi.json" { "OpenAPI" } br; "The tools and keys, for code generators." }
            @if is_edge {
                li { a href="/biolink/openapi.json" { "OpenAPI of bio-link pages" } br; "Pages, analytics and webhooks." }
            }
        }
        p { "Whoever runs this gateway issues you the key." }
    };
    let description = if is_edge {
        "One HTTP API for many tools and for bio-link pages"
    } else {
        "One HTTP API for many tools"
    };
    let page = Page::new("Unified Tool Gateway", description, &content);
    Page { host, style: include_str!("landing.css"), ..page }.response()
}
