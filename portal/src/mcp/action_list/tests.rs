use serde_json::json;
use shared::catalog::ToolDescription;

use super::super::actions::tests::{catalog, toolsets};
use super::*;

fn tools() -> Vec<Value> {
    let page = action_page(&catalog(), &toolsets(""), Scopes::ALL, None);
    assert_eq!(page.next, None);
    page.tools.iter().map(|tool| serde_json::from_str(tool).unwrap()).collect()
}

#[test]
fn each_action_that_arguments_can_call_is_a_tool() {
    let tools = tools();
    let names: Vec<_> = tools.iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["qr_again", "qr_generate", "qr_list"]);
    assert_eq!(tools[1]["description"], "Words of the tool qr, as in the schema: Makes a code. As an image.");
    assert_eq!(tools[1]["annotations"], json!({ "readOnlyHint": false }));
    assert_eq!(tools[2]["annotations"], json!({ "readOnlyHint": true }));
    assert!(action_page(&catalog(), &toolsets("toolsets=pages"), Scopes::ALL, None).tools.is_empty());
}

#[test]
fn schema_has_parameters_body_and_the_definitions_that_they_need() {
    let tools = tools();
    let generate = &tools[1]["inputSchema"];
    let like = &generate["properties"]["body"]["properties"]["like"];
    assert_eq!(like, &json!({ "$ref": "#/$defs/qr.Code" }));
    assert_eq!(generate["required"], json!(["body"]));
    assert_eq!(generate["$defs"]["qr.Code"]["properties"]["like"], json!({ "$ref": "#/$defs/qr.Code" }));
    assert_eq!(generate["$defs"].as_object().unwrap().len(), 2);
    let list = &tools[2]["inputSchema"];
    assert_eq!(
        list["properties"],
        json!({ "limit": { "$ref": "#/$defs/qr.Limit", "description": "At most" } })
    );
    assert_eq!((list.get("required"), list["$defs"].as_object().unwrap().len()), (None, 1));
}

#[test]
fn action_of_a_tool_out_of_scope_is_not_listed() {
    let listed = |scopes| action_page(&catalog(), &toolsets(""), scopes, None).tools.len();
    assert_eq!(listed(Scopes::NONE.with(Scope::Tool(Tool::Qr.label()))), 3);
    for scopes in [Scopes::NONE, Scopes::NONE.with(Scope::Tool(Tool::Pdf.label())).with(Scope::BiolinkAdmin)]
    {
        assert_eq!(listed(scopes), 0, "{scopes:?}");
    }
}

/// Describes `actions` actions, each of which has the same schema of many members as its body.
fn repeated(tool: Tool, actions: usize, members: usize) -> ToolDescription {
    let properties: serde_json::Map<_, _> = (0..members).map(|n| (format!("p{n}"), json!({}))).collect();
    let body = json!({ "required": true, "content": { "application/json": { "schema": {
        "$ref": "#/components/schemas/A",
    } } } });
    let item = json!({ "post": { "summary": "Does it", "requestBody": { "$ref": "#/components/requestBodies/A" } } });
    let paths: serde_json::Map<_, _> = (0..actions).map(|n| (format!("/a{n:02}"), item.clone())).collect();
    let text = json!({ "openapi": "3.1.0", "paths": paths, "components": {
        "schemas": { "A": { "properties": properties } }, "requestBodies": { "A": body },
    } });
    ToolDescription::parse(tool, "", &text.to_string()).unwrap()
}

/// Returns the names of all pages, each of which must be within its bound and valid.
fn names(catalog: &Catalog) -> Vec<String> {
    let (mut names, mut cursor) = (Vec::new(), None);
    loop {
        let page = action_page(catalog, &toolsets("toolsets=tools"), Scopes::ALL, cursor.as_ref());
        let bytes = page.tools.iter().map(String::len).sum::<usize>();
        assert!(bytes <= MAX_PAGE, "{bytes}");
        for text in &page.tools {
            let tool: Value = serde_json::from_str(text).unwrap();
            let is_first = names.len() % MAX_ACTIONS == 0;
            assert!(!is_first || jsonschema::draft202012::new(&tool["inputSchema"]).is_ok(), "{tool}");
            names.push(tool["name"].as_str().unwrap().to_owned());
        }
        let Some(next) = page.next else { return names };
        assert_eq!(names.last(), Some(&next));
        cursor = Some(ListCursor::parse(&next).unwrap());
    }
}

#[test]
fn schema_in_each_action_is_listed_up_to_the_bound_of_a_tool() {
    let description = repeated(Tool::Qr, MAX_ACTIONS, 2_800);
    let catalog = Catalog::compose([(Tool::Qr, &description)]);
    let page = action_page(&catalog, &toolsets("toolsets=tools"), Scopes::ALL, None);
    assert_eq!((page.tools.len(), page.next), (MAX_ACTIONS, None));
    assert!(page.tools.iter().map(String::len).sum::<usize>() <= MAX_OF_TOOL);
    let first: Value = serde_json::from_str(&page.tools[0]).unwrap();
    assert_eq!(first["description"], "Words of the tool qr, as in the schema: Does it");
    let reason = first["inputSchema"]["description"].as_str().unwrap();
    assert!(reason.contains("GET /tools/qr"), "{reason}");
    let called = super::super::action_request(&catalog, &toolsets(""), "qr_a00", &json!({ "body": 1 }));
    assert_eq!(called.unwrap().unwrap().body.as_deref(), Some("1"));
}

#[test]
fn pages_have_every_action_once_and_go_on_after_a_change() {
    let all = Tool::ALL.map(|tool| (tool, repeated(tool, MAX_ACTIONS, 200)));
    let catalog = Catalog::compose(all.iter().map(|(tool, one)| (*tool, one)));
    let names = names(&catalog);
    let expected =
        Tool::ALL.into_iter().flat_map(|tool| (0..MAX_ACTIONS).map(move |n| format!("{tool}_a{n:02}")));
    assert_eq!(names, expected.collect::<Vec<_>>());
    let gone = ListCursor::parse("qr_a05x").unwrap();
    let page = action_page(&catalog, &toolsets("toolsets=tools"), Scopes::ALL, Some(&gone));
    let next: Value = serde_json::from_str(&page.tools[0]).unwrap();
    assert_eq!(next["name"], "qr_a06");
}

#[test]
fn long_texts_leave_room_for_the_other_actions() {
    let item = |n: usize| json!({ "get": { "description": "😀".repeat(if n == 0 { 3_000 } else { 40 }) } });
    let paths: serde_json::Map<_, _> = (0..MAX_ACTIONS).map(|n| (format!("/a{n:02}"), item(n))).collect();
    let text = json!({ "openapi": "3.1.0", "paths": paths });
    let qr = ToolDescription::parse(Tool::Qr, "", &text.to_string()).unwrap();
    let names = names(&Catalog::compose([(Tool::Qr, &qr)]));
    assert_eq!(names.len(), MAX_ACTIONS);
}
