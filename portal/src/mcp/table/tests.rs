use std::collections::BTreeSet;

use super::*;
use crate::mcp::{Permitted, Toolsets, select};

const EVERY: &str = "toolsets=tools,pages,analytics,webhooks,domains,keys,account";
/// The most bytes of the list that a client gets by default. What the tools describe comes to it.
const MAX_DEFAULT: usize = 23_850;
/// The most bytes of one tool.
const MAX_TOOL: usize = 5_000;

fn text_of(query: Option<&str>, permitted: Permitted) -> String {
    select(&tools(), &Toolsets::parse(query).unwrap(), permitted, &[])
}

fn listed(query: Option<&str>, has_plan: bool) -> Vec<Value> {
    serde_json::from_str(&text_of(query, Permitted { has_plan, ..Permitted::ALL })).unwrap()
}

fn every() -> Vec<Value> {
    listed(Some(EVERY), true)
}

fn names(tools: &[Value]) -> BTreeSet<&str> {
    tools.iter().map(|tool| tool["name"].as_str().unwrap()).collect()
}

fn tool<'a>(tools: &'a [Value], name: &str) -> &'a Value {
    tools.iter().find(|tool| tool["name"] == name).unwrap()
}

#[test]
fn schemas_are_valid_and_hints_follow_the_method() {
    let requests: Value = serde_json::from_str(&requests()).unwrap();
    for tool in every() {
        let name = tool["name"].as_str().unwrap();
        for schema in
            [&tool["inputSchema"], &tool["outputSchema"]].into_iter().filter(|schema| !schema.is_null())
        {
            assert!(jsonschema::draft202012::meta::is_valid(schema), "{name}");
            assert!(jsonschema::draft202012::new(schema).is_ok(), "{name}: a reference leads nowhere");
            assert_eq!(schema["type"], "object", "{name}");
        }
        let read_only = requests[name]["method"] == "GET";
        assert_eq!(tool["annotations"]["readOnlyHint"], read_only, "{name}");
        let text = tool.to_string();
        for word in ["\"nullable\":true", "\"nullable\":false", "#/components", "\"example\":"] {
            assert!(!text.contains(word), "{name}: {word}");
        }
    }
}

#[test]
fn default_list_is_small() {
    let bytes = text_of(None, Permitted::ALL).len();
    println!("{bytes} bytes");
    assert!(bytes <= MAX_DEFAULT, "{bytes}");
    for tool in every() {
        assert!(tool.to_string().len() <= MAX_TOOL, "{}", tool["name"]);
    }
}

#[test]
fn default_list_has_what_an_agent_needs_and_no_secret() {
    let tools = listed(None, true);
    let found = names(&tools);
    assert_eq!(found.len(), tools.len());
    for name in [
        "call_tool",
        "read_usage",
        "read_account",
        "list_pages",
        "create_page",
        "patch_page",
        "delete_page",
        "add_link",
        "read_analytics",
        "create_product_source",
        "refresh_product_source",
        "list_product_source_runs",
    ] {
        assert!(found.contains(name), "{name} of {found:?}");
    }
    for name in ["erase_account", "export_account", "read_webhook_secret", "rotate_webhook_secret"] {
        assert!(!found.contains(name), "{name}");
    }
}

#[test]
fn erasure_and_what_confirms_it_are_in_no_tool() {
    assert!(!names(&every()).contains("erase_account"));
    assert!(!tools().contains("confirm\"") && !requests().contains("/account/data"));
}

#[test]
fn key_without_a_plan_gets_what_it_may_call() {
    let tools = listed(Some(EVERY), false);
    let expected = [
        "call_tool",
        "export_account",
        "read_account",
        "read_analytics",
        "read_live_analytics",
        "read_usage",
    ];
    assert_eq!(names(&tools), expected.into_iter().collect());
}

#[test]
fn named_toolset_is_the_whole_list() {
    assert_eq!(names(&listed(Some("toolsets=tools"), true)), ["call_tool"].into_iter().collect());
    let webhooks = listed(Some("toolsets=webhooks"), true);
    assert!(names(&webhooks).contains("list_events") && !names(&webhooks).contains("list_pages"));
    assert!(listed(Some("toolsets=pages"), false).is_empty());
}

#[test]
fn tools_are_operations_with_a_key_but_erasure_and_uploads() {
    let tools = every();
    let pages = biolink::document("https://a.test");
    let with_key =
        operations(&pages).filter(|operation| operation.members.pointer("/security/0/ApiKey").is_some());
    let expected: BTreeSet<_> =
        with_key.map(|operation| text(operation.members, "operationId").to_owned()).collect();
    let expected: BTreeSet<_> = expected.iter().map(String::as_str).collect();
    let others: Vec<_> = names(&tools).difference(&expected).copied().collect();
    assert_eq!(others, ["call_tool", "read_usage"]);
    let missing: Vec<_> = expected.difference(&names(&tools)).copied().collect();
    assert_eq!(missing, ["erase_account", "upload_image"]);
}

#[test]
fn hint_names_an_operation_that_there_is() {
    let (tools, all) = (every(), super::super::hints::named());
    for name in all {
        assert!(names(&tools).contains(name), "{name}");
    }
}

#[test]
fn call_tool_names_tools_and_their_known_actions() {
    let tools = every();
    let properties = &tool(&tools, "call_tool")["inputSchema"]["properties"];
    assert_eq!(properties["tool"]["enum"].as_array().map(Vec::len), Some(17));
    let description = properties["tool"]["description"].as_str().unwrap();
    assert!(description.contains("qr (QR code generation in multiple formats; actions: generate)"));
}

#[test]
fn example_of_the_description_is_a_valid_argument() {
    let tools = every();
    let validator = jsonschema::draft202012::new(&tool(&tools, "create_page")["inputSchema"]).unwrap();
    let page = json!({"title": "Ada", "links": [{"title": "News", "url": "https://example.com"}]});
    assert!(validator.is_valid(&json!({ "body": page })));
    assert!(!validator.is_valid(&json!({"body": {"title": 1}})) && !validator.is_valid(&json!({"page": 1})));
}

/// A client may show a model one tool without the others.
#[test]
fn schema_of_each_body_has_its_members() {
    let every = every();
    let bodies = every.iter().filter_map(|tool| {
        let body = tool["inputSchema"]["properties"].get("body")?;
        (tool["name"] != "call_tool").then_some((tool["name"].as_str().unwrap(), body))
    });
    let bodies: Vec<_> = bodies.collect();
    assert!(bodies.len() > 10, "{bodies:?}");
    for (name, body) in bodies {
        assert!(body["properties"].as_object().is_some_and(|members| !members.is_empty()), "{name}: {body}");
    }
    for (name, members) in [
        ("patch_page", &["title", "slug", "links", "theme"][..]),
        ("replace_page", &["title", "slug", "links", "theme"]),
        ("add_link", &["title", "url", "type", "targets"]),
        ("patch_link", &["title", "url", "visible_until"]),
        ("patch_product_source", &["url", "filter", "max_items"]),
        ("patch_webhook", &["url", "events", "enabled"]),
    ] {
        let body = &tool(&every, name)["inputSchema"]["properties"]["body"]["properties"];
        members.iter().for_each(|member| assert!(body.get(member).is_some(), "{name}: {member}"));
    }
    let theme = &tool(&every, "patch_page")["inputSchema"]["properties"]["body"]["properties"]["theme"];
    assert!(theme["description"].as_str().unwrap().contains("preset (minimal|paper"), "{theme}");
}

#[test]
fn secret_gets_what_its_scopes_permit() {
    use shared::key::{Scope, Scopes};
    use shared::tool::Tool;

    let list = |scopes: Scopes| -> Vec<Value> {
        serde_json::from_str(&text_of(Some(EVERY), Permitted { has_plan: true, scopes })).unwrap()
    };
    let qr = list(Scopes::NONE.with(Scope::Tool(Tool::Qr.label())));
    assert_eq!(names(&qr), ["call_tool", "read_usage"].into_iter().collect());
    let argument = &tool(&qr, "call_tool")["inputSchema"]["properties"]["tool"];
    assert_eq!(argument["enum"], json!(["qr"]));
    let purpose = argument["description"].as_str().unwrap();
    assert!(purpose.starts_with("qr (") && !purpose.contains("pdf ("), "{purpose}");
    assert_eq!(names(&list(Scopes::NONE)), ["read_usage"].into_iter().collect());

    let requests: Value = serde_json::from_str(&requests()).unwrap();
    for scope in [Scope::BiolinkRead, Scope::BiolinkWrite, Scope::BiolinkAdmin] {
        let scopes = Scopes::NONE.with(scope);
        let listed = list(scopes);
        for tool in every() {
            let name = tool["name"].as_str().unwrap();
            let (path, method) = (requests[name]["path"].as_str(), requests[name]["method"].as_str());
            let endpoint = path.zip(method).and_then(|(path, method)| endpoint_of(path, method));
            let needed = endpoint.and_then(|endpoint| endpoint.requires().scope());
            let is_permitted = name != "call_tool" && needed.is_none_or(|needed| scopes.contains(needed));
            assert_eq!(names(&listed).contains(name), is_permitted, "{scope} {name}");
        }
    }
    assert_eq!(list(Scopes::ALL), every());
}
