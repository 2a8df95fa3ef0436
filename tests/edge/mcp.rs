//! Messages of the Model Context Protocol: HTTP statuses, keys, what calls reach, and the access log.
//! What clients see is tested with the official ones (`tests/clients/mcp/`).

use base64::{Engine, engine::general_purpose::STANDARD};
use serde_json::{Value, json};
use shared::tool::Tool;
use tests::{
    http::{Request, Response},
    keys,
    origin::{Origin, OriginBehavior},
    stack::{Edge, Stack},
};

use super::pages::until;

fn message(method: &str, params: &Value) -> Value {
    json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params })
}

fn call(edge: &Edge, key: &str, name: &str, arguments: &Value) -> Response {
    let params = json!({ "name": name, "arguments": arguments });
    Request::post("/mcp", &message("tools/call", &params)).key(key).send(edge.addr)
}

/// Returns the result of a call.
fn result(response: &Response) -> Value {
    assert_eq!(response.status, 200, "{}", response.text());
    response.json()["result"].clone()
}

fn list(edge: &Edge, key: &str, path: &str) -> Response {
    Request::post(path, &message("tools/list", &json!({}))).key(key).send(edge.addr)
}

fn names(response: &Response) -> Vec<String> {
    let tools = result(response)["tools"].as_array().unwrap().clone();
    tools.iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
}

/// Agents' settings often have the slash, and not every client sends its body again after a redirect.
#[test]
fn address_with_a_slash_at_its_end_answers() {
    let edge = Edge::shared();
    let (key, _) = business_key(&edge);
    let (with, without) = (list(&edge, &key, "/mcp/"), list(&edge, &key, "/mcp"));
    assert_eq!(names(&with), names(&without));
    assert_eq!(Request::get("/mcp/").send(edge.addr).status, 405);
}

/// Issues a key whose account has the plan for pages.
fn business_key(edge: &Edge) -> (String, String) {
    let body = json!({
        "email": "ada@example.com", "name": "Ada", "tier": "free", "biolink_plan": "business",
        "admin_secret": keys::ADMIN_SECRET,
    });
    let issued = Request::post("/v1/keys/issue", &body).send(edge.addr).json();
    (issued["key"].as_str().unwrap().to_owned(), issued["id"].as_str().unwrap().to_owned())
}

/// Returns the access log line of a response.
fn line(edge: &Edge, response: &Response) -> Value {
    let id = response.header("x-request-id").unwrap().to_owned();
    let find = || {
        let output = edge.output();
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
    let edge = Edge::shared();
    let (key, _) = edge.issue("free");
    let read = call(&edge, &key, "read_usage", &json!({}));
    assert_eq!(logged(&edge, &read), json!(["/mcp", null, "read_usage", 200, null]));
    let refused = call(&edge, &key, "create_page", &json!({ "body": { "title": "Ada" } }));
    assert_eq!(logged(&edge, &refused), json!(["/mcp", null, "create_page", 403, "plan-required"]));
}

/// A model takes PNG, and no SVG: a conversation with such an image cannot continue.
#[test]
fn image_of_a_tool_is_png_unless_svg_is_asked_for() {
    let stack = Stack::shared();
    let (key, _) = stack.edge.issue("free");
    let code = |members: Value| {
        let mut arguments = json!({ "tool": "qr", "action": "generate" });
        arguments.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
        result(&call(&stack.edge, &key, "call_tool", &arguments))["content"][0].clone()
    };
    let url = "https://example.com";
    for plain in [json!({ "query": { "url": url } }), json!({ "body": { "url": url } })] {
        let image = code(plain);
        assert_eq!((&image["type"], &image["mimeType"]), (&json!("image"), &json!("image/png")), "{image}");
        let bytes = STANDARD.decode(image["data"].as_str().unwrap()).unwrap();
        assert!(bytes.starts_with(b"\x89PNG"));
    }
    for svg in [
        json!({ "query": { "url": url, "format": "svg" } }),
        json!({ "body": { "url": url, "format": "svg" } }),
    ] {
        let text = code(svg);
        assert_eq!(text["type"], "text", "{text}");
        assert!(text["text"].as_str().unwrap().contains("<svg"), "{text}");
    }
}

#[test]
fn call_tool_does_not_reach_the_keys_api() {
    let edge = Edge::shared();
    let (key, _) = edge.issue("free");
    let issue = json!({
        "email": "eve@example.com", "name": "Eve", "tier": "enterprise", "admin_secret": keys::ADMIN_SECRET,
    });
    for arguments in [
        json!({ "tool": "keys", "action": "issue", "body": issue }),
        json!({ "tool": "keys", "action": "me" }),
        json!({ "tool": "..", "action": "healthz" }),
        json!({ "tool": "qr", "action": ".." }),
    ] {
        let refused = result(&call(&edge, &key, "call_tool", &arguments));
        assert_eq!(refused["isError"], true, "{refused}");
        assert!(refused.get("structuredContent").is_none(), "the API was reached: {refused}");
    }
}

#[test]
fn revoked_key_is_401_for_every_message() {
    let edge = Edge::shared();
    let (key, _) = edge.issue("free");
    let handshake = json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "a", "version": "1" } });
    let messages = [
        message("initialize", &handshake),
        message("ping", &json!({})),
        message("tools/list", &json!({})),
        message("tools/call", &json!({ "name": "read_usage" })),
        message(
            "tools/call",
            &json!({ "name": "call_tool", "arguments": { "tool": "qr", "action": "generate" } }),
        ),
        message("tools/call", &json!({ "name": "nothing" })),
        message("tools/call", &json!({ "name": "read_page" })),
        json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }),
        json!({ "jsonrpc": "2.0", "id": 1 }),
    ];
    let send = |message: &Value| Request::post("/mcp", message).key(&key).send(edge.addr);
    for message in &messages {
        assert_ne!(send(message).status, 401, "{message}");
    }
    let revoked = Request::new("DELETE", "/v1/keys/me").key(&key).send(edge.addr);
    assert!(revoked.status < 300, "{}", revoked.text());
    for message in &messages {
        let refused = send(message);
        assert_eq!((refused.status, &refused.json()["code"]), (401, &json!("key-revoked")), "{message}");
        let challenges = refused.header_values("www-authenticate").join(", ");
        assert!(challenges.contains("Bearer realm="), "{challenges}");
    }
}

#[test]
fn bearer_token_is_taken_as_the_key() {
    let edge = Edge::shared();
    let (key, _) = edge.issue("free");
    let send = |token: &str, params: &Value| {
        let call = message("tools/call", params);
        Request::post("/mcp", &call).header("authorization", &format!("Bearer {token}")).send(edge.addr)
    };
    let usage = result(&send(&key, &json!({ "name": "read_usage" })));
    assert_eq!(usage["structuredContent"]["tier"], "free", "{usage}");
    let invalid = send("nonsense", &json!({ "name": "read_usage" }));
    assert_eq!((invalid.status, &invalid.json()["code"]), (401, &json!("key-malformed")));
    let none = Request::post("/mcp", &message("ping", &json!({}))).send(edge.addr);
    assert_eq!((none.status, &none.json()["code"]), (401, &json!("key-missing")));
    let elsewhere = Request::new("GET", "/v1/keys/me").header("authorization", &format!("Bearer {key}"));
    assert_eq!(elsewhere.send(edge.addr).status, 401, "only /mcp takes it");
    let told = invalid.json()["detail"].as_str().unwrap().to_owned();
    assert!(told.contains("Authorization") && !told.contains("X-API-Key"), "{told}");
}

/// What the official conformance suite asks of a local server (`dns-rebinding-protection`).
#[test]
fn page_of_another_origin_is_403_at_a_private_host() {
    let edge = Edge::shared();
    let (key, _) = edge.issue("free");
    let ping = || Request::post("/mcp", &message("ping", &json!({}))).key(&key);
    for origin in ["https://evil.example", "http://evil.example:8787", "null"] {
        let refused = ping().header("origin", origin).send(edge.addr);
        assert_eq!((refused.status, &refused.json()["error"]["code"]), (403, &json!(-32_000)), "{origin}");
    }
    let own = format!("http://{}", edge.addr);
    for origin in [own.as_str(), "http://localhost:6274"] {
        assert_eq!(ping().header("origin", origin).send(edge.addr).status, 200, "{origin}");
    }
    for key in [None, Some(&key)] {
        let rebound = Request::post("/mcp", &message("ping", &json!({}))).header("Host", "evil.example");
        let rebound = key.iter().fold(rebound, |request, key| request.key(key)).send(edge.addr);
        assert_eq!((rebound.status, rebound.code().as_str()), (403, "https-required"));
    }
}

#[test]
fn message_without_a_method_is_an_error_with_its_id() {
    let edge = Edge::shared();
    let (key, _) = edge.issue("free");
    for message in
        [json!({ "jsonrpc": "2.0", "id": "a" }), json!({ "jsonrpc": "2.0", "id": "a", "method": 1 })]
    {
        let refused = Request::post("/mcp", &message).key(&key).send(edge.addr);
        let error = refused.json();
        assert_eq!(
            (refused.status, &error["id"], &error["error"]["code"]),
            (400, &json!("a"), &json!(-32_600))
        );
    }
}

#[test]
fn list_has_the_tools_of_the_plan_and_of_the_toolsets() {
    let edge = Edge::shared();
    let (free, _) = edge.issue("free");
    let (business, _) = business_key(&edge);
    let mut found = names(&list(&edge, &free, "/mcp"));
    found.sort();
    assert_eq!(found, ["call_tool", "read_account", "read_analytics", "read_live_analytics", "read_usage"]);
    let whole = list(&edge, &business, "/mcp");
    assert!(whole.body.len() <= 30_000, "{} bytes", whole.body.len());
    let found = names(&whole);
    assert!(found.contains(&"create_page".to_owned()), "{found:?}");
    for name in ["erase_account", "export_account", "read_webhook_secret", "create_webhook"] {
        assert!(!found.contains(&name.to_owned()), "{name}");
    }
    assert_eq!(names(&list(&edge, &business, "/mcp?toolsets=tools")), ["call_tool"]);
    let named = names(&list(&edge, &business, "/mcp?toolsets=webhooks,account"));
    assert!(named.contains(&"create_webhook".to_owned()) && named.contains(&"export_account".to_owned()));
    let unknown = list(&edge, &business, "/mcp?toolsets=all");
    assert_eq!((unknown.status, &unknown.json()["code"]), (422, &json!("fields-invalid")));
}

#[test]
fn tool_outside_of_the_toolsets_is_unknown() {
    let edge = Edge::shared();
    let (key, _) = business_key(&edge);
    let at = |path: &str, name: &str| {
        let called = message("tools/call", &json!({ "name": name, "arguments": {} }));
        Request::post(path, &called).key(&key).send(edge.addr).json()["error"]["code"].clone()
    };
    for (path, name) in [
        ("/mcp", "export_account"),
        ("/mcp", "erase_account"),
        ("/mcp?toolsets=account", "erase_account"),
        ("/mcp?toolsets=tools", "list_pages"),
    ] {
        assert_eq!(at(path, name), json!(-32_602), "{path} {name}");
    }
    for (path, name) in [
        ("/mcp", "list_webhooks"),
        ("/mcp?toolsets=pages", "list_pages"),
        ("/mcp?toolsets=account", "export_account"),
    ] {
        assert_eq!(at(path, name), Value::Null, "{path} {name}");
    }
}

/// Makes a secret of a key with these scopes.
fn secret(edge: &Edge, key: &str, scopes: &Value) -> String {
    let body = json!({ "name": scopes.to_string(), "scopes": scopes });
    let made = Request::post("/v1/keys/me/secrets", &body).key(key).send(edge.addr).json();
    made["key"].as_str().unwrap_or_else(|| panic!("{made}")).to_owned()
}

#[test]
fn list_has_what_the_secret_may_call_and_is_small() {
    let stack = Stack::shared();
    let edge = &stack.edge;
    let (free, _) = edge.issue("free");
    let (business, _) = business_key(edge);
    let qr = secret(edge, &business, &json!({ "tools": ["qr"] }));
    let listed = list(edge, &qr, "/mcp");
    assert_eq!(names(&listed), ["call_tool", "read_usage", "qr_generate"]);
    let tool = &result(&listed)["tools"][0]["inputSchema"]["properties"]["tool"];
    assert_eq!(tool["enum"], json!(["qr"]));
    let reader = names(&list(edge, &secret(edge, &business, &json!({ "biolink": "read" })), "/mcp"));
    assert!(reader.contains(&"list_pages".to_owned()), "{reader:?}");
    for name in ["call_tool", "create_page", "delete_page", "qr_generate"] {
        assert!(!reader.contains(&name.to_owned()), "{name}: {reader:?}");
    }
    let scopes = [
        json!({ "tools": ["all"] }),
        json!({ "biolink": "write" }),
        json!({ "tools": ["all"], "biolink": "admin", "keys": true }),
        json!({ "tools": [] }),
    ];
    let secrets =
        [&business, &free].into_iter().flat_map(|key| scopes.iter().map(|of| secret(edge, key, of)));
    for key in secrets.collect::<Vec<_>>().iter().chain([&business, &free]) {
        let whole = list(edge, key, "/mcp");
        assert_eq!(whole.status, 200, "{}", whole.text());
        assert!(whole.body.len() <= 30_000, "{} bytes", whole.body.len());
    }
}

#[test]
fn call_without_its_body_is_refused_and_not_counted() {
    let stack = Stack::shared();
    let (key, _) = business_key(&stack.edge);
    let used = || {
        let own = Request::get("/v1/keys/me").key(&key).send(stack.edge.addr).json();
        own["usage"]["day"]["used"].clone()
    };
    let before = used();
    for name in ["create_page", "qr_generate"] {
        let refused = result(&call(&stack.edge, &key, name, &json!({})));
        assert_eq!(refused["isError"], true, "{refused}");
        assert!(refused["content"][0]["text"].as_str().unwrap().contains("`body` is required"), "{refused}");
        assert_eq!(refused["_meta"]["status"], Value::Null, "no request was made");
    }
    assert_eq!(used(), before);
}

#[test]
fn tool_that_breaks_off_is_an_error_in_the_result() {
    let cut = "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 100\r\n\r\nonly this";
    let chunked =
        "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nTransfer-Encoding: chunked\r\n\r\nb\r\nonly";
    let gzip =
        "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Encoding: gzip\r\nContent-Length: 0\r\n\r\n";
    for response in [cut, chunked, gzip] {
        let origin = Origin::start(OriginBehavior::BreakOff(response.into()));
        let edge = Edge::start(&origin.url());
        let (key, _) = edge.issue("pro");
        let called = call(&edge, &key, "call_tool", &json!({ "tool": "pdf", "action": "merge" }));
        let result = result(&called);
        assert_eq!(called.json()["id"], 1);
        assert_eq!(
            (&result["isError"], &result["structuredContent"]["code"]),
            (&json!(true), &json!("response-aborted")),
            "{response}: {result}"
        );
        let outcome = json!(["/mcp", "pdf", "merge", 503, "response-aborted"]);
        assert_eq!(logged(&edge, &called), outcome);
    }
}
