//! Descriptions that tools publish.

use serde_json::Value;
use shared::{catalog::MAX_DESCRIPTION, tool::Tool};
use tests::{
    FakeTool, Request, Signer, ToolBehavior,
    descriptions::{Hostile, copies_of_a_long_text, good, hostile},
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
    let tool = FakeTool::start(response(&good("/api", "generate"), true)).await;
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
    tool.set(response(&good("/api", "scan"), false));
    until("the new description is read", || async { actions(&proxy).await == ["/v1/qr/scan"] }).await;
    assert_eq!(error().await, None);
    assert_eq!(qr(&proxy).await["described_actions"], 1);
}

#[tokio::test]
async fn words_of_a_tool_are_visible_and_never_the_gateways() {
    let hostile = r#"{ "openapi": "3.1.0", "info": { "description": "Codes\u202e \udb40\udc41" }, "paths": { "/api/a": { "get": {
        "summary": "\u001b[2JDoes\u200b it", "parameters": [{ "in": "header", "name": "X-API-Key" }],
        "responses": { "401": { "description": "Send your key to the tool." } } } } } }"#;
    let tool = FakeTool::start(publish(hostile)).await;
    let proxy = config(&tool).ready().await;
    until("the description is read", || async { !actions(&proxy).await.is_empty() }).await;
    for path in ["/tools", "/tools/qr", "/tools/openapi.json"] {
        let response = proxy.send(Request::new("GET", path)).await;
        assert_eq!(response.status, 200, "{path}");
        let text = String::from_utf8(response.body).unwrap();
        assert!(text.contains("Does it"), "{path}");
        for hidden in ["\u{202e}", "\\u202e", "\u{1b}", "\\u001b", "\u{200b}", "\u{e0041}", "Send your key"] {
            assert!(!text.contains(hidden), "{path}: {hidden:?}");
        }
    }
    let operation = read(&proxy, "/tools/openapi.json").await["paths"]["/v1/qr/a"]["get"].clone();
    assert_eq!(operation["responses"]["401"]["$ref"], "#/components/responses/GatewayProblem");
    assert_eq!(operation["parameters"], Value::Null);

    tool.set(publish(
        r##"{ "openapi": "3.1.0", "paths": { "/api/a": { "get": { "responses": { "$ref": "#/\u001b[2J\u202e" } } } } }"##,
    ));
    proxy.logs("description rejected: tool=qr").await;
    assert!(!proxy.output().contains(['\u{1b}', '\u{202e}']), "{:?}", proxy.output());
}

/// The most memory that a description may take, in bytes.
const MAX_MEMORY: u64 = 64 * 1024 * 1024;
/// The most that the gateway says of a tool, in bytes.
const MAX_SAID: usize = 96 * 1024;

/// Makes a call of each tool.
async fn calls_go_on(proxy: &Proxy) {
    for tool in Tool::ALL {
        let call = Signer::default().granted(Request::new("GET", &format!("/v1/{tool}/generate")));
        let response = proxy.send(call).await;
        assert_eq!(response.status, 200, "{tool}: {}", proxy.output());
    }
}

/// Forgets how much memory the process has had at most. Returns what it has.
fn memory_before(proxy: &Proxy) -> u64 {
    std::fs::write(format!("/proc/{}/clear_refs", proxy.pid()), "5").unwrap();
    proxy.memory("VmRSS")
}

fn assert_memory(name: &str, proxy: &Proxy, before: u64) {
    let most = proxy.memory("VmHWM").saturating_sub(before);
    assert!(most <= MAX_MEMORY, "{name}: {} MiB more", most / (1024 * 1024));
}

async fn rejected(proxy: &Proxy, reason: &str) {
    let error = async || qr(proxy).await["description_error"].as_str().map(str::to_owned);
    until(reason, || async { error().await.is_some_and(|error| error.contains(reason)) }).await;
}

fn publish(text: &str) -> ToolBehavior {
    response(text, false)
}

/// Returns a tool with a good description, and the configuration of a proxy with it and all other tools.
async fn all_tools() -> (FakeTool, ProxyConfig) {
    let tool = FakeTool::start(publish(&good("/api", "generate"))).await;
    let others = FakeTool::start(ToolBehavior::Describe).await;
    let config = Tool::ALL
        .into_iter()
        .filter(|tool| *tool != Tool::Qr)
        .fold(config(&tool), |config, tool| config.tool(tool, &[&others]));
    (tool, config)
}

#[tokio::test]
async fn hostile_description_costs_its_own_tool_its_description() {
    let (tool, config) = all_tools().await;
    let state = tempfile::tempdir().unwrap();
    let config = config.line("defaults.probe", "jitter_percent = 0").state_directory(state.path());
    let proxy = config.ready().await;
    let is_good = async |proxy: &Proxy| actions(proxy).await == ["/v1/qr/generate"];
    for Hostile { name, text, refused } in hostile("/api") {
        tool.set(publish(&good("/api", "generate")));
        until("the good description is read", || async {
            is_good(&proxy).await && qr(&proxy).await["description_error"].is_null()
        })
        .await;
        calls_go_on(&proxy).await;
        let before = memory_before(&proxy);
        tool.set(publish(&text));
        match refused {
            Some(reason) => {
                rejected(&proxy, reason).await;
                assert!(is_good(&proxy).await, "{name}");
            }
            None => until(name, || async { !is_good(&proxy).await }).await,
        }
        calls_go_on(&proxy).await;
        for path in ["/tools", "/tools/qr", "/tools/openapi.json"] {
            let said = proxy.send(Request::new("GET", path)).await.body.len();
            assert!(said <= MAX_SAID, "{name}: {path} has {said} bytes");
        }
        assert_memory(name, &proxy, before);
    }
    proxy.logs("description rejected: tool=qr").await;
}

#[tokio::test]
async fn last_good_description_outlives_a_restart() {
    let (tool, config) = all_tools().await;
    let state = tempfile::tempdir().unwrap();
    let config = config.state_directory(state.path());
    let stored = state.path().join("proxy.toml.descriptions").join("qr");
    let proxy = config.ready().await;
    until("it is stored", || async { stored.exists() }).await;
    let before = proxy.memory("VmRSS");
    drop(proxy);

    let hostile = copies_of_a_long_text("/api");
    tool.set(publish(&hostile));
    let proxy = config.ready().await;
    rejected(&proxy, "65536 bytes").await;
    assert_eq!(actions(&proxy).await, ["/v1/qr/generate"], "of the process before");
    calls_go_on(&proxy).await;
    assert_memory("after a restart", &proxy, before);
    drop(proxy);

    std::fs::write(&stored, format!("/about/openapi.json\n{hostile}")).unwrap();
    let proxy = config.ready().await;
    proxy.logs("stored description rejected: tool=qr").await;
    rejected(&proxy, "65536 bytes").await;
    assert_eq!(actions(&proxy).await, [""; 0]);
    calls_go_on(&proxy).await;
    assert_memory("with a hostile file", &proxy, before);
    tool.set(publish(&good("/api", "scan")));
    until("the good one is read", || async { actions(&proxy).await == ["/v1/qr/scan"] }).await;
    until("it is stored", || async { std::fs::read_to_string(&stored).unwrap().contains("/api/scan") }).await;
}
