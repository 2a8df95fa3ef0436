//! The injected faults, byte by byte.

use std::io::ErrorKind;
use std::net::SocketAddr;
use std::time::Duration;

use loadtest::tools::{self, BindAddress, Fault, FaultKind, RunningTools, Settings};
use serde_json::json;
use shared::tool::Tool;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::{Instant, timeout};

use crate::http;

const REQUEST: &[u8] = b"POST /any HTTP/1.1\r\nhost: tool\r\ncontent-length: 2\r\n\r\n{}";

/// Starts the tools with a fault on `qr`.
async fn start_faulty(kind: FaultKind) -> (RunningTools, SocketAddr) {
    let running = tools::start(BindAddress::LOOPBACK).await.unwrap();
    running
        .tool(Tool::Qr)
        .set(Settings { fault: Some(Fault { kind, probes: false }), ..Settings::default() });
    let addr = running.addr(Tool::Qr);
    (running, addr)
}

/// Makes a call. Returns the received bytes and the error that ended the connection, if any.
async fn call_faulty(kind: FaultKind) -> (String, Option<ErrorKind>) {
    let (_running, addr) = start_faulty(kind).await;
    let mut stream = TcpStream::connect(addr).await.unwrap();
    stream.write_all(REQUEST).await.unwrap();
    let mut received = Vec::new();
    let ended = timeout(Duration::from_secs(10), stream.read_to_end(&mut received)).await.unwrap();
    (String::from_utf8_lossy(&received).into_owned(), ended.err().map(|error| error.kind()))
}

#[tokio::test]
async fn reset_sends_nothing() {
    assert_eq!(call_faulty(FaultKind::Reset).await, (String::new(), Some(ErrorKind::ConnectionReset)));
}

#[tokio::test]
async fn reset_after_headers_sends_no_body() {
    let (_running, addr) = start_faulty(FaultKind::ResetAfterHeaders).await;
    let mut sender = http::connect(addr).await.unwrap();
    // The kernel may or may not deliver the head after a reset, but never a body.
    if let Ok(response) = sender.send_request(http::request("GET", "/any", "")).await {
        assert_eq!(response.headers()["content-length"], "1000");
        assert!(http::read(response).await.is_err());
    }
}

#[tokio::test]
async fn half_response_closes_after_500_bytes() {
    let (received, ended) = call_faulty(FaultKind::HalfResponse).await;
    let (head, body) = received.split_once("\r\n\r\n").unwrap();
    assert!(head.starts_with("HTTP/1.1 200 OK") && head.contains("content-length: 1000"), "{head}");
    assert_eq!((body.len(), ended), (500, None));
}

#[tokio::test]
async fn garbage_is_not_http() {
    let (received, ended) = call_faulty(FaultKind::Garbage).await;
    assert!(!received.is_empty() && !received.contains("HTTP/1"), "{received:?}");
    assert_eq!(ended, None);
}

#[tokio::test]
async fn hang_sends_nothing_and_keeps_the_connection() {
    let (running, addr) = start_faulty(FaultKind::Hang).await;
    let mut stream = TcpStream::connect(addr).await.unwrap();
    stream.write_all(REQUEST).await.unwrap();
    let mut byte = [0];
    assert!(timeout(Duration::from_millis(500), stream.read(&mut byte)).await.is_err());
    // Only stopping the tool closes the connection.
    running.tool(Tool::Qr).stop().await;
    assert!(!matches!(stream.read(&mut byte).await, Ok(1..)));
}

/// The clock is paused: it advances only by the pauses between bytes.
#[tokio::test(start_paused = true)]
async fn slow_body_sends_a_byte_every_200_ms() {
    let (_running, addr) = start_faulty(FaultKind::SlowBody).await;
    let mut stream = TcpStream::connect(addr).await.unwrap();
    stream.write_all(REQUEST).await.unwrap();
    let mut received = Vec::new();
    while !received.ends_with(b"\r\n\r\n") {
        received.push(stream.read_u8().await.unwrap());
    }
    let head = String::from_utf8(received).unwrap();
    assert!(head.contains("content-length: 1048576"), "{head}");
    let start = Instant::now();
    let mut body = [0; 5];
    stream.read_exact(&mut body).await.unwrap();
    assert_eq!(&body, b".....");
    assert!(start.elapsed() >= 3 * Duration::from_millis(200));
}

#[tokio::test]
async fn huge_headers_exceed_256_kib_and_256_lines() {
    let (received, ended) = call_faulty(FaultKind::HugeHeaders).await;
    assert!(received.starts_with("HTTP/1.1 200 OK\r\n") && received.ends_with("\r\n\r\n"));
    assert_eq!(ended, None);
    assert!(received.len() > 4 * 65_536);
    assert!(received.lines().count() > 256);
}

#[tokio::test]
async fn fault_applies_to_open_connections_until_cleared() {
    let running = tools::start(BindAddress::LOOPBACK).await.unwrap();
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
