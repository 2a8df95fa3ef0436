//! The guides of what only the edge has, apart from pages: agents, lists, and webhooks on a developer's machine.

use maud::{Markup, html};

use super::super::layout::sample;
use super::{Source, get};

pub(super) fn mcp() -> Markup {
    html! {
        p { "Any client with streamable HTTP takes the URL and one header:" }
        (sample("{\n  \"mcpServers\": {\n    \"unified-tool-gateway\": {\n      \"type\": \"http\",\n      \"url\": \"https://server.invalid/mcp\",\n      \"headers\": { \"Authorization\": \"Bearer utg_live_…\" }\n    }\n  }\n}"))
        ul {
            li { "Each action that a tool describes is a separate tool, such as " code { "qr_generate" } ". " code { "call_tool" } " calls any other." }
            li { "Bio-link pages, their links, revisions and analytics are tools too, if the plan of the key allows them." }
            li { "Add " code { "?toolsets=tools,pages" } " to the URL to list less." }
            li { "No agent can erase the account, or rotate or revoke the key." }
            li { "An agent without MCP reads " a href="/llms.txt" { code { "/llms.txt" } } ": one text to call the API from." }
        }
        p { "A client that only starts programs takes a bridge:" }
        (sample("{\n  \"mcpServers\": {\n    \"unified-tool-gateway\": {\n      \"command\": \"npx\",\n      \"args\": [\"mcp-remote\", \"https://server.invalid/mcp\", \"--header\", \"X-API-Key:${UTG_KEY}\"],\n      \"env\": { \"UTG_KEY\": \"utg_live_…\" }\n    }\n  }\n}"))
    }
}

pub(super) fn pagination(source: &Source<'_>) -> Markup {
    html! {
        p { "A list returns " code { "data" } ", and " code { "has_more" } " says whether there is more:" }
        (source.example("list_pages"))
        p { "Send the " code { "next_cursor" } " of the response as " code { "cursor" } " of the next request, until " code { "has_more" } " is false:" }
        (get("/pages?limit=10"))
        ul {
            li { code { "limit" } " is the maximum number of items in a response." }
            li { "A cursor is opaque. Do not construct or store one." }
            li { "Keep the other parameters of the query as they are: a cursor continues the list that it came from." }
        }
    }
}

pub(super) fn localhost(source: &Source<'_>) -> Markup {
    html! {
        p { "A gateway on the internet cannot reach your machine. Read the event log from there instead, which needs no public address:" }
        (source.example("list_events"))
        p { "Or let a tunnel give your machine an https address, and have a test event sent to it:" }
        (source.example("test_webhook"))
        p { "A gateway that you run yourself with " code { "make run" } " delivers to your machine directly: only it accepts " code { "http" } ", any port and the loopback interface." }
        (sample("curl -sS -X POST http://127.0.0.1:8787/webhooks -H \"X-API-Key: $KEY\" -H 'Content-Type: application/json' \\\n  -d '{\"url\": \"http://127.0.0.1:8000/hook\", \"events\": [\"click\", \"page_view\"]}'"))
        p { a href="/docs/receive" { "Receive webhooks" } " has the code that verifies them." }
    }
}
