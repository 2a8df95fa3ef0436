//! Messages of the Model Context Protocol in the access log. What clients see of them is tested with the
//! official client (`tests/clients/mcp/`).

use serde_json::{Value, json};
use shared::tool::Tool;
use tests::{
    http::{Request, Response},
    stack::{Edge, Stack},
};

use super::pages::until;

fn call(edge: &Edge, key: &str, name: &str, arguments: &Value) -> Response {
    let parameters = json!({ "name": name, "arguments": arguments });
    let message = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": parameters });
    Request::post("/mcp", &message).key(key).send(edge.addr)
}

/// Returns the access log line of a response.
fn line(edge: &Edge, response: &Response) -> Value {
    let id = response.header("x-request-id").unwrap().to_owned();
    let find = || {
        let output = edge.process.output();
        let lines = output.lines().filter_map(|line| serde_json::from_str::<Value>(line.trim()).ok());
        lines.into_iter().find(|line| line["request_id"] == id.as_str() && line["route"].is_string())
    };
    until(|| find().is_some());
    find().unwrap()
}

fn logged(edge: &Edge, response: &Response) -> Value {
    let line = line(edge, response);
    json!([line["route"], line["tool"], line["action"], line["status"], line["code"]])
}

#[test]
fn call_of_a_tool_is_logged_with_its_tool_and_its_outcome() {
    let stack = Stack::start();
    let (key, id) = stack.edge.issue("free");
    let arguments = json!({ "tool": "idea", "action": "generate" });
    let served = call(&stack.edge, &key, "call_tool", &arguments);
    assert_eq!(logged(&stack.edge, &served), json!(["/mcp", "idea", "generate", 200, null]));
    let line = line(&stack.edge, &served);
    assert_eq!(
        (&line["key_id"], &line["tier"], &line["method"]),
        (&json!(id), &json!("free"), &json!("POST"))
    );

    stack.tools.stop(Tool::Idea);
    let failed = call(&stack.edge, &key, "call_tool", &arguments);
    assert_eq!(failed.status, 200, "{}", failed.text());
    let outcome = json!(["/mcp", "idea", "generate", 503, "tool-unavailable"]);
    assert_eq!(logged(&stack.edge, &failed), outcome);
}

#[test]
fn other_call_is_logged_with_the_tool_of_mcp_as_action() {
    let edge = Edge::start("http://127.0.0.1:9");
    let (key, _) = edge.issue("free");
    let read = call(&edge, &key, "read_usage", &json!({}));
    assert_eq!(logged(&edge, &read), json!(["/mcp", null, "read_usage", 200, null]));
    let refused = call(&edge, &key, "create_page", &json!({ "body": { "title": "Ada" } }));
    assert_eq!(logged(&edge, &refused), json!(["/mcp", null, "create_page", 403, "plan-required"]));
}
