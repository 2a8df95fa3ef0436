#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use portal::docs::{tools_page, tools_template};
use portal::mcp::{Toolsets, action_page, action_request};
use serde_json::{Value, json};
use shared::catalog::{Catalog, KEPT, MAX_ACTIONS, ToolDescription};
use shared::key::Scopes;
use shared::route::ToolsRoute;
use shared::tool::Tool;

/// The most of `/docs/tools` that one tool takes, in bytes.
const MAX_SECTION: usize = 96 * 1024;

static TEMPLATE: LazyLock<String> = LazyLock::new(tools_template);
static EMPTY: LazyLock<usize> = LazyLock::new(|| page(&Catalog::compose([])));

fuzz_target!(|text: &str| check(text));

/// Oracle: the limits of what is kept, listed and shown, whatever a description opens up into, and libFuzzer's limit of
/// memory. What is composed is read again as the same, each of its references leads somewhere, and each action that is
/// listed can be called.
fn check(text: &str) {
    let described = match ToolDescription::parse(Tool::Qr, "", text) {
        Ok(described) => described,
        Err(error) => return assert!(error.to_string().len() < 1_000, "{error}"),
    };
    let catalog = Catalog::compose([(Tool::Qr, &described)]);
    let frame = Catalog::compose([]).respond(ToolsRoute::OpenApi, "/").body.len();
    let composed = catalog.respond(ToolsRoute::OpenApi, "/").body;
    assert!(composed.len() <= frame + KEPT.bytes + 1_000, "{}", composed.len());
    assert_eq!(Catalog::from_json(&composed).as_ref(), Some(&catalog));
    check_references(&serde_json::from_str(&composed).expect("JSON"));
    assert!(page(&catalog) <= *EMPTY + MAX_SECTION, "{}", page(&catalog));
    check_list(&catalog);
}

fn page(catalog: &Catalog) -> usize {
    tools_page(&TEMPLATE, Ok(catalog), "https://api.example.com").body.len()
}

/// A reference within an example is data.
fn check_references(document: &Value) {
    let mut open = vec![document];
    while let Some(value) = open.pop() {
        match value {
            Value::Object(members) => {
                if let Some(reference) = members.get("$ref").and_then(Value::as_str) {
                    assert!(document.pointer(&reference[1..]).is_some(), "{reference}");
                }
                let is_data = |name: &str| {
                    ["const", "default", "enum", "example", "examples", "value", "description"]
                        .contains(&name)
                };
                open.extend(members.iter().filter(|(name, _)| !is_data(name)).map(|(_, value)| value));
            }
            Value::Array(items) => open.extend(items),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }
}

fn check_list(catalog: &Catalog) {
    let toolsets = Toolsets::parse(Some("toolsets=tools")).expect("toolsets");
    let page = action_page(catalog, &toolsets, Scopes::ALL, None);
    assert!(page.tools.len() <= MAX_ACTIONS && page.next.is_none());
    assert!(page.tools.iter().map(String::len).sum::<usize>() <= KEPT.bytes);
    for text in page.tools {
        let tool: Value = serde_json::from_str(&text).expect("JSON");
        let name = tool["name"].as_str().expect("a name");
        assert!(tool["inputSchema"].is_object(), "{text}");
        assert!(action_request(catalog, &toolsets, name, &json!({})).is_some(), "{text}");
    }
}
