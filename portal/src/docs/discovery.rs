//! Discovery for programs: links in headers (RFC 8631), the API catalog (RFC 9727) and
//! `llms.txt` (llmstxt.org).

use std::fmt::Write as _;

use serde_json::json;

use biolink::codes;
use biolink::policy::CALLS_PER_HOUR;
use shared::policy::Policy;
use shared::tier::Tier;
use shared::tool::Tool;

use crate::NAME;
use crate::docs_page::DocsPage;

/// Returns the API catalog: a linkset (RFC 9264) with the descriptions of each API.
pub fn api_catalog(server: &str) -> String {
    let link =
        |path: &str, media_type: &str| json!([{ "href": format!("{server}{path}"), "type": media_type }]);
    let api = |anchor: &str, description: &str| {
        json!({
            "anchor": format!("{server}{anchor}"),
            "service-desc": link(description, "application/json"),
            "service-doc": link("/docs", "text/html"),
            "service-meta": link("/llms.txt", "text/plain"),
            "status": link("/v1/status", "application/json"),
        })
    };
    let items = ["/v1", "/pages", "/mcp"].map(|path| json!({ "href": format!("{server}{path}") }));
    let catalog = json!({ "anchor": format!("{server}/.well-known/api-catalog"), "item": items });
    let mcp = json!({ "anchor": format!("{server}/mcp"), "service-meta": link("/llms.txt", "text/plain") });
    json!({ "linkset": [catalog, api("/v1", "/openapi.json"), api("/pages", "/biolink/openapi.json"), mcp] })
        .to_string()
}

/// Returns `llms.txt`: enough for a first call, a page, and its analytics.
pub fn llms_txt(server: &str) -> String {
    let mut text = format!(
        "# {NAME}\n\n\
         > An HTTP API at {server}. One API key reaches {} tools at /v1/{{tool}}/{{action}}, and publishes bio-link pages with analytics and webhooks.\n\n",
        Tool::ALL.len()
    );
    text.push_str(&calls(server));
    text.push_str("\n## Tools\n\nThe actions are the tool's own. `qr` and `image` have `generate`. `GET /tools` lists the actions that tools describe, and `GET /tools/{tool}` their schemas and examples.\n\n");
    for tool in Tool::ALL {
        // Writing to a text cannot fail.
        let _written = writeln!(text, "- `{tool}`: {}", tool.purpose());
    }
    text.push_str(&pages(server));
    text.push_str(&limits());
    text.push_str(&errors(server));
    let _written = write!(
        text,
        "\n## Links\n\n\
         - [OpenAPI of tools and keys]({server}/openapi.json): every operation and schema\n\
         - [OpenAPI of the tools' actions]({server}/tools/openapi.json): the paths, schemas and examples that the tools publish\n\
         - [OpenAPI of bio-link pages]({server}/biolink/openapi.json): pages, links, analytics, webhooks, with examples\n\
         - [MCP]({server}/mcp): the same as tools of the Model Context Protocol (streamable HTTP, POST, header X-API-Key or Authorization: Bearer)\n\
         - [API catalog]({server}/.well-known/api-catalog): the descriptions as a linkset\n\
         - [Status]({server}/v1/status): which tools are available\n\n\
         ## Optional\n\n\
         The reference, of which {server}/docs is the HTML for people:\n\n"
    );
    for page in DocsPage::ALL {
        let _written =
            writeln!(text, "- [{}]({server}{}): {}", page.title(), page.markdown_path(), page.about());
    }
    text
}

fn calls(server: &str) -> String {
    format!(
        "Send the key in the header `X-API-Key`, over https. You cannot make one: whoever runs the gateway issues it. \
         Ask the user for it if you have none.\n\n\
         ## First call\n\n\
         ```\ncurl --fail-with-body {server}/v1/qr/generate -H \"X-API-Key: $KEY\" -H 'Content-Type: application/json' -d '{{\"url\": \"https://example.com\"}}' -o qr.svg\n```\n\n\
         GET sends a query, POST a JSON body. Both go to the tool as they are, and its response comes back as it is, of any type.\n\n\
         `GET {server}/v1/keys/me` shows limits and usage of the key, free of charge.\n"
    )
}

fn pages(server: &str) -> String {
    format!(
        "\n## Bio-link pages\n\nThe key needs the bio-link plan `business`.\n\n\
         Create and publish a page. Visitors open it at {server}/ada:\n\n\
         ```\ncurl {server}/pages -H \"X-API-Key: $KEY\" -H 'Content-Type: application/json' -d '{{\"title\": \"Ada\", \"slug\": \"ada\", \"status\": \"published\", \"links\": [{{\"title\": \"News\", \"url\": \"https://example.com\"}}]}}'\n```\n\n\
         The response has the page's `id`. Change it with `PATCH /pages/{{id}}` (JSON Merge Patch). `GET /pages` lists pages. \
         Single links are at `/pages/{{id}}/links`. Add `?dry_run=true` to a change to try it.\n\n\
         Read what visitors did in the last seven days:\n\n\
         ```\ncurl '{server}/analytics?interval=7d&metrics=views,visitors,clicks' -H \"X-API-Key: $KEY\"\n```\n"
    )
}

fn limits() -> String {
    let mut text = "\n## Limits\n\nCalls of all tools together, by the tier of the key:\n\n".to_owned();
    for tier in Tier::ALL {
        let policy = Policy::for_tier(tier);
        let day = policy.day.map_or_else(|| "no limit a day".to_owned(), |day| format!("{day} a UTC day"));
        // Writing to a text cannot fail.
        let _written = writeln!(text, "- {tier}: {} in any 60 seconds, {day}", policy.minute);
    }
    let _written = writeln!(
        text,
        "\nBio-link API: {CALLS_PER_HOUR} calls in any hour. `RateLimit` says what is left. After a 429 wait for `Retry-After` seconds."
    );
    text
}

fn errors(server: &str) -> String {
    let mut text = format!(
        "\n## Errors\n\n\
         Errors of the gateway are `application/problem+json` with the header `X-Gateway-Problem`. Switch on the member `code`. \
         An error without that header is the tool's own. {server}/problems/{{code}} explains each.\n\n"
    );
    for code in codes::all() {
        // Writing to a text cannot fail.
        let _written = writeln!(text, "- {} `{}`: {}", code.status(), code.as_str(), code.title());
    }
    text
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    const SERVER: &str = "https://api.example.com";

    #[test]
    fn llms_txt_names_every_tool_tier_and_problem() {
        let text = llms_txt(SERVER);
        assert!(text.starts_with("# Portico\n\n> "));
        assert!(Tool::ALL.iter().all(|tool| text.contains(&format!("- `{tool}`: "))));
        assert!(Tier::ALL.iter().all(|tier| text.contains(&format!("- {tier}: "))));
        assert!(codes::all().all(|code| text.contains(&format!("`{}`", code.as_str()))));
        assert!(DocsPage::ALL.iter().all(|page| text.contains(&format!("{SERVER}{}.md", page.path()))));
        assert!(text.len() < 18 * 1024, "{} bytes are much for an agent to read", text.len());
    }

    #[test]
    fn catalog_is_a_linkset_whose_items_have_anchors() {
        let catalog: Value = serde_json::from_str(&api_catalog(SERVER)).unwrap();
        let sets = catalog["linkset"].as_array().unwrap();
        let anchors: Vec<_> = sets.iter().map(|set| set["anchor"].as_str().unwrap()).collect();
        for item in sets[0]["item"].as_array().unwrap() {
            assert!(anchors.contains(&item["href"].as_str().unwrap()), "{item}");
        }
    }
}
