//! What tools say of themselves, as programs, agents and people read it at the edge.

use serde_json::{Value, json};
use shared::tool::Tool;
use tests::{
    FakeTool, ProxyConfig, ToolBehavior,
    descriptions::hostile,
    http::{Request, Response},
    stack::{Edge, NOWHERE, Stack, Tools},
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

/// The most that one tool takes of `/docs/tools`, and of the list of tools over MCP, in bytes.
const MAX_OF_TOOL: usize = 96 * 1024;
/// The most of a page of that list, in bytes: the actions, and what the gateway adds.
const MAX_PAGE: usize = 160 * 1024;

/// A tool whose small description has one schema of many members in each of 64 actions.
#[test]
fn schema_in_each_action_takes_no_more_than_the_share_of_its_tool() {
    let repeated =
        hostile("").into_iter().find(|one| one.refused.is_none() && one.name == "members in each action");
    let text = repeated.unwrap().text;
    let head = format!(
        "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n",
        text.len()
    );
    let published = ToolBehavior::Respond(format!("{head}{text}").into_bytes());
    let (tools, repeating) = (Tools::start(), FakeTool::start_at("127.0.0.1:0".parse().unwrap(), published));
    let is_described = |tool: &Value| tool["described"] == true;
    let start = |config: ProxyConfig| {
        let proxy = config.start_and_wait();
        let edge = Edge::start(&proxy.url());
        until(|| read(&edge, "/tools").json()["tools"].as_array().unwrap().iter().all(is_described));
        (proxy, edge)
    };
    let (_usual_proxy, usual) = start(ProxyConfig::for_tools(&tools));
    let (_proxy, edge) = start(ProxyConfig::for_tools(&tools).tool(Tool::Qr, &[&repeating]));

    let page = read(&edge, "/docs/tools").text();
    assert!(page.len() <= read(&usual, "/docs/tools").text().len() + MAX_OF_TOOL, "{}", page.len());
    for part in ["POST /v1/qr/a0", "POST /v1/qr/a63", "href=\"/tools/qr\"", "/v1/yt/"] {
        assert!(page.contains(part), "{part}");
    }
    let (listed, bytes) = list(&edge);
    let (usually, usual_bytes) = list(&usual);
    assert!(bytes <= usual_bytes + MAX_OF_TOOL, "{bytes}, usually {usual_bytes}");
    for n in 0..64 {
        assert!(listed.contains(&format!("qr_a{n}")), "qr_a{n}: {listed:?}");
    }
    let of_others =
        |names: &[String]| names.iter().filter(|name| !name.starts_with("qr_")).cloned().collect::<Vec<_>>();
    assert_eq!(of_others(&listed), of_others(&usually));
}

/// Returns the names of all tools over MCP, and the bytes of the pages of their list.
fn list(edge: &Edge) -> (Vec<String>, usize) {
    let (key, _) = edge.issue("free");
    let (mut names, mut bytes, mut params) = (Vec::new(), 0, json!({}));
    loop {
        let message = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": params });
        let response = Request::post("/mcp", &message).key(&key).send(edge.addr);
        assert!(response.text().len() <= MAX_PAGE, "{}", response.text().len());
        bytes += response.text().len();
        let result = response.json()["result"].clone();
        let tools = result["tools"].as_array().unwrap();
        names.extend(tools.iter().map(|tool| tool["name"].as_str().unwrap().to_owned()));
        match result["nextCursor"].as_str() {
            Some(next) => params = json!({ "cursor": next }),
            None => return (names, bytes),
        }
    }
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
