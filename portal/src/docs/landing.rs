//! The start page.

use biolink::codes;
use maud::{Markup, PreEscaped, html};
use pulldown_cmark::html::push_html;
use pulldown_cmark::{Options, Parser};
use shared::response::Response;
use shared::tool::Tool;

use super::host::Host;
use super::layout::{Page, sample};
use super::reference::serve;
use crate::NAME;

/// The table beside alternatives is the one that the repository shows.
const README: &str = include_str!("../../../README.md");
/// The sentence before the table.
const COMPARED: &str = "As their documentation says";

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

/// Returns the page `/`: what it is and for whom, a call with what comes of it, what is promised, what alternatives do, and
/// where to go next. `server` is the address that the call has.
pub fn landing(host: Host, server: &str) -> Response {
    let is_edge = host == Host::Edge;
    let content = html! {
        section.hero {
            div {
                h1 { "One key, " (Tool::ALL.len()) " tools" @if is_edge { ", and pages for your links" } }
                p.lead {
                    "Call every tool at one address, with exact limits and errors that explain themselves. "
                    @if is_edge { "The same key publishes bio-link pages with QR codes, analytics and webhooks." }
                }
                p.actions { a.button href="/docs" { "Make the first call" } " " a.button.plain href="/console" { "Open the console" } }
                p.soft { "The operator of this gateway issues your key." }
            }
            @if is_edge { (pictures()) }
        }
        @if is_edge { (audiences()) }
        (shown(is_edge))
        h2 id="promises" { "What is promised, and what proves it" }
        (promises(is_edge))
        h2 id="alternatives" { "Beside alternatives" }
        (alternatives())
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
    };
    let description = if is_edge {
        "One HTTP API for many tools and for bio-link pages"
    } else {
        "One HTTP API for many tools"
    };
    let title = format!("{NAME}: one key for tools and pages");
    let page = Page::new(if is_edge { &title } else { NAME }, description, &content);
    serve(&Page { host, style: include_str!("landing.css"), wide: true, card: true, ..page }.html(), server)
}

/// Returns the console with a page on a phone before it. They are drawn, so that they are sharp, light and dark.
fn pictures() -> Markup {
    html! {
        div.pictures aria-hidden="true" {
            div.window {
                p.top { b { "Last 7 days" } span { "Analytics" } }
                dl {
                    div { dt { "Views" } dd { "2,418" } }
                    div { dt { "Clicks" } dd { "1,106" } }
                    div { dt { "QR scans" } dd { "312" } }
                }
                svg viewBox="0 0 320 96" preserveAspectRatio="none" {
                    path.grid d="M0 24H320M0 52H320M0 80H320" {}
                    path.area d="M0 74 53 62 107 66 160 44 213 48 267 22 320 12V96H0z" {}
                    path.views d="M0 74 53 62 107 66 160 44 213 48 267 22 320 12" {}
                    path.clicks d="M0 86 53 78 107 80 160 66 213 70 267 54 320 46" {}
                }
                p.row { b { "Order a bouquet" } span { "486" } }
                p.row { b { "Opening hours" } span { "341" } }
                p.row { b { "Flyer in May" } span { "279" } }
            }
            div.phone {
                span.face { "A" }
                b { "Ada Lovelace" }
                p { "Notes on engines and numbers." }
                span.link.first { "Read the notes" }
                span.link { "Newsletter" }
                span.link { "Talks" }
            }
        }
    }
}

/// Returns for whom it is.
fn audiences() -> Markup {
    html! {
        ul.cards.audiences {
            li { b { "Developers" } p { "One header for " (Tool::ALL.len()) " tools. Quotas, retries and problems are the same for all of them, in five languages and OpenAPI. " a href="/docs" { "Docs" } } }
            li { b { "Shops and creators" } p { "A page with your links and products, a QR code to print, and numbers of what people open. No visitor gets a cookie. " a href="/docs/publish" { "Publish a page" } } }
            li { b { "Agencies" } p { "Many pages by API or console, named secrets that may do only a part, domains of clients, and events for your server. " a href="/docs/receive" { "Webhooks" } } }
            li { b { "Agents" } p { "The tools and pages of a key over the Model Context Protocol, with no more rights than the key has. " a href="/docs/mcp" { "MCP" } } }
        }
    }
}

/// Returns a call and its response.
fn shown(is_edge: bool) -> Markup {
    let (call, response) = if is_edge { (PAGE_CALL, PAGE_RESPONSE) } else { (TOOL_CALL, TOOL_RESPONSE) };
    html! {
        div.shown {
            section { h2 id="call" { "One call" @if is_edge { " makes a page" } } (sample(call)) }
            section { h2 id="response" { "Its response" } (sample(response)) }
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
                div { dt { "90 days" } dd { "of availability of each tool, sampled each minute, for everyone to read. " a href="/status" { "Status" } } }
            }
        }
    }
}

/// Returns the table beside alternatives, as the repository has it.
fn alternatives() -> Markup {
    let compared = README.split_once(COMPARED).map_or("", |(_, rest)| rest);
    let table = compared.split("\n\n").nth(1).unwrap_or_default();
    let mut rendered = String::new();
    push_html(&mut rendered, Parser::new_ext(table, Options::ENABLE_TABLES));
    let rendered = rendered.replace("<th></th>", "<td></td>");
    html! {
        p.soft { (COMPARED) " (read in 2026; a dash: not read)." }
        div.scroll tabindex="0" role="region" aria-label="Beside alternatives" { (PreEscaped(rendered)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn table_beside_alternatives_is_that_of_the_readme() {
        let html = alternatives().into_string();
        let rows = README.lines().skip_while(|line| !line.starts_with(COMPARED)).skip(2);
        let rows: Vec<_> = rows.take_while(|line| line.starts_with('|')).collect();
        assert!(rows.len() > 8, "{rows:?}");
        assert_eq!(
            html.matches("<tr>").count(),
            rows.len() - 1,
            "all but the line below the heading: {html}"
        );
        for name in ["Unkey", "Zuplo", "Kong", "APISIX", "nginx with a script"] {
            assert!(html.contains(name), "{name}");
        }
    }
}
