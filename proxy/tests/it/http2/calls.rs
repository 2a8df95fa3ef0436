//! Requests and responses over HTTP/2.

use std::time::Duration;

use bytes::Bytes;
use futures_util::future::join_all;
use h2::Reason;
use shared::tool::Tool;
use tokio::time::timeout;

use tests::{
    FakeTool, PATIENCE, Request, ToolBehavior,
    grant::{call, post},
    http2::{
        self, Http2Client,
        frames::{Frames, HEADERS, RST_STREAM, data, head, literal, open, repeated, stored, trailers},
    },
    proxy::ProxyConfig,
    tls::{Authority, NAME, TempFiles, TlsClient},
    until,
};

use super::*;

#[tokio::test]
async fn http2_call_has_the_response_of_an_http1_call() {
    let (authority, folder) = (Authority::generate(), TempFiles::create());
    let tool = FakeTool::start(ToolBehavior::Describe).await;
    let config = ProxyConfig::new()
        .tool(Tool::Qr, &[&tool])
        .section("server.tls", &folder.server(&authority.identity(NAME)));
    let proxy = config.ready().await;
    let client = Http2Client::over_tls(TlsClient::new(&authority), proxy.listen).await;
    let response = client.send(&call("GET", "/v1/qr/generate?a=b%20c").header("X-Mine", "yes")).await;
    let said = response.json();
    assert_eq!((response.status, said["target"].as_str()), (200, Some("/generate?a=b%20c")));
    assert_eq!(said["headers"]["host"], tool.address.to_string());
    assert_eq!(said["headers"]["x-mine"], "yes");
    assert_eq!(said["headers"]["x-gateway-grant"], serde_json::Value::Null);
    assert_eq!(said["headers"]["x-request-id"].as_str(), response.header("x-request-id"));
    assert!(response.header("connection").is_none() && response.header("x-tool") == Some("yes"));
    for length in [0, 1, 5_000, 70_000, 1_000_000] {
        let body = format!("\"{}\"", "a".repeat(length));
        let response = client.send(&post("/v1/qr/generate", &body)).await;
        assert_eq!((response.status, response.json()["body"].as_str()), (200, Some(body.as_str())));
    }
    let many = join_all((0..50).map(|_| async { client.send(&post("/v1/qr/generate", "{}")).await.status }));
    assert_eq!(many.await, [200; 50]);
    assert!(proxy.metric(r#"utg_calls_total{status="2xx",tier="pro",tool="qr"}"#).await == Some(56.0));
    until("each has its line", || async { proxy.output().matches("\"tool\":\"qr\"").count() == 56 }).await;
    // A client without ALPN gets HTTP/1.1.
    let mut other = TlsClient::new(&authority).connect(proxy.listen).await;
    other.write(&call("GET", "/v1/qr/generate").bytes()).await;
    assert_eq!(other.response("GET").await.expect("a response").status, 200);
}

#[tokio::test]
async fn body_without_a_length_passes_whole_in_both_directions() {
    let (tool, proxy) = h2c(ToolBehavior::Describe, "").await;
    let client = Http2Client::prior_knowledge(proxy.listen).await;
    let request = call("POST", "/v1/qr/generate").header("Content-Type", "application/json");
    let (response, mut body) = client.begin(&request).await;
    for piece in ["\"one ", "two ", "", "three\""] {
        body.send_data(Bytes::from(piece), false).unwrap();
        tokio::task::yield_now().await;
    }
    body.send_data(Bytes::new(), true).unwrap();
    let response = http2::read(response, false).await.unwrap();
    assert_eq!(response.json()["body"], "\"one two three\"");
    for said in [
        &b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\none \r\n3;a=1\r\ntwo\r\n0\r\n\r\n"[..],
        b"HTTP/1.0 200 OK\r\n\r\none two",
    ] {
        tool.set(ToolBehavior::RespondAndClose(said.to_vec()));
        let response = client.send(&call("GET", "/v1/qr/generate")).await;
        assert_eq!((response.body.as_slice(), response.complete), (&b"one two"[..], true));
    }
    for said in [
        &b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n"[..],
        b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf",
    ] {
        tool.set(ToolBehavior::RespondAndClose(said.to_vec()));
        let response = client.send(&call("GET", "/v1/qr/generate")).await;
        assert_eq!(
            (response.status, response.complete),
            (200, false),
            "what breaks off does not look complete"
        );
    }
    tool.set(ToolBehavior::Respond(b"HTTP/1.1 204 No Content\r\n\r\n".to_vec()));
    assert_eq!(client.send(&call("GET", "/v1/qr/generate")).await.status, 204);
}

/// Returns requests that are refused, with the reason. Each of those with a grant has its own.
fn refused() -> Vec<(&'static str, Request)> {
    let filled =
        |lines: usize| (0..lines).fold(get("/v1/qr/a"), |request, n| request.header(&format!("x-{n}"), "b"));
    vec![
        ("no grant", get("/v1/qr/a")),
        ("no such tool", get("/v1/qrcode/a")),
        ("another method", Request::new("DELETE", "/v1/qr/a")),
        ("an underscore", call("GET", "/v1/qr/a").header("a_b", "c")),
        ("two keys", call("GET", "/v1/qr/a").header("x-api-key", "a").header("x-api-key", "b")),
        ("a comma in the key", call("GET", "/v1/qr/a").header("x-api-key", "a,b")),
        ("a second host", call("GET", "/v1/qr/a").header("host", "other.test")),
        ("two grants", call("GET", "/v1/qr/a").header("x-gateway-grant", "a")),
        ("another expectation", call("GET", "/v1/qr/a").header("expect", "a")),
        ("a dot segment", get("/v1/qr/..")),
        ("an encoded slash", get("/v1/qr/a%2Fb")),
        ("two slashes", get("//v1/qr/a")),
        ("a long target", get(&format!("/v1/qr/a?{}", "a".repeat(8_192)))),
        ("many lines", filled(140)),
        ("large headers", get("/v1/qr/a").header("x-a", &"b".repeat(66_000))),
        ("another type", call("POST", "/v1/qr/a").header("Content-Type", "text/plain").body(b"a")),
        ("two types", post("/v1/qr/a", "{}").header("content-type", "a/b")),
        (
            "a stated body that is too large",
            call("POST", "/v1/qr/a")
                .header("content-type", "application/json")
                .header("content-length", "99999999999"),
        ),
        ("a body for a route that has none", Request::new("POST", "/healthz").json("{}")),
    ]
}

#[tokio::test]
async fn http2_refusal_has_status_and_code_of_http1() {
    let (_tool, proxy) = h2c(ToolBehavior::Describe, "").await;
    let client = Http2Client::prior_knowledge(proxy.listen).await;
    for ((why, request), (_, again)) in refused().into_iter().zip(refused()) {
        let old = proxy.send(again).await;
        let new = match why {
            "a stated body that is too large" => {
                http2::read(client.begin(&request).await.0, false).await.unwrap()
            }
            _ => client.send(&request).await,
        };
        assert_eq!((new.status, new.problem()), (old.status, old.problem()), "{why}");
        assert!(!client.is_closed(), "{why}: it ends the request and not the connection");
    }
    assert_eq!(client.send(&get("/healthz")).await.status, 200);
    // The library refuses even larger headers itself.
    let beyond = get("/v1/qr/a").header("x-a", &"b".repeat(50_000)).header("x-c", &"b".repeat(50_000));
    assert_eq!(client.send(&beyond).await.status, 431);
}

#[tokio::test]
async fn growing_body_over_the_limit_is_413_body_too_large() {
    let (_tool, proxy) = h2c(ToolBehavior::Describe, "").await;
    let client = Http2Client::prior_knowledge(proxy.listen).await;
    let request = call("POST", "/v1/qr/a").header("content-type", "application/json");
    let (response, mut body) = client.begin(&request).await;
    body.send_data(vec![b'a'; 11 << 20].into(), true).unwrap();
    let response = http2::read(response, false).await.unwrap();
    assert_eq!((response.status, response.problem().as_str()), (413, "body-too-large"));
}

#[tokio::test]
async fn stalled_upload_is_408_request_timeout() {
    let (_tool, proxy) = short_timeouts(ToolBehavior::Describe).await;
    let client = Http2Client::prior_knowledge(proxy.listen).await;
    let request = || call("POST", "/v1/qr/generate").header("content-type", "application/json");
    for request in [request(), request().header("content-length", "10")] {
        let (response, mut body) = client.begin(&request).await;
        body.send_data(Bytes::from_static(b"half"), false).unwrap();
        let response = http2::read(response, false).await.unwrap();
        assert_eq!((response.status, response.problem().as_str()), (408, "request-timeout"));
    }
}

#[tokio::test]
async fn slow_upload_does_not_use_up_the_answer_timeout() {
    let (_tool, proxy) = short_timeouts(ToolBehavior::Describe).await;
    let client = Http2Client::prior_knowledge(proxy.listen).await;
    let request = call("POST", "/v1/qr/generate").header("content-type", "application/json");
    let (response, mut body) = client.begin(&request).await;
    // More than the 1,024 bytes a second that every upload needs.
    let piece = "1".repeat(300);
    for _ in 0..10 {
        // Fault timing: the whole upload takes longer than `answer_timeout`.
        tokio::time::sleep(Duration::from_millis(100)).await;
        body.send_data(Bytes::from(piece.clone()), false).unwrap();
    }
    body.send_data(Bytes::new(), true).unwrap();
    assert_eq!(http2::read(response, false).await.unwrap().json()["body"], piece.repeat(10));
}

#[tokio::test]
async fn silent_tool_is_503_and_stalled_response_is_cut() {
    let (tool, proxy) = short_timeouts(ToolBehavior::Wait).await;
    let client = Http2Client::prior_knowledge(proxy.listen).await;
    for request in [call("GET", "/v1/qr/generate"), post("/v1/qr/generate", "{}")] {
        let response = client.send(&request).await;
        assert_eq!((response.status, response.problem().as_str()), (503, "tool-timeout"));
        assert_eq!(response.header("proxy-status"), Some("utg-proxy; error=http_response_timeout"));
    }
    tool.set(ToolBehavior::Respond(b"HTTP/1.1 200 OK\r\nContent-Length: 12\r\n\r\nhalf".to_vec()));
    let response = client.send(&call("GET", "/v1/qr/generate")).await;
    assert_eq!((response.status, response.complete), (200, false));
    let said = b"HTTP/1.1 200 OK\r\nContent-Length: 12\r\n\r\n".to_vec();
    tool.set(ToolBehavior::RespondAndDrip(said, b"abcdefghijkl".to_vec(), Duration::from_millis(60)));
    let response = client.send(&call("GET", "/v1/qr/generate")).await;
    assert_eq!((response.complete, response.body.len()), (true, 12), "a response that progresses is not cut");
}

#[tokio::test]
async fn unread_response_is_reset_and_its_connection_stays_open() {
    let (tool, proxy) = h2c(ToolBehavior::Describe, "idle_timeout = \"1s\"").await;
    let mut large = b"HTTP/1.1 200 OK\r\nContent-Length: 5000000\r\n\r\n".to_vec();
    large.resize(large.len() + 5_000_000, b'a');
    tool.set(ToolBehavior::Respond(large));
    let client = Http2Client::prior_knowledge(proxy.listen).await;
    let (response, mut body) = client.begin(&call("GET", "/v1/qr/generate")).await;
    body.send_data(Bytes::new(), true).unwrap();
    let response = response.await.unwrap();
    assert_eq!(response.status(), 200);
    let mut stream = response.into_body();
    let in_flight = r#"utg_calls_in_flight{tool="qr"}"#;
    until("its call is in flight", || async { proxy.metric(in_flight).await == Some(1.0) }).await;
    until("its call is canceled", || async { proxy.metric(in_flight).await == Some(0.0) }).await;
    let mut end = None;
    while let Some(data) = timeout(PATIENCE, stream.data()).await.expect("an end in time") {
        match data {
            Ok(data) => stream.flow_control().release_capacity(data.len()).unwrap(),
            Err(error) => {
                end = Some(error);
                break;
            }
        }
    }
    let end = end.expect("a reset");
    assert_eq!(end.reason(), Some(Reason::INTERNAL_ERROR), "{end:?}");
    tool.set(ToolBehavior::Describe);
    assert_eq!(client.send(&call("GET", "/v1/qr/generate")).await.status, 200);
}

#[tokio::test]
async fn canceled_request_frees_its_slot() {
    let (tool, proxy) = h2c(ToolBehavior::Wait, "").await;
    let in_flight = r#"utg_calls_in_flight{tool="qr"}"#;
    let client = Http2Client::prior_knowledge(proxy.listen).await;
    for over in [true, false] {
        let (response, mut body) =
            client.begin(&call("POST", "/v1/qr/a").header("content-type", "application/json")).await;
        // More than the buffer holds, so that the call takes a slot.
        body.send_data(vec![b'a'; 80 << 10].into(), over).unwrap();
        until("the call is in flight", || async { proxy.metric(in_flight).await == Some(1.0) }).await;
        body.send_reset(Reason::CANCEL);
        drop(response);
        until("its slot is free", || async { proxy.metric(in_flight).await == Some(0.0) }).await;
    }
    let (response, mut body) = client.begin(&call("GET", "/v1/qr/a")).await;
    body.send_data(Bytes::new(), true).unwrap();
    until("the call is in flight", || async { proxy.metric(in_flight).await == Some(1.0) }).await;
    drop((response, body, client));
    until("its slot is free", || async { proxy.metric(in_flight).await == Some(0.0) }).await;
    tool.release();
}

#[tokio::test]
async fn expectation_gets_100_continue() {
    let (_tool, proxy) = h2c(ToolBehavior::Describe, "").await;
    let client = Http2Client::prior_knowledge(proxy.listen).await;
    let request =
        call("POST", "/v1/qr/a").header("content-type", "application/json").header("expect", "100-continue");
    let (mut response, mut body) = client.begin(&request).await;
    let interim = std::future::poll_fn(|context| response.poll_informational(context)).await;
    assert_eq!(interim.expect("an interim response").unwrap().status().as_u16(), 100);
    body.send_data(Bytes::from_static(b"{}"), true).unwrap();
    assert_eq!(http2::read(response, false).await.unwrap().json()["body"], "{}");
}

/// Pseudo-headers are malformed in trailers (RFC 9113, section 8.1), also if the request would be
/// refused, and however they are encoded. Other trailers are dropped.
#[tokio::test]
async fn pseudo_header_in_trailers_resets_the_stream() {
    let (tool, proxy) = h2c(ToolBehavior::Describe, "").await;
    let mut client = Frames::connect(proxy.listen, 1 << 20).await;
    let json = || call("POST", "/v1/qr/generate").header("Content-Type", "application/json");
    let [stored, indexed] = [stored(":path", "/healthz"), repeated(1)];
    let blocks = [vec![0x82], literal(":status", "200"), stored, indexed];
    let mut stream = 1;
    for block in &blocks {
        client.write(&[open(stream, &json()), data(stream, b"{}"), trailers(stream, block)].concat()).await;
        let frame = client.next_of_stream().await.expect("a frame");
        assert_eq!((frame.kind, frame.stream, &frame.payload[..]), (RST_STREAM, stream, &[0, 0, 0, 1][..]));
        stream += 2;
    }
    let plain = literal("x-sum", ":path");
    client.write(&[open(stream, &json()), data(stream, b"{}"), trailers(stream, &plain)].concat()).await;
    let head = client.next_of_stream().await.expect("a frame");
    assert_eq!((head.kind, head.stream), (HEADERS, stream));
    assert_eq!(tool.calls(), 1);
    assert!(!tool.received()[0].contains("x-sum"));
}

/// As HTTP/1.1 it could be read as a target in absolute form.
#[tokio::test]
async fn path_that_is_a_url_resets_the_stream() {
    let (_tool, proxy) = h2c(ToolBehavior::Describe, "").await;
    let mut client = Frames::connect(proxy.listen, 1 << 20).await;
    for (stream, target) in [(1, "http://other.test/healthz"), (3, "healthz")] {
        client.write(&head(stream, &get(target), &[])).await;
        let frame = client.next_of_stream().await.expect("a frame");
        assert_eq!((frame.kind, frame.stream, &frame.payload[..]), (RST_STREAM, stream, &[0, 0, 0, 1][..]));
    }
}
