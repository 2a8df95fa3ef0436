//! What passes through, in both directions, and what does not.

use serde_json::json;
use tests::{http::Request, stack::Stack};

#[test]
fn a_tool_sees_whose_call_it_is_and_no_credential() {
    let stack = Stack::start();
    let (key, id) = stack.edge.issue("pro");
    let answer = Request::post("/v1/leads/enrich?a=b%20c&d", &json!({ "x": 1 }))
        .key(&key)
        .header("Cookie", "session=hush")
        .header("Authorization", "Bearer hush")
        .header("X-Gateway-Tier", "enterprise")
        .header("X-Forwarded-For", "192.0.2.1")
        .header("X-Custom", "kept")
        .send(stack.edge.addr);
    assert_eq!(answer.status, 200, "{}", answer.text());
    let seen = answer.json();
    let headers = &seen["headers"];
    assert_eq!(headers["x-gateway-key-id"], json!(id));
    assert_eq!(headers["x-gateway-tier"], "pro");
    assert_eq!(headers["x-custom"], "kept");
    assert_eq!(headers["x-request-id"].as_str(), answer.header("x-request-id"));
    let names: Vec<_> = headers.as_object().unwrap().keys().cloned().collect();
    for name in ["x-api-key", "cookie", "authorization", "x-gateway-grant", "x-forwarded-for"] {
        assert!(!names.iter().any(|own| own == name), "{name} reached the tool: {names:?}");
    }
    assert!(!answer.text().contains("hush"));
    assert_eq!(seen["query"], json!("a=b%20c&d"));
}

#[test]
fn a_large_body_streams_through_whole() {
    let stack = Stack::start();
    let (key, _) = stack.edge.issue("free");
    let body = format!("\"{}\"", "a".repeat(4 * 1024 * 1024));
    let answer = Request::new("POST", "/v1/flip/echo")
        .key(&key)
        .header("Content-Type", "application/json")
        .body(body.as_str())
        .send(stack.edge.addr);
    assert_eq!((answer.status, answer.body.len()), (200, body.len()));
    assert!(answer.body == body.as_bytes());
}

#[test]
fn a_stated_length_and_a_stream_of_events_survive_the_passage() {
    let stack = Stack::start();
    let (key, _) = stack.edge.issue("free");
    let bytes = Request::get("/v1/image/bytes?n=100000").key(&key).send(stack.edge.addr);
    assert_eq!((bytes.header("content-length"), bytes.body.len()), (Some("100000"), 100_000));
    let stream = Request::get("/v1/narrate/stream").key(&key).send(stack.edge.addr);
    assert_eq!(stream.header("content-type"), Some("text/event-stream"));
    assert!(stream.text().contains("data:"));
}

#[test]
fn an_origin_that_refuses_connections_is_passed_over() {
    let stack = Stack::start();
    let origins = format!("http://127.0.0.1:9,{}", stack.proxy.url());
    let edge = tests::stack::Edge::start(&origins);
    let (key, _) = edge.issue("free");
    for _ in 0..2 {
        let answer = Request::post("/v1/seo/analyze", &json!({ "x": 1 })).key(&key).send(edge.addr);
        assert_eq!(answer.status, 200, "{}", answer.text());
        assert!(answer.text().contains("\"x\""));
    }
}

#[test]
fn without_any_origin_a_call_is_503_and_says_when_to_come_back() {
    let edge = tests::stack::Edge::start("http://127.0.0.1:9");
    let (key, _) = edge.issue("free");
    let answer = Request::get("/v1/seo/analyze").key(&key).send(edge.addr);
    assert_eq!((answer.status, answer.code().as_str()), (503, "tool-unavailable"));
    assert!(answer.header("retry-after").is_some() && answer.header("proxy-status").is_some());
}
