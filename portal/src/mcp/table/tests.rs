use std::collections::BTreeSet;

use super::*;
use crate::mcp::{Toolsets, select};

const EVERY: &str = "toolsets=tools,pages,analytics,webhooks,domains,keys,account";
/// The most bytes of the list that a client gets by default.
const MAX_DEFAULT: usize = 30_000;

fn listed(query: Option<&str>, has_plan: bool) -> Vec<Value> {
    let list = select(&tools(), &Toolsets::parse(query).unwrap(), has_plan, &[]);
    serde_json::from_str(&list).unwrap()
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
    let bytes = select(&tools(), &Toolsets::parse(None).unwrap(), true, &[]).len();
    println!("{bytes} bytes");
    assert!(bytes <= MAX_DEFAULT, "{bytes}");
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
    assert!(select(&tools(), &Toolsets::parse(Some("toolsets=pages")).unwrap(), false, &[]) == "[]");
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
fn body_that_is_described_elsewhere_has_its_tool_in_the_same_toolset() {
    let requests: Value = serde_json::from_str(&requests()).unwrap();
    for (name, like) in LIKE {
        let other = like.split(' ').next_back().unwrap().trim_end_matches('.');
        assert_eq!(requests[name]["toolset"], requests[other]["toolset"], "{name}");
    }
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
fn read_names_the_members_of_its_result() {
    let tools = every();
    for (name, member) in [("read_page", "links"), ("list_pages", "data"), ("read_usage", "tier")] {
        assert!(tool(&tools, name)["outputSchema"]["properties"].get(member).is_some(), "{name}");
    }
    assert!(tool(&tools, "delete_page").get("outputSchema").is_none());
    assert!(tool(&tools, "export_account").get("outputSchema").is_none());
}

#[test]
fn example_of_the_description_is_a_valid_argument() {
    let tools = every();
    let validator = jsonschema::draft202012::new(&tool(&tools, "create_page")["inputSchema"]).unwrap();
    let page =
        json!({"title": "Ada", "links": [{"title": "News", "url": "https://example.com"}], "bio": null});
    assert!(validator.is_valid(&json!({ "body": page })));
    assert!(!validator.is_valid(&json!({"body": {"title": 1}})) && !validator.is_valid(&json!({"page": 1})));
}
