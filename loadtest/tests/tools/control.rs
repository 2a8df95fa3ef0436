//! The control API, and its effects on the tools.

use std::time::Duration;

use loadtest::tools::{self, BindAddress};
use serde_json::json;
use shared::tool::Tool;
use tokio::net::TcpStream;
use tokio::time::{self, Instant};

use crate::http;

#[tokio::test]
async fn stopped_tool_refuses_connects_until_started() {
    let running = tools::start(BindAddress::LOOPBACK).await.unwrap();
    let (control, addr) = (running.control(), running.addr(Tool::Qr));
    let mut open = http::connect(addr).await.unwrap();
    open.send_request(http::request("GET", "/any", "")).await.unwrap();

    let stopped = http::post(control, "/qr/stop", &json!(null)).await;
    assert_eq!(stopped.json()["stopped"], true);
    assert!(
        open.send_request(http::request("GET", "/any", "")).await.is_err(),
        "open connections are closed"
    );
    for _ in 0..3 {
        let refused = TcpStream::connect(addr).await.unwrap_err();
        assert_eq!(refused.kind(), std::io::ErrorKind::ConnectionRefused);
    }
    assert_eq!(http::get(running.addr(Tool::Yt), "/any").await.status, 200, "other tools are not affected");

    for _ in 0..2 {
        let started = http::post(control, "/qr/start", &json!(null)).await;
        assert_eq!((started.status, started.json()["stopped"].as_bool()), (200, Some(false)));
    }
    assert_eq!(http::get(addr, "/any").await.status, 200);
}

#[tokio::test]
async fn unhealthy_tool_still_serves_calls() {
    let running = tools::start(BindAddress::LOOPBACK).await.unwrap();
    let (control, addr) = (running.control(), running.addr(Tool::Speech));
    assert_eq!(http::get(addr, "/healthz").await.json(), json!({ "status": "ok", "tool": "speech" }));
    for (healthy, status) in [(false, 503), (true, 200)] {
        let patch = http::request("PATCH", "/speech", json!({ "healthy": healthy }).to_string());
        assert_eq!(http::send(control, patch).await.json()["healthy"], healthy);
        assert_eq!(http::get(addr, "/healthz").await.status, status);
        assert_eq!(http::get(addr, "/any").await.status, 200);
    }
}

/// The clock is paused for the slow call: it advances only by the timers that the tool waits for.
#[tokio::test]
async fn latency_and_errors_apply_to_open_connections() {
    let running = tools::start(BindAddress::LOOPBACK).await.unwrap();
    let mut open = http::connect(running.addr(Tool::Image)).await.unwrap();
    let before = open.send_request(http::request("GET", "/any", "")).await.unwrap();
    assert_eq!(http::read(before).await.unwrap().status, 200);

    let patch = json!({ "latency_ms": 120, "error_rate": 1 }).to_string();
    assert_eq!(http::send(running.control(), http::request("PATCH", "/image", patch)).await.status, 200);
    time::pause();
    let start = Instant::now();
    let failed = open.send_request(http::request("GET", "/any", "")).await.unwrap();
    assert_eq!(http::read(failed).await.unwrap().json()["code"], "simulated");
    assert!(start.elapsed() >= Duration::from_millis(120));
}

#[tokio::test]
async fn counters_count_until_reset() {
    let running = tools::start(BindAddress::LOOPBACK).await.unwrap();
    let (control, addr) = (running.control(), running.addr(Tool::Flow));
    for _ in 0..3 {
        http::get(addr, "/any").await;
    }
    http::get(addr, "/healthz").await;
    http::send(control, http::request("PATCH", "/flow", r#"{"error_rate": 1}"#)).await;
    assert_eq!(http::get(addr, "/any").await.status, 500);

    let state = http::get(control, "/").await.json();
    assert_eq!(state["tools"].as_object().unwrap().len(), 17);
    let flow = &state["tools"]["flow"];
    for (counter, count) in [("calls", 4), ("errors", 1), ("probes", 1), ("connections", 5)] {
        assert_eq!(flow[counter], count, "{counter}");
    }
    assert_eq!(flow["addr"], addr.to_string());

    let fresh = http::post(control, "/reset", &json!(null)).await.json();
    assert_eq!(
        (&fresh["tools"]["flow"]["calls"], &fresh["tools"]["flow"]["error_rate"]),
        (&json!(0), &json!(0.0))
    );
}

#[tokio::test]
async fn invalid_command_is_4xx_and_changes_nothing() {
    let running = tools::start(BindAddress::LOOPBACK).await.unwrap();
    let control = running.control();
    let before = http::get(control, "/qr").await.json();
    let cases = [
        ("PATCH", "/qr", r#"{"latency": 1}"#, 400),
        ("PATCH", "/qr", r#"{"error_rate": 2}"#, 400),
        ("PATCH", "/qr", r#"{"latency_ms": 600001, "healthy": false}"#, 422),
        ("POST", "/qr/fault", r#"{"kind": "meteor"}"#, 400),
        ("POST", "/qr/explode", "", 404),
        ("POST", "/qrr/stop", "", 404),
        ("GET", "/qr/stop", "", 405),
        ("DELETE", "/qr", "", 405),
    ];
    for (method, path, body, status) in cases {
        let reply = http::send(control, http::request(method, path, body)).await;
        assert_eq!(reply.status, status, "{method} {path} {body}");
    }
    assert_eq!(http::get(control, "/qr").await.json(), before);
}

#[tokio::test]
async fn size_is_set_and_responses_are_counted_by_class() {
    let running = tools::start(BindAddress::LOOPBACK).await.unwrap();
    let (control, addr) = (running.control(), running.addr(Tool::Flow));
    http::send(control, http::request("PATCH", "/flow", r#"{"body_bytes": 70000}"#)).await;
    assert_eq!(http::get(addr, "/any").await.body.len(), 70_000);
    assert_eq!(http::get(addr, "/status?code=404").await.status, 404);
    http::send(control, http::request("PATCH", "/flow", r#"{"body_bytes": null, "error_rate": 1}"#)).await;
    assert_eq!(http::get(addr, "/any").await.status, 500);
    let overview = http::get(control, "/").await.json();
    let expected = json!({"1xx": 0, "2xx": 1, "3xx": 0, "4xx": 1, "5xx": 1});
    assert_eq!(overview["tools"]["flow"]["responses"], expected, "{overview:#}");
    assert!(overview["load"]["timer_late_p99_ms"].is_number(), "{overview:#}");
}
