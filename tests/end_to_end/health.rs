//! A tool that fails and recovers, seen through the edge.

use serde_json::json;
use shared::tool::Tool;
use tests::{
    http::{Request, Response},
    stack::{PROBE_BOUND, Stack},
    wait::wait_for,
};

fn call(stack: &Stack, key: &str, tool: Tool) -> Response {
    Request::get(&format!("/v1/{tool}/generate?url=https://example.com")).key(key).send(stack.edge.addr)
}

/// Waits until the proxy considers the upstream of a tool `healthy` or `unhealthy`.
fn wait_for_health(stack: &Stack, tool: Tool, health: &str) {
    wait_for(PROBE_BOUND, || {
        let pools = Request::get("/pools").send(stack.proxy.admin).json();
        (pools["pools"][tool.as_str()]["upstreams"][0]["health"] == health).then_some(())
    });
}

#[test]
fn stopped_tool_is_503_until_it_starts_again() {
    let stack = Stack::start();
    let (key, _) = stack.edge.issue("enterprise");
    assert_eq!(call(&stack, &key, Tool::Qr).status, 200);
    stack.tools.stop(Tool::Qr);
    wait_for_health(&stack, Tool::Qr, "unhealthy");
    let down = call(&stack, &key, Tool::Qr);
    assert_eq!((down.status, down.code().as_str()), (503, "tool-unavailable"));
    assert_eq!(
        down.header("x-gateway-problem"),
        Some("tool-unavailable"),
        "the proxy's mark reaches the client"
    );
    assert!(down.header("retry-after").unwrap().parse::<u64>().unwrap() >= 1);
    assert!(down.header("proxy-status").is_some(), "{:?}", down.headers);
    for tool in Tool::ALL.into_iter().filter(|tool| *tool != Tool::Qr) {
        assert_eq!(call(&stack, &key, tool).status, 200, "{tool} is another tool");
    }
    stack.tools.start_again(Tool::Qr);
    wait_for_health(&stack, Tool::Qr, "healthy");
    assert_eq!(call(&stack, &key, Tool::Qr).status, 200);
}

#[test]
fn unhealthy_tool_is_503_although_it_accepts_connections() {
    let stack = Stack::start();
    let (key, _) = stack.edge.issue("enterprise");
    stack.tools.control("PATCH", "/pdf", &json!({ "healthy": false }));
    wait_for_health(&stack, Tool::Pdf, "unhealthy");
    let down = call(&stack, &key, Tool::Pdf);
    assert_eq!((down.status, down.code().as_str()), (503, "tool-unavailable"));
    stack.tools.control("PATCH", "/pdf", &json!({ "healthy": true }));
    wait_for_health(&stack, Tool::Pdf, "healthy");
    assert_eq!(call(&stack, &key, Tool::Pdf).status, 200);
}

#[test]
fn tool_5xx_passes_through_unchanged() {
    let stack = Stack::shared();
    let (key, _) = stack.edge.issue("free");
    let response = Request::get("/v1/seo/status?code=502").key(&key).send(stack.edge.addr);
    assert_eq!(response.status, 502);
    assert_ne!(response.header("content-type"), Some("application/problem+json"));
}

#[test]
fn call_to_a_stopped_tool_does_not_use_up_the_day() {
    let stack = Stack::start();
    let (key, _) = stack.edge.issue("free");
    stack.tools.stop(Tool::Yt);
    wait_for_health(&stack, Tool::Yt, "unhealthy");
    assert_eq!(call(&stack, &key, Tool::Yt).status, 503);
    let day = wait_for(PROBE_BOUND, || {
        let usage = Request::get("/v1/keys/me").key(&key).send(stack.edge.addr);
        usage.header("ratelimit").filter(|limit| limit.contains("\"day\";r=100")).map(str::to_owned)
    });
    assert!(day.contains("minute"));
}

#[test]
fn status_names_unavailable_tools() {
    let stack = Stack::start();
    let status = || Request::get("/v1/status").send(stack.edge.addr).json();
    assert_eq!(status()["status"], "operational");
    stack.tools.stop(Tool::Flip);
    let degraded = wait_for(PROBE_BOUND, || Some(status()).filter(|report| report["status"] == "degraded"));
    let down: Vec<_> = degraded["tools"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|tool| tool["available"] == false)
        .map(|tool| tool["tool"].clone())
        .collect();
    assert_eq!(down, ["flip"]);
}
