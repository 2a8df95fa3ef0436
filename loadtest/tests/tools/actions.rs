//! The actions that all tools have.

use std::time::Duration;

use http_body_util::BodyExt;
use loadtest::tools::{self, BindAddress};
use serde_json::json;
use shared::tool::Tool;
use tokio::time::Instant;

use crate::http;

#[tokio::test]
async fn any_action_returns_received_request() {
    let running = tools::start(BindAddress::LOOPBACK).await.unwrap();
    for tool in Tool::ALL {
        let mut request = http::request("POST", "/any-action?a=1&b=%20", r#"{"prompt":"a fox"}"#);
        request.headers_mut().append("X-Twice", "one".parse().unwrap());
        request.headers_mut().append("X-Twice", "two".parse().unwrap());
        let received = http::send(running.addr(tool), request).await.json();
        assert_eq!(received["tool"], tool.as_str());
        assert_eq!(received["action"], "any-action");
        assert_eq!(received["method"], "POST");
        assert_eq!(received["path"], "/any-action");
        assert_eq!(received["query"], "a=1&b=%20");
        assert_eq!(received["headers"]["x-twice"], json!(["one", "two"]));
        assert_eq!(received["headers"]["content-length"], "18");
        assert_eq!(
            received["body"],
            json!({
                "size": 18,
                "sha256": "a36c30abdeb52ed1647ea324dddb6a54b01c373345ee984ffb36aef3dc8d5953",
                "json": { "prompt": "a fox" },
            })
        );
    }
}

#[tokio::test]
async fn large_body_is_digested_but_not_returned() {
    let running = tools::start(BindAddress::LOOPBACK).await.unwrap();
    let body = format!("\"{}\"", "a".repeat(999_998));
    let received = http::send(running.addr(Tool::Pdf), http::request("POST", "/merge", body)).await.json();
    assert_eq!(received["body"]["size"], 1_000_000);
    assert_eq!(received["body"]["json"], json!(null));
}

#[tokio::test]
async fn other_method_is_405_and_other_path_is_404() {
    let running = tools::start(BindAddress::LOOPBACK).await.unwrap();
    let addr = running.addr(Tool::Seo);
    for method in ["PUT", "DELETE", "PATCH", "OPTIONS"] {
        let reply = http::send(addr, http::request(method, "/audit", "")).await;
        assert_eq!((reply.status, reply.header("allow")), (405, "GET, POST"), "{method}");
    }
    for path in ["/", "/a/b", "/a/"] {
        assert_eq!(http::get(addr, path).await.status, 404, "{path}");
    }
}

#[tokio::test]
async fn bytes_returns_n_bytes_with_content_length() {
    let running = tools::start(BindAddress::LOOPBACK).await.unwrap();
    for length in [0, 1, 65_536, 1_000_001] {
        let reply = http::get(running.addr(Tool::Flip), &format!("/bytes?n={length}")).await;
        assert_eq!(reply.header("content-length"), length.to_string());
        assert_eq!(reply.body.len(), length);
    }
    let invalid = http::get(running.addr(Tool::Flip), "/bytes?n=many").await;
    assert_eq!((invalid.status, invalid.json()["code"].as_str()), (400, Some("query-invalid")));
}

/// The clock is paused: it advances only by the timers that the tool waits for.
#[tokio::test(start_paused = true)]
async fn stream_pauses_between_events() {
    let running = tools::start(BindAddress::LOOPBACK).await.unwrap();
    let mut sender = http::connect(running.addr(Tool::Idea)).await.unwrap();
    let start = Instant::now();
    let mut response =
        sender.send_request(http::request("GET", "/stream?chunks=3&pause_ms=150", "")).await.unwrap();
    assert_eq!(response.headers()["content-type"], "text/event-stream");
    let mut events = Vec::new();
    while let Some(frame) = response.body_mut().frame().await {
        let text = String::from_utf8(frame.unwrap().into_data().unwrap().to_vec()).unwrap();
        events.push((text, start.elapsed()));
    }
    let texts: Vec<&str> = events.iter().map(|(text, _)| text.as_str()).collect();
    assert_eq!(
        texts,
        [
            "id: 0\ndata: {\"chunk\":0,\"of\":3}\n\n",
            "id: 1\ndata: {\"chunk\":1,\"of\":3}\n\n",
            "id: 2\ndata: {\"chunk\":2,\"of\":3}\n\n",
        ]
    );
    for ((_, received), pauses) in events.iter().zip(0..) {
        assert!(*received >= Duration::from_millis(150) * pauses, "event {pauses} after {received:?}");
    }
}

#[tokio::test]
async fn status_and_headers_are_as_requested() {
    let running = tools::start(BindAddress::LOOPBACK).await.unwrap();
    let addr = running.addr(Tool::Leads);
    for code in [200, 204, 302, 304, 404, 418, 500, 503] {
        assert_eq!(http::get(addr, &format!("/status?code={code}")).await.status, code);
    }
    for code in ["100", "600", "x"] {
        assert_eq!(http::get(addr, &format!("/status?code={code}")).await.status, 400, "{code}");
    }
    let reply = http::get(addr, "/headers?x-one=1&set-cookie=a%3D1&set-cookie=b%3D2").await;
    assert_eq!(reply.header("x-one"), "1");
    assert_eq!(reply.headers.get_all("set-cookie").iter().collect::<Vec<_>>(), ["a=1", "b=2"]);
}

#[tokio::test]
async fn echo_returns_body_type_encoding_and_length() {
    let running = tools::start(BindAddress::LOOPBACK).await.unwrap();
    let body: Vec<u8> = (0..=255).cycle().take(300_000).collect();
    let mut request = http::request("POST", "/echo", body.clone());
    request.headers_mut().insert("content-type", "application/x-any".parse().unwrap());
    request.headers_mut().insert("content-encoding", "gzip".parse().unwrap());
    let reply = http::send(running.addr(Tool::Narrate), request).await;
    assert_eq!(reply.header("content-type"), "application/x-any");
    assert_eq!(reply.header("content-encoding"), "gzip");
    assert_eq!(reply.header("content-length"), "300000");
    assert_eq!(reply.body, body);
}

/// The clock is paused: it advances only by the timers that the tool waits for.
#[tokio::test(start_paused = true)]
async fn slow_delays_response() {
    let running = tools::start(BindAddress::LOOPBACK).await.unwrap();
    let mut sender = http::connect(running.addr(Tool::Learn)).await.unwrap();
    let start = Instant::now();
    let response = sender.send_request(http::request("GET", "/slow?ms=200", "")).await.unwrap();
    assert_eq!(http::read(response).await.unwrap().json()["action"], "slow");
    assert!(start.elapsed() >= Duration::from_millis(200));
}
