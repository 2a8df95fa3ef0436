//! Descriptions that tools publish.

use serde_json::{Value, json};
use shared::{catalog::MAX_DESCRIPTION, tool::Tool};
use tests::{
    FakeTool, Request, ToolBehavior,
    proxy::{Proxy, ProxyConfig},
    until,
};

/// Returns a response with a body, and without a length if it is sent in chunks.
fn response(body: &str, chunked: bool) -> ToolBehavior {
    let framed = match chunked {
        true => format!("Transfer-Encoding: chunked\r\n\r\n{:x}\r\n{body}\r\n0\r\n\r\n", body.len()),
        false => format!("Content-Length: {}\r\n\r\n{body}", body.len()),
    };
    ToolBehavior::Respond(
        format!("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n{framed}").into_bytes(),
    )
}

fn description(action: &str) -> String {
    let item = json!({ "get": { "summary": "Does it" } });
    json!({ "openapi": "3.1.0", "paths": { format!("/api/{action}"): item } }).to_string()
}

async fn read(proxy: &Proxy, path: &str) -> Value {
    let response = proxy.send(Request::new("GET", path)).await;
    assert_eq!(response.status, 200, "{path}");
    serde_json::from_slice(&response.body).unwrap()
}

/// Returns the pool as `/pools` shows it.
async fn qr(proxy: &Proxy) -> Value {
    proxy.admin_get("/pools").await.json()["pools"]["qr"].clone()
}

async fn actions(proxy: &Proxy) -> Vec<String> {
    let tool = read(proxy, "/tools/qr").await;
    let actions = tool["actions"].as_array().unwrap().iter();
    actions.map(|action| action["path"].as_str().unwrap().to_owned()).collect()
}

fn config(tool: &FakeTool) -> ProxyConfig {
    let lines = "path = \"/api\"\ndescribe = \"/about/openapi.json\"";
    ProxyConfig::new().tool(Tool::Qr, &[tool]).pool_line(Tool::Qr, lines)
}

#[tokio::test]
async fn description_of_a_tool_is_served_and_the_last_good_one_kept() {
    let tool = FakeTool::start(response(&description("generate"), true)).await;
    let proxy = config(&tool).line("defaults.probe", "jitter_percent = 0").ready().await;
    until("the description is read", || async { !actions(&proxy).await.is_empty() }).await;
    assert_eq!(actions(&proxy).await, ["/v1/qr/generate"]);
    assert!(tool.received()[0].starts_with("GET /about/openapi.json HTTP/1.1\r\n"), "{:?}", tool.received());

    let list = read(&proxy, "/tools").await;
    assert_eq!(list["tools"].as_array().unwrap().len(), Tool::ALL.len());
    let document = read(&proxy, "/tools/openapi.json").await;
    assert_eq!(document["paths"]["/v1/qr/generate"]["get"]["summary"], "Does it");
    assert_eq!(read(&proxy, "/tools/pdf").await["described"], false, "it publishes none");
    assert_eq!(proxy.send(Request::new("GET", "/tools/hologram")).await.problem(), "tool-unknown");

    let error = async || qr(&proxy).await["description_error"].as_str().map(str::to_owned);
    for (bad, reason) in [
        (response("{}", false), "expected 3.0.x or 3.1.x"),
        (response(&" ".repeat(MAX_DESCRIPTION + 1), false), "larger than 262144 bytes"),
        (
            ToolBehavior::Respond(b"HTTP/1.1 404 No\r\nContent-Length: 0\r\n\r\n".to_vec()),
            "unexpected status 404",
        ),
    ] {
        tool.set(bad);
        until("the description is rejected", || async { error().await.is_some_and(|e| e.contains(reason)) })
            .await;
        assert_eq!(actions(&proxy).await, ["/v1/qr/generate"], "{reason}");
    }
    tool.set(response(&description("scan"), false));
    until("the new description is read", || async { actions(&proxy).await == ["/v1/qr/scan"] }).await;
    assert_eq!(error().await, None);
    assert_eq!(qr(&proxy).await["described_actions"], 1);
}
