//! Request and response bodies: limits, media types, `Expect`.

use shared::tool::Tool;

use tests::{
    Client, FakeTool, Request, ToolBehavior,
    grant::{call, post, upload},
    proxy::{Proxy, ProxyConfig},
    until,
};

async fn limited() -> (FakeTool, Proxy) {
    let tool = FakeTool::start(ToolBehavior::Describe).await;
    let config = ProxyConfig::new().tool(Tool::Qr, &[&tool]).pool_line(Tool::Qr, "max_body = \"1KiB\"");
    (tool, config.ready().await)
}

fn chunked(chunks: &[usize]) -> Vec<u8> {
    let request = call("POST", "/v1/qr/generate")
        .header("Content-Type", "application/json")
        .header("Transfer-Encoding", "chunked");
    let mut bytes = request.bytes();
    for &size in chunks {
        bytes.extend_from_slice(format!("{size:x}\r\n").as_bytes());
        bytes.extend_from_slice(&b"a".repeat(size));
        bytes.extend_from_slice(b"\r\n");
    }
    bytes.extend_from_slice(b"0\r\n\r\n");
    bytes
}

#[tokio::test]
async fn declared_body_over_the_limit_is_413_before_it_is_read() {
    let (tool, proxy) = limited().await;
    let mut client = Client::connect(proxy.listen).await;
    let request = upload("/v1/qr/generate", 1_025);
    client.write(&request.bytes()).await;
    // No byte of the body is sent, and the response arrives.
    let response = client.response("POST").await.unwrap();
    assert_eq!((response.status, response.problem().as_str()), (413, "body-too-large"));
    assert_eq!(tool.calls(), 0);
    let exactly = proxy.send(post("/v1/qr/generate", &"a".repeat(1024))).await;
    assert_eq!(exactly.json()["length"], 1024);
}

#[tokio::test]
async fn chunked_body_over_the_limit_is_413() {
    let (_tool, proxy) = limited().await;
    let mut client = Client::connect(proxy.listen).await;
    client.try_write(&chunked(&[1000, 1000, 1000])).await;
    let response = client.response("POST").await.unwrap();
    assert_eq!((response.status, response.problem().as_str()), (413, "body-too-large"));
    let mut client = Client::connect(proxy.listen).await;
    client.write(&chunked(&[1000, 24])).await;
    assert_eq!(client.response("POST").await.unwrap().json()["length"], 1024);
}

/// Returns a POST whose body begins with these bytes, in chunks.
fn in_chunks(body: &[u8]) -> Vec<u8> {
    let request = call("POST", "/v1/qr/generate")
        .header("Content-Type", "application/json")
        .header("Transfer-Encoding", "chunked");
    [&request.bytes(), body].concat()
}

#[tokio::test]
async fn chunk_size_over_the_limit_is_413_before_its_data() {
    let (tool, proxy) = limited().await;
    for size in ["401\r\n", "ffffffffffffffff\r\n", "3e8\r\n"] {
        let first = [&b"19\r\n"[..], &[b'a'; 25], b"\r\n"].concat();
        let mut client = Client::connect(proxy.listen).await;
        client.write(&in_chunks(&[&first, size.as_bytes()].concat())).await;
        let response = client.response("POST").await.unwrap();
        assert_eq!((response.status, response.problem().as_str()), (413, "body-too-large"), "{size}");
    }
    assert_eq!(tool.calls(), 0);
}

/// The size comes after the part of a body that is buffered before the tool gets it.
#[tokio::test]
async fn chunk_size_over_the_limit_in_a_streamed_body_is_413() {
    let tool = FakeTool::start(ToolBehavior::Describe).await;
    let proxy = ProxyConfig::new().tool(Tool::Qr, &[&tool]).ready().await;
    let long = format!("{:x}\r\n{}\r\nffffffffffffffff\r\n", 200_000, "a".repeat(200_000));
    let mut client = Client::connect(proxy.listen).await;
    client.write(&in_chunks(long.as_bytes())).await;
    let response = client.response("POST").await.unwrap();
    assert_eq!((response.status, response.problem().as_str()), (413, "body-too-large"));
}

#[tokio::test]
async fn malformed_chunk_is_400() {
    let (tool, proxy) = limited().await;
    for body in [
        "5\x0c\r\nhello\r\n0\r\n\r\n",
        "5;a=\0b\r\nhello\r\n0\r\n\r\n",
        "5;a=\x7f\r\nhello\r\n0\r\n\r\n",
        "\r\nhello\r\n0\r\n\r\n",
        "0\r\nX-Sum: \0\r\n\r\n",
        "0\r\nGET /healthz HTTP/1.1\r\n\r\n",
    ] {
        let mut client = Client::connect(proxy.listen).await;
        client.write(&in_chunks(body.as_bytes())).await;
        let response = client.response("POST").await.unwrap();
        assert_eq!((response.status, response.problem().as_str()), (400, "header-malformed"), "{body:?}");
    }
    assert_eq!(tool.calls(), 0);
}

#[tokio::test]
async fn refused_long_upload_gets_its_response_and_no_reset() {
    let (_tool, proxy) = limited().await;
    for _ in 0..20 {
        let mut client = Client::connect(proxy.listen).await;
        let request = call("POST", "/v1/qr/generate").json(&"a".repeat(600_000));
        client.try_write(&request.bytes()).await;
        assert_eq!(client.response("POST").await.expect("a response, no reset").status, 413);
    }
}

/// A client that sends its whole body before it reads gets each kind of refusal, unless the body is
/// larger than the limit of the pool plus 1 MiB.
#[tokio::test]
async fn refused_upload_is_drained_and_its_response_arrives() {
    let tool = FakeTool::start(ToolBehavior::Describe).await;
    let config = ProxyConfig::new().tool(Tool::Qr, &[&tool]).tool(Tool::Pdf, &[&tool]);
    let proxy = config.pool_line(Tool::Pdf, "max_body = \"20MiB\"").ready().await;
    let long = |request: Request, mebibytes: usize| request.json(&"a".repeat(mebibytes << 20));
    let text = |request: Request| request.header("Content-Type", "text/plain").body(b"a".repeat(9 << 20));
    for (request, status) in [
        (long(Request::new("POST", "/v1/qr/generate"), 9), 401),
        (long(Request::new("POST", "/v1/pdf/merge"), 19), 401),
        (long(Request::new("POST", "/v2/nothing"), 9), 404),
        (long(Request::new("PUT", "/v1/qr/generate"), 9), 405),
        (long(Request::new("POST", "/v1/qr/generate").header("Transfer-Encoding", "gzip"), 9), 400),
        (long(call("POST", "/v1/qr/generate"), 11), 413),
        (text(call("POST", "/v1/qr/generate")), 415),
    ] {
        let mut client = Client::connect(proxy.listen).await;
        assert!(client.try_write(&request.bytes()).await, "{status}: the whole body is taken");
        let response = client.response("POST").await.expect("a response, no reset");
        assert_eq!((response.status, response.complete), (status, true), "{response:?}");
        assert!(client.is_closed().await);
    }
    assert_eq!(tool.calls(), 0);
}

/// A body is drained up to that size only.
#[tokio::test]
async fn refused_upload_without_end_is_cut_off() {
    let (_tool, proxy) = limited().await;
    let mut client = Client::connect(proxy.listen).await;
    let request = Request::new("POST", "/v1/qr/generate").header("Transfer-Encoding", "chunked");
    client.write(&request.bytes()).await;
    let chunk = [&b"10000\r\n"[..], &[b'a'; 65_536], b"\r\n"].concat();
    let mut sent = 0;
    while client.try_write(&chunk).await {
        sent += chunk.len();
        assert!(sent < 64 << 20, "{sent} bytes were taken");
    }
}

#[tokio::test]
async fn media_type_other_than_json_needs_accept() {
    let tool = FakeTool::start(ToolBehavior::Describe).await;
    let config = ProxyConfig::new().tool(Tool::Qr, &[&tool]).tool(Tool::Transcribe, &[&tool]);
    let proxy = config.pool_line(Tool::Transcribe, "accept = [\"audio/*\"]").ready().await;
    let audio = |target| call("POST", target).header("Content-Type", "audio/ogg").body(b"abc");
    let refused = proxy.send(audio("/v1/qr/generate")).await;
    assert_eq!((refused.status, refused.problem().as_str()), (415, "media-type-unsupported"));
    assert_eq!(refused.header("accept"), Some("application/json"));
    assert_eq!(proxy.send(audio("/v1/transcribe/start")).await.json()["body"], "abc");
    assert_eq!(proxy.send(call("POST", "/v1/qr/generate")).await.status, 200, "no body needs no type");
}

#[tokio::test]
async fn expect_100_continue_waits_for_a_healthy_tool() {
    let (tool, proxy) = limited().await;
    let mut client = Client::connect(proxy.listen).await;
    let request = || upload("/v1/qr/generate", 2).header("Expect", "100-continue");
    client.write(&request().bytes()).await;
    assert!(client.head().await.unwrap().starts_with("HTTP/1.1 100 "));
    client.write(b"{}").await;
    let response = client.response("POST").await.unwrap();
    assert_eq!((response.status, response.json()["body"].as_str()), (200, Some("{}")));
    tool.stop().await;
    until("the tool is known to be gone", || async {
        proxy.upstream_health(Tool::Qr).await == ["unhealthy"]
    })
    .await;
    let mut client = Client::connect(proxy.listen).await;
    client.write(&request().bytes()).await;
    assert!(client.head().await.unwrap().starts_with("HTTP/1.1 503 "), "no 100 before a refusal");
}

#[tokio::test]
async fn response_is_passed_on_before_it_ends() {
    let (tool, proxy) = limited().await;
    tool.set(ToolBehavior::Respond(
        b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nfirst\r\n".to_vec(),
    ));
    let mut client = Client::connect(proxy.listen).await;
    client.write(&call("GET", "/v1/qr/generate").bytes()).await;
    // The tool has not finished, and the head and the first event arrive.
    let head = client.head().await.unwrap();
    assert!(
        head.starts_with("HTTP/1.1 200 ") && head.to_ascii_lowercase().contains("content-encoding: gzip"),
        "{head}"
    );
}
