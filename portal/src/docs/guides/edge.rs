//! The guides of what only the edge has, apart from pages: agents, lists, and webhooks on a developer's machine.

use maud::{Markup, html};

use super::super::layout::sample;
use super::{Source, written};

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

pub(super) fn pagination() -> Markup {
    html! {
        p { "A list returns a part, and what leads to the next one. There are three kinds:" }
        table {
            thead { tr { th { "List" } th { "Items" } th { "Next request" } th { "Ends with" } } }
            tbody {
                tr { td { "pages, deliveries to a webhook" } td { code { "data" } } td { code { "cursor" } " is " code { "next_cursor" } } td { code { "has_more" } " false, " code { "next_cursor" } " null" } }
                tr { td { "calls of a key, the operator's keys and reports" } td { code { "calls" } ", " code { "keys" } ", " code { "reports" } } td { code { "cursor" } " is " code { "cursor" } } td { code { "cursor" } " null" } }
                tr { td { "the log of events" } td { code { "data" } } td { code { "after" } " is " code { "next_after" } } td { code { "has_more" } " false; " code { "next_after" } " is where to go on later" } }
            }
        }
        (written([
            include_str!("code/list.sh"),
            include_str!("code/list.mjs"),
            include_str!("code/list.py"),
            include_str!("code/list.rs"),
            include_str!("code/list.go"),
        ]))
        p { "Every other list is whole in one response." }
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
