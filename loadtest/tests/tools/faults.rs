//! Each fault does what it says, on a connection that has answered before.

use std::io::ErrorKind;
use std::net::SocketAddr;
use std::time::Duration;

use loadtest::tools::{self, Bind, Fault, Kind, Running, Settings};
use serde_json::json;
use shared::tool::Tool;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::http;

const REQUEST: &[u8] = b"POST /any HTTP/1.1\r\nhost: tool\r\ncontent-length: 2\r\n\r\n{}";

async fn striking(kind: Kind) -> (Running, SocketAddr) {
    let running = tools::start(Bind::LOOPBACK).await.unwrap();
    running
        .tool(Tool::Qr)
        .set(Settings { fault: Some(Fault { kind, probes: false }), ..Settings::default() });
    let addr = running.addr(Tool::Qr);
    (running, addr)
}

/// What comes back for a call, byte for byte, and how the connection ended.
async fn struck(kind: Kind) -> (String, Option<ErrorKind>) {
    let (_running, addr) = striking(kind).await;
    let mut stream = TcpStream::connect(addr).await.unwrap();
    stream.write_all(REQUEST).await.unwrap();
    let mut received = Vec::new();
    let ended = timeout(Duration::from_secs(10), stream.read_to_end(&mut received)).await.unwrap();
    (String::from_utf8_lossy(&received).into_owned(), ended.err().map(|fault| fault.kind()))
}

#[tokio::test]
async fn reset_ends_without_a_byte() {
    assert_eq!(struck(Kind::Reset).await, (String::new(), Some(ErrorKind::ConnectionReset)));
}

#[tokio::test]
async fn reset_after_headers_ends_between_head_and_body() {
    let (_running, addr) = striking(Kind::ResetAfterHeaders).await;
    let mut sender = http::connect(addr).await.unwrap();
    // Whether the head is still delivered after a reset is the kernel's choice; the body never is.
    if let Ok(response) = sender.send_request(http::request("GET", "/any", "")).await {
        assert_eq!(response.headers()["content-length"], "1000");
        assert!(http::read(response).await.is_err());
    }
}

#[tokio::test]
async fn half_response_ends_in_order_with_half_of_what_it_promised() {
    let (received, ended) = struck(Kind::HalfResponse).await;
    let (head, body) = received.split_once("\r\n\r\n").unwrap();
    assert!(head.starts_with("HTTP/1.1 200 OK") && head.contains("content-length: 1000"), "{head}");
    assert_eq!((body.len(), ended), (500, None));
}

#[tokio::test]
async fn garbage_is_not_http() {
    let (received, ended) = struck(Kind::Garbage).await;
    assert!(!received.is_empty() && !received.contains("HTTP/1"), "{received:?}");
    assert_eq!(ended, None);
}

#[tokio::test]
async fn hang_sends_nothing_and_keeps_the_connection() {
    let (running, addr) = striking(Kind::Hang).await;
    let mut stream = TcpStream::connect(addr).await.unwrap();
    stream.write_all(REQUEST).await.unwrap();
    let mut byte = [0];
    assert!(timeout(Duration::from_millis(500), stream.read(&mut byte)).await.is_err());
    // Stopping the tool is what ends it.
    running.tool(Tool::Qr).stop().await;
    assert!(!matches!(stream.read(&mut byte).await, Ok(1..)));
}

#[tokio::test]
async fn slow_body_drips_after_a_quick_head() {
    let (_running, addr) = striking(Kind::SlowBody).await;
    let mut stream = TcpStream::connect(addr).await.unwrap();
    stream.write_all(REQUEST).await.unwrap();
    let mut received = Vec::new();
    let all = timeout(Duration::from_millis(900), stream.read_to_end(&mut received)).await;
    assert!(all.is_err(), "it goes on");
    let text = String::from_utf8(received).unwrap();
    let (head, body) = text.split_once("\r\n\r\n").unwrap();
    assert!(head.contains("content-length: 1048576"), "{head}");
    assert!((1..=5).contains(&body.len()), "{body}");
}

#[tokio::test]
async fn huge_headers_exceed_64_kib_and_128_lines() {
    let (received, ended) = struck(Kind::HugeHeaders).await;
    assert!(received.starts_with("HTTP/1.1 200 OK\r\n") && received.ends_with("\r\n\r\n"));
    assert_eq!(ended, None);
    assert!(received.len() > 4 * 65_536);
    assert!(received.lines().count() > 256);
}

#[tokio::test]
async fn a_fault_strikes_open_connections_spares_probes_unless_told_and_can_be_cleared() {
    let running = tools::start(Bind::LOOPBACK).await.unwrap();
    let (control, addr) = (running.control(), running.addr(Tool::Qr));
    let mut open = http::connect(addr).await.unwrap();
    let before = open.send_request(http::request("GET", "/any", "")).await.unwrap();
    assert_eq!(http::read(before).await.unwrap().status, 200);

    let set = http::post(control, "/qr/fault", &json!({ "kind": "reset" })).await;
    assert_eq!(set.json()["fault"], json!({ "kind": "reset", "probes": false }));
    assert!(open.send_request(http::request("GET", "/any", "")).await.is_err());
    assert_eq!(http::get(addr, "/healthz").await.status, 200);

    http::post(control, "/qr/fault", &json!({ "kind": "garbage", "probes": true })).await;
    assert!(http::try_send(addr, http::request("GET", "/healthz", "")).await.is_err());

    for clear in [json!({ "kind": null }), json!(null)] {
        http::post(control, "/qr/fault", &json!({ "kind": "reset" })).await;
        let cleared = http::post(control, "/qr/fault", &clear).await;
        assert_eq!(cleared.json()["fault"], json!(null));
        assert_eq!(http::get(addr, "/any").await.status, 200);
    }
    assert_eq!(running.tool(Tool::Qr).counters().errors, 1);
}
