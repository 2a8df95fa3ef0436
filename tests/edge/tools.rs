//! What tools say of themselves, as programs, agents and people read it at the edge.

use serde_json::{Value, json};
use shared::tool::Tool;
use tests::{
    http::{Request, Response},
    stack::{Edge, NOWHERE, Stack},
};

use super::pages::until;

fn read(edge: &Edge, path: &str) -> Response {
    let response = Request::get(path).send(edge.addr);
    assert_eq!(response.status, 200, "{path}: {}", response.text());
    response
}

/// Returns a stack whose edge knows the descriptions of all demo tools.
fn described() -> std::sync::Arc<Stack> {
    let stack = Stack::shared();
    let is_described = |tool: &Value| tool["described"] == true;
    until(|| read(&stack.edge, "/tools").json()["tools"].as_array().unwrap().iter().all(is_described));
    stack
}

#[test]
fn catalog_has_the_actions_schemas_and_examples_of_every_tool() {
    let stack = described();
    let document = read(&stack.edge, "/tools/openapi.json").json();
    let server = document["servers"][0]["url"].as_str().unwrap();
    assert!(server.starts_with("http") && server.ends_with(&stack.edge.addr.port().to_string()), "{server}");
    for tool in Tool::ALL {
        let described = read(&stack.edge, &format!("/tools/{tool}")).json();
        let action = described["actions"].as_array().unwrap().last().unwrap().clone();
        let path = action["path"].as_str().unwrap();
        assert!(path.starts_with(&format!("/v1/{tool}/")), "{path}");
        assert!(document["paths"][path].is_object(), "{path}");
        let body = &action["requestBody"]["content"]["application/json"];
        assert!(body["example"].is_object(), "{action}");
        let schema = body["schema"]["$ref"].as_str().unwrap().rsplit('/').next().unwrap().to_owned();
        assert_eq!(described["schemas"][&schema]["type"], "object", "{schema}");
    }
    let page = read(&stack.edge, "/docs/tools").text();
    assert!(page.contains("POST /v1/qr/generate") && page.contains("64 to 4096"), "{page}");
    let tag = read(&stack.edge, "/tools").header("etag").unwrap().to_owned();
    assert_eq!(Request::get("/tools").header("if-none-match", &tag).send(stack.edge.addr).status, 304);
    assert_eq!(Request::get("/tools/hologram").send(stack.edge.addr).json()["code"], "tool-unknown");
}

#[test]
fn agent_uses_every_demo_tool_from_the_list_alone() {
    let stack = described();
    let (key, _) = stack.edge.issue("enterprise");
    let send = |method: &str, params: &Value| {
        let message = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
        let response = Request::post("/mcp?toolsets=tools", &message).key(&key).send(stack.edge.addr);
        response.json()["result"].clone()
    };
    let listed = send("tools/list", &json!({}))["tools"].as_array().unwrap().clone();
    for tool in Tool::ALL {
        let prefix = format!("{tool}_");
        let own: Vec<_> =
            listed.iter().filter(|one| one["name"].as_str().unwrap().starts_with(&prefix)).collect();
        assert!(!own.is_empty(), "{tool}");
        for action in own {
            let schema = &action["inputSchema"];
            let arguments = instance(schema, schema);
            let result = send("tools/call", &json!({ "name": action["name"], "arguments": arguments }));
            assert_eq!(result["isError"], false, "{} {arguments}: {result}", action["name"]);
        }
    }
    let refused = send("tools/call", &json!({ "name": "qr_generate", "arguments": { "size": 1 } }));
    assert!(refused["content"][0]["text"].as_str().unwrap().contains("unknown argument `size`"), "{refused}");
}

#[test]
fn catalog_is_503_while_no_origin_has_responded() {
    let edge = Edge::start(NOWHERE);
    let response = Request::get("/tools").send(edge.addr);
    assert_eq!((response.status, &response.json()["code"]), (503, &json!("tool-unavailable")));
    let (key, _) = edge.issue("free");
    let message = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list" });
    let listed = Request::post("/mcp?toolsets=tools", &message).key(&key).send(edge.addr).json();
    let tools = listed["result"]["tools"].as_array().unwrap();
    assert_eq!(tools.iter().map(|tool| &tool["name"]).collect::<Vec<_>>(), ["call_tool"]);
}

/// Returns the least value that a schema allows, with texts that are URLs.
fn instance(schema: &Value, root: &Value) -> Value {
    if let Some(reference) = schema["$ref"].as_str() {
        return instance(root.pointer(&reference[1..]).unwrap(), root);
    }
    match schema["type"].as_str().unwrap_or_default() {
        "object" => {
            let required = schema["required"].as_array().cloned().unwrap_or_default();
            let members = required.iter().map(|name| name.as_str().unwrap());
            members.map(|name| (name.to_owned(), instance(&schema["properties"][name], root))).collect()
        }
        "array" => json!([instance(&schema["items"], root)]),
        "integer" => json!(1),
        "string" => json!("https://example.com"),
        kind => panic!("a type that this test does not know: {kind}"),
    }
}
