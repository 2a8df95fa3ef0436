//! A tool that stops takes its own calls down, and nothing else; one that starts heals them.

use std::{thread, time::Duration};

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

/// Calls until the answer has this status, ten times a second: faster would use up the key's minute.
fn until(stack: &Stack, key: &str, tool: Tool, status: u16) -> Response {
    wait_for(PROBE_BOUND, || {
        let answer = Some(call(stack, key, tool)).filter(|answer| answer.status == status);
        if answer.is_none() {
            thread::sleep(Duration::from_millis(100));
        }
        answer
    })
}

#[test]
fn a_stopped_tool_is_503_within_the_probe_interval_and_heals_when_it_starts() {
    let stack = Stack::start();
    let (key, _) = stack.edge.issue("enterprise");
    assert_eq!(call(&stack, &key, Tool::Qr).status, 200);
    stack.tools.stop(Tool::Qr);
    let down = until(&stack, &key, Tool::Qr, 503);
    assert_eq!(down.code(), "tool-unavailable");
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
    until(&stack, &key, Tool::Qr, 200);
}

#[test]
fn a_sick_tool_is_503_although_it_could_be_reached() {
    let stack = Stack::start();
    let (key, _) = stack.edge.issue("enterprise");
    stack.tools.control("PATCH", "/pdf", &json!({ "healthy": false }));
    assert_eq!(until(&stack, &key, Tool::Pdf, 503).code(), "tool-unavailable");
    stack.tools.control("PATCH", "/pdf", &json!({ "healthy": true }));
    until(&stack, &key, Tool::Pdf, 200);
}

#[test]
fn a_5xx_of_the_tools_own_passes_through_untouched() {
    let stack = Stack::start();
    let (key, _) = stack.edge.issue("free");
    let answer = Request::get("/v1/seo/status?code=502").key(&key).send(stack.edge.addr);
    assert_eq!(answer.status, 502);
    assert_ne!(answer.header("content-type"), Some("application/problem+json"));
}

#[test]
fn calls_that_no_tool_could_take_do_not_use_up_the_day() {
    let stack = Stack::start();
    let (key, _) = stack.edge.issue("free");
    stack.tools.stop(Tool::Yt);
    until(&stack, &key, Tool::Yt, 503);
    let day = wait_for(PROBE_BOUND, || {
        let usage = Request::get("/v1/keys/me").key(&key).send(stack.edge.addr);
        usage.header("ratelimit").filter(|limit| limit.contains("\"day\";r=100")).map(str::to_owned)
    });
    assert!(day.contains("minute"));
}

#[test]
fn the_status_names_the_tools_that_cannot_be_called() {
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
