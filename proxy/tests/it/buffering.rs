//! Slow clients. A body is buffered before its call takes a slot of the tool, so a slow client
//! delays no other.

use std::time::Duration;

use bytes::Bytes;
use shared::tool::Tool;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpSocket},
};

use tests::{
    Client, FakeTool, Request, Signer, ToolBehavior,
    grant::{call, post, upload},
    http2::{self, Http2Client},
    proxy::{Proxy, ProxyConfig},
    until,
};

/// A body larger than the buffer.
const LONG: usize = 200_000;
const IN_FLIGHT: &str = r#"utg_calls_in_flight{tool="qr"}"#;

async fn with(line: &str) -> (FakeTool, Proxy) {
    let tool = FakeTool::start(ToolBehavior::Describe).await;
    let config = ProxyConfig::new().tool(Tool::Qr, &[&tool]).pool_line(Tool::Qr, line);
    (tool, config.line("clients", "h2c = true").ready().await)
}

fn chunked() -> Request {
    let call = call("POST", "/v1/qr/generate").header("Content-Type", "application/json");
    call.header("Transfer-Encoding", "chunked")
}

/// An attack: two keys fill all slots of a tool with uploads that hardly progress.
#[tokio::test]
async fn slow_uploads_do_not_take_slots_from_another_key() {
    let (tool, proxy) = with("calls_in_flight = 4").await;
    let mut slow = Vec::new();
    for key in [6, 7] {
        let signer = Signer { key_id: shared::key::KeyId::new([key; 12]), ..Signer::default() };
        for length in [2, 60_000, LONG] {
            let head = signer.granted(Request::new("POST", "/v1/qr/generate"));
            let head = head.header("Content-Type", "application/json");
            let mut client = Client::connect(proxy.listen).await;
            client.write(&head.header("Content-Length", &length.to_string()).bytes()).await;
            client.write(b"1").await;
            slow.push((client, length));
        }
    }
    until("all have begun", || async { proxy.metric("utg_requests_in_flight").await >= Some(6.0) }).await;
    assert_eq!(proxy.metric(IN_FLIGHT).await, Some(0.0));
    assert_eq!(proxy.send(call("GET", "/v1/qr/generate")).await.status, 200);
    assert_eq!((tool.calls(), tool.connections()), (1, 1));
    // The uploads that progress are served.
    for (client, length) in &mut slow {
        client.write(&vec![b'1'; *length - 1]).await;
        assert_eq!(client.response("POST").await.expect("a response").json()["length"], *length);
    }
}

#[tokio::test]
async fn body_in_pieces_reaches_its_tool_at_once_and_whole() {
    let (tool, proxy) = with("").await;
    let mut client = Client::connect(proxy.listen).await;
    for (head, pieces) in [
        (upload("/v1/qr/generate", 6), &[&b"12"[..], b"34", b"56"][..]),
        (chunked(), &[&b"2\r\n12\r\n4"[..], b"\r\n3456\r", b"\n0\r\n\r\n"][..]),
    ] {
        let calls = tool.calls();
        client.write(&head.bytes()).await;
        for piece in pieces {
            assert_eq!(tool.calls(), calls);
            client.write(piece).await;
            tokio::task::yield_now().await;
        }
        let response = client.response("POST").await.expect("a response");
        assert_eq!((response.status, response.json()["body"].as_str()), (200, Some("123456")));
    }
    // The next request on the connection begins where the body ends.
    client.write(&upload("/v1/qr/generate", 2).bytes()).await;
    client.write(&[b"{}", &post("/v1/qr/next", "[]").bytes()[..]].concat()).await;
    assert_eq!(client.response("POST").await.unwrap().json()["body"], "{}");
    assert_eq!(client.response("POST").await.unwrap().json()["body"], "[]");
}

#[tokio::test]
async fn body_longer_than_the_buffer_is_streamed() {
    let (_tool, proxy) = with("").await;
    let mut client = Client::connect(proxy.listen).await;
    client.write(&upload("/v1/qr/generate", LONG).bytes()).await;
    client.write(&[b'a'; 70_000]).await;
    until("the tool is called", || async { proxy.metric(IN_FLIGHT).await == Some(1.0) }).await;
    client.write(&[b'a'; LONG - 70_000]).await;
    assert_eq!(client.response("POST").await.unwrap().json()["length"], LONG);
    let chunk = [&b"10000\r\n"[..], &[b'a'; 65_536], b"\r\n"].concat();
    client.write(&[&chunked().bytes()[..], &chunk, &chunk, &chunk, b"0\r\n\r\n"].concat()).await;
    assert_eq!(client.response("POST").await.unwrap().json()["length"], 3 * 65_536);
}

#[tokio::test]
async fn buffered_body_is_refused_without_a_slot() {
    let (tool, proxy) = with("max_body = \"1KiB\"").await;
    for (body, status, code) in
        [(&b"3e8\r\n"[..], 413, "body-too-large"), (b"2\r\n{}\n", 400, "header-malformed")]
    {
        let mut client = Client::connect(proxy.listen).await;
        client.write(&chunked().bytes()).await;
        let piece = [&b"a".repeat(1_000)[..], b"\r\n"].concat();
        let rest = if status == 413 { [&piece[..], b"3e8\r\n", &piece].concat() } else { Vec::new() };
        client.write(&[body, &rest].concat()).await;
        let response = client.response("POST").await.expect("a response");
        assert_eq!((response.status, response.problem().as_str()), (status, code));
    }
    // An upload that is cut off does not reach the tool.
    let mut client = Client::connect(proxy.listen).await;
    client.write(&upload("/v1/qr/generate", 10).bytes()).await;
    client.write(b"half").await;
    client.close_half().await;
    assert!(client.is_closed().await);
    assert_eq!((tool.calls(), tool.connections()), (0, 0));
}

/// The tool is full once the body has arrived. The connection stays open.
#[tokio::test]
async fn tool_that_is_full_refuses_a_buffered_body() {
    let (tool, proxy) = with("calls_in_flight = 1").await;
    let mut late = Client::connect(proxy.listen).await;
    late.write(&upload("/v1/qr/generate", 4).bytes()).await;
    late.write(b"12").await;
    tool.set(ToolBehavior::Wait);
    let mut first = Client::connect(proxy.listen).await;
    first.write(&call("GET", "/v1/qr/a").bytes()).await;
    until("the first is in flight", || async { tool.calls() == 1 }).await;
    late.write(b"34").await;
    let response = late.response("POST").await.expect("a response");
    assert_eq!((response.status, response.problem().as_str()), (503, "tool-overloaded"));
    tool.release();
    assert_eq!(first.response("GET").await.unwrap().status, 200);
    until("its slot is free", || async { proxy.metric(IN_FLIGHT).await == Some(0.0) }).await;
    late.write(&post("/v1/qr/a", "12").bytes()).await;
    assert_eq!(late.response("POST").await.unwrap().json()["body"], "12");
}

/// The whole buffered body is sent to the next upstream if the first one refuses the connection.
#[tokio::test]
async fn buffered_body_goes_to_the_next_server_after_a_failed_connect() {
    let tool = FakeTool::start(ToolBehavior::Describe).await;
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    // Bound and not listening: connections are refused, and no other process gets the port.
    let refusing = socket.local_addr().unwrap().to_string();
    let config = ProxyConfig::new().upstreams(Tool::Qr, &[&refusing, &tool.address.to_string()]);
    let probe = format!("probe.port = {}\nprobe.fall = 50", tool.address.port());
    let proxy = config.pool_line(Tool::Qr, &probe).ready().await;
    for _ in 0..6 {
        let mut client = Client::connect(proxy.listen).await;
        client.write(&upload("/v1/qr/generate", 4).bytes()).await;
        client.write(b"12").await;
        tokio::task::yield_now().await;
        client.write(b"34").await;
        let response = client.response("POST").await.expect("a response");
        assert_eq!((response.status, response.json()["body"].as_str()), (200, Some("1234")));
    }
    assert!(proxy.metric(r#"utg_upstream_retries_total{after="connect",tool="qr"}"#).await > Some(0.0));
}

#[tokio::test]
async fn http2_upload_holds_no_slot_before_it_is_buffered() {
    let (tool, proxy) = with("calls_in_flight = 1").await;
    let client = Http2Client::prior_knowledge(proxy.listen).await;
    let request = call("POST", "/v1/qr/a").header("content-type", "application/json");
    let (response, mut body) = client.begin(&request).await;
    body.send_data(Bytes::from_static(b"12"), false).unwrap();
    assert_eq!(client.send(&call("GET", "/v1/qr/b")).await.status, 200);
    assert_eq!(tool.calls(), 1);
    body.send_data(Bytes::from_static(b"34"), true).unwrap();
    assert_eq!(http2::read(response, false).await.unwrap().json()["body"], "1234");
}

/// Time in which the tool sends nothing does not count against the download rate of the client.
#[tokio::test]
async fn slow_response_is_not_cut_off() {
    let tool = FakeTool::start(ToolBehavior::Describe).await;
    let limits = "idle_timeout = \"1s\"\nmin_download_rate = \"1MiB\"\nmin_upload_rate = \"1MiB\"";
    let proxy = ProxyConfig::new().tool(Tool::Qr, &[&tool]).line("clients", limits).ready().await;
    let head = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: 12\r\n\r\n";
    tool.set(ToolBehavior::RespondAndDrip(
        head.to_vec(),
        b"abcdefghijkl".to_vec(),
        Duration::from_millis(250),
    ));
    let response = proxy.send(post("/v1/qr/a", "{}")).await;
    assert_eq!((response.status, response.complete, response.body.len()), (200, true, 12));
}

/// Time in which the tool does not read does not count against the upload rate of the client.
#[tokio::test]
async fn upload_to_a_pausing_tool_is_not_too_slow() {
    const BODY: usize = 9 << 20;
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let other = FakeTool::start(ToolBehavior::Describe).await;
    let limits = "idle_timeout = \"1s\"\nmin_upload_rate = \"1MiB\"";
    let address = listener.local_addr().unwrap().to_string();
    let proxy = ProxyConfig::new()
        .upstreams(Tool::Qr, &[&address])
        .pool_line(Tool::Qr, &format!("probe.port = {}", other.address.port()))
        .line("clients", limits)
        .ready()
        .await;
    let tool = async {
        let (mut stream, _) = listener.accept().await.unwrap();
        // Fault timing: a pause longer than `idle_timeout`.
        tokio::time::sleep(Duration::from_millis(2_500)).await;
        let (mut read, mut space) = (0, vec![0; 1 << 20]);
        while read < BODY {
            read += stream.read(&mut space).await.unwrap();
        }
        stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok").await.unwrap();
        stream
    };
    let mut client = Client::connect(proxy.listen).await;
    let call = async {
        client.write(&call("POST", "/v1/qr/a").json(&"a".repeat(BODY)).bytes()).await;
        client.response("POST").await
    };
    let (_stream, response) = tokio::join!(tool, call);
    assert_eq!(response.expect("a response").status, 200);
}
