//! Headers and bodies that pass through edge and proxy, and those that do not.

use serde_json::json;
use tests::{
    http::Request,
    stack::{Edge, Stack, shared_origin},
};

#[test]
fn tool_gets_key_id_and_tier_and_no_credential() {
    let stack = Stack::shared();
    let (key, id) = stack.edge.issue("pro");
    let response = Request::post("/v1/leads/enrich?a=b%20c&d", &json!({ "x": 1 }))
        .key(&key)
        .header("Cookie", "session=hush")
        .header("Authorization", "Bearer hush")
        .header("X-Gateway-Tier", "enterprise")
        .header("X-Forwarded-For", "192.0.2.1")
        .header("X-Custom", "kept")
        .send(stack.edge.addr);
    assert_eq!(response.status, 200, "{}", response.text());
    let seen = response.json();
    let headers = &seen["headers"];
    assert_eq!(headers["x-gateway-key-id"], json!(id));
    assert_eq!(headers["x-gateway-tier"], "pro");
    assert_eq!(headers["x-custom"], "kept");
    assert_eq!(headers["x-request-id"].as_str(), response.header("x-request-id"));
    let names: Vec<_> = headers.as_object().unwrap().keys().cloned().collect();
    for name in ["x-api-key", "cookie", "authorization", "x-gateway-grant", "x-forwarded-for"] {
        assert!(!names.iter().any(|own| own == name), "{name} reached the tool: {names:?}");
    }
    assert!(!response.text().contains("hush"));
    assert_eq!(seen["query"], json!("a=b%20c&d"));
}

#[test]
fn large_body_streams_through_whole() {
    let stack = Stack::shared();
    let (key, _) = stack.edge.issue("free");
    let body = format!("\"{}\"", "a".repeat(4 * 1024 * 1024));
    let response = Request::new("POST", "/v1/flip/echo")
        .key(&key)
        .header("Content-Type", "application/json")
        .body(body.as_str())
        .send(stack.edge.addr);
    assert_eq!((response.status, response.body.len()), (200, body.len()));
    assert!(response.body == body.as_bytes());
}

#[test]
fn content_length_and_event_stream_pass_unchanged() {
    let stack = Stack::shared();
    let (key, _) = stack.edge.issue("free");
    let bytes = Request::get("/v1/image/bytes?n=100000").key(&key).send(stack.edge.addr);
    assert_eq!((bytes.header("content-length"), bytes.body.len()), (Some("100000"), 100_000));
    let stream = Request::get("/v1/narrate/stream").key(&key).send(stack.edge.addr);
    assert_eq!(stream.header("content-type"), Some("text/event-stream"));
    assert!(stream.text().contains("data:"));
}

#[test]
fn refusing_origin_is_passed_over() {
    let origins = format!("http://127.0.0.1:9,{}", shared_origin());
    let edge = Edge::start(&origins);
    let (key, _) = edge.issue("free");
    for _ in 0..2 {
        let response = Request::post("/v1/seo/analyze", &json!({ "x": 1 })).key(&key).send(edge.addr);
        assert_eq!(response.status, 200, "{}", response.text());
        assert!(response.text().contains("\"x\""));
    }
}

#[test]
fn call_without_an_origin_is_503_with_retry_after() {
    let edge = Edge::shared();
    let (key, _) = edge.issue("free");
    let response = Request::get("/v1/seo/analyze").key(&key).send(edge.addr);
    assert_eq!((response.status, response.code().as_str()), (503, "tool-unavailable"));
    assert!(response.header("retry-after").is_some() && response.header("proxy-status").is_some());
}
