//! Large bodies, which the relay moves in the kernel: nothing that holds for a copied body changes.
//! On the other transport they are copied, and the same holds.

use std::{fs, time::Duration};

use serde_json::Value;
use shared::tool::Tool;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpSocket, TcpStream},
};

use tests::{
    Client, FakeTool, ToolBehavior,
    grant::{call, upload},
    proxy::{Proxy, ProxyConfig},
    transport::Transport,
    until,
};

const LONG: usize = 1 << 20;

async fn with(behavior: ToolBehavior) -> (FakeTool, Proxy) {
    let tool = FakeTool::start(behavior).await;
    let config = ProxyConfig::new().tool(Tool::Qr, &[&tool]).line("log", "detail = \"timings\"");
    (tool, config.ready().await)
}

/// Returns a body in which no piece can be exchanged for another.
fn body(length: usize) -> Vec<u8> {
    (0u32..).flat_map(|number| format!("{number:x},").into_bytes()).take(length).collect()
}

/// Returns a response that announces `length` bytes and has those of `body`.
fn response(length: usize, body: &[u8]) -> Vec<u8> {
    [format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\n").as_bytes(), body].concat()
}

/// Returns the number of pipes that a proxy has open.
fn pipes(proxy: &Proxy) -> usize {
    let files = fs::read_dir(format!("/proc/{}/fd", proxy.pid())).unwrap();
    files.filter(|file| is_pipe(&file.as_ref().unwrap().path())).count()
}

fn is_pipe(file: &std::path::Path) -> bool {
    fs::read_link(file).is_ok_and(|target| target.to_string_lossy().starts_with("pipe:"))
}

/// Returns the largest value that a number has in the access log.
fn logged(proxy: &Proxy, name: &str) -> Option<u64> {
    let output = proxy.output();
    let lines = output.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    lines.filter_map(|line| line[name].as_u64()).max()
}

#[tokio::test]
async fn large_bodies_arrive_whole_over_kept_connections() {
    let body = body(LONG);
    let (tool, proxy) = with(ToolBehavior::Respond(response(LONG, &body))).await;
    let mut client = Client::connect(proxy.listen).await;
    for _ in 0..3 {
        client.write(&call("GET", "/v1/qr/a").bytes()).await;
        let response = client.response("GET").await.unwrap();
        assert_eq!((response.status, response.complete, response.body == body), (200, true, true));
    }
    until("its bytes are logged", || async { logged(&proxy, "response_bytes") == Some(LONG as u64) }).await;
    tool.set(ToolBehavior::Describe);
    for _ in 0..3 {
        // The next request is there before the end of this one's body is read.
        let next = call("GET", "/v1/qr/b").bytes();
        client.write(&[&upload("/v1/qr/a", LONG).bytes()[..], &body, &next].concat()).await;
        let echoed = client.response("POST").await.unwrap();
        assert!(echoed.json()["body"].as_str().map(str::as_bytes) == Some(&body));
        assert_eq!(client.response("GET").await.unwrap().json()["target"], "/b");
    }
    until("its bytes are logged", || async { logged(&proxy, "request_bytes") == Some(LONG as u64) }).await;
    assert_eq!((tool.calls(), tool.opened()), (9, 1));
}

#[tokio::test]
async fn large_body_is_spliced_by_the_relay_only() {
    let (tool, proxy) = with(ToolBehavior::Respond(response(1_000, &body(1_000)))).await;
    proxy.send(call("GET", "/v1/qr/a")).await;
    let before = pipes(&proxy);
    tool.set(ToolBehavior::Respond(response(LONG, &body(LONG))));
    assert!(proxy.send(call("GET", "/v1/qr/a")).await.complete);
    let ends = if Transport::under_test() == Transport::Relay && cfg!(target_os = "linux") { 2 } else { 0 };
    assert_eq!(pipes(&proxy) - before, ends);
}

#[tokio::test]
async fn download_waits_for_a_slow_client_and_a_slow_tool() {
    let body = body(4 * LONG);
    let (tool, proxy) = with(ToolBehavior::Respond(response(body.len(), &body))).await;
    // Much less than the body fits into all buffers between the tool and this client.
    let socket = TcpSocket::new_v4().unwrap();
    socket.set_recv_buffer_size(8 << 10).unwrap();
    let mut stream = socket.connect(proxy.listen).await.unwrap();
    stream.write_all(&call("GET", "/v1/qr/a").bytes()).await.unwrap();
    let (mut received, mut piece) = (Vec::new(), [0; 5_000]);
    while !received.ends_with(&body[body.len() - 100..]) {
        let read = stream.read(&mut piece).await.unwrap();
        assert!(read > 0, "cut after {} bytes", received.len());
        received.extend_from_slice(&piece[..read]);
    }
    assert!(received.ends_with(&body));
    let (first, rest) = body[..LONG].split_at(LONG - 30);
    let first = response(LONG, first);
    tool.set(ToolBehavior::RespondAndDrip(first, rest.to_vec(), Duration::from_millis(5)));
    let dripped = proxy.send(call("GET", "/v1/qr/a")).await;
    assert_eq!((dripped.complete, dripped.body == body[..LONG]), (true, true));
}

/// Serves one call after another, and reads their bodies in small pieces through a small buffer.
async fn slow_reader() -> std::net::SocketAddr {
    let socket = TcpSocket::new_v4().unwrap();
    socket.set_recv_buffer_size(8 << 10).unwrap();
    socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let listener: TcpListener = socket.listen(64).unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(read_slowly(stream));
        }
    });
    address
}

async fn read_slowly(mut stream: TcpStream) {
    let (mut received, mut piece) = (Vec::new(), [0; 3_000]);
    loop {
        let end = received.windows(4).position(|four| four == b"\r\n\r\n").map(|end| end + 4);
        let head = end.map(|end| String::from_utf8_lossy(&received[..end]).to_ascii_lowercase());
        let length = head.as_ref().and_then(|head| head.split_once("content-length: "));
        let length = length.map_or(0, |(_, rest)| rest.lines().next().unwrap().parse().unwrap());
        if let Some(end) = end.filter(|end| received.len() == end + length) {
            let ok = response(length, &received[end..]);
            stream.write_all(&ok).await.unwrap();
            received.clear();
        }
        match stream.read(&mut piece).await {
            Ok(read) if read > 0 => received.extend_from_slice(&piece[..read]),
            _ => return,
        }
    }
}

#[tokio::test]
async fn upload_waits_for_a_slow_tool() {
    let config = ProxyConfig::new().upstreams(Tool::Qr, &[&slow_reader().await.to_string()]);
    let proxy = config.ready().await;
    let (body, mut client) = (body(LONG), Client::connect(proxy.listen).await);
    client.write(&[&upload("/v1/qr/a", LONG).bytes()[..], &body].concat()).await;
    let echoed = client.response("POST").await.unwrap();
    assert_eq!((echoed.status, echoed.body == body), (200, true));
}

#[tokio::test]
async fn large_body_cut_by_either_side_is_recorded() {
    let half = response(LONG, &body(LONG / 2));
    let (tool, proxy) = with(ToolBehavior::RespondAndClose(half.clone())).await;
    let cut = proxy.send(call("GET", "/v1/qr/a")).await;
    assert_eq!((cut.status, cut.complete, cut.body == body(LONG / 2)), (200, false, true));
    let aborted = |by: &str| {
        let upstream = tool.address;
        format!(r#"utg_upstream_responses_aborted_total{{by="{by}",tool="qr",upstream="{upstream}"}}"#)
    };
    proxy.metric_is(&aborted("upstream"), 1.0).await;
    until("its bytes are logged", || async { logged(&proxy, "response_bytes") == Some(LONG as u64 / 2) })
        .await;
    // The rest of the response never comes, so it is the client that ends the call.
    tool.set(ToolBehavior::Respond(half));
    let mut client = Client::connect_abortive(proxy.listen).await;
    client.write(&call("GET", "/v1/qr/a").bytes()).await;
    assert!(client.head().await.is_some());
    drop(client);
    proxy.metric_is(&aborted("client"), 1.0).await;
    tool.set(ToolBehavior::Describe);
    let mut client = Client::connect(proxy.listen).await;
    client.write(&[&upload("/v1/qr/a", LONG).bytes()[..], &body(LONG / 2)].concat()).await;
    proxy.metric_is(r#"utg_calls_in_flight{tool="qr"}"#, 1.0).await;
    drop(client);
    proxy.metric_is(r#"utg_calls_in_flight{tool="qr"}"#, 0.0).await;
    // The half of a body is no call for the tool, and no rest of it stays in a pipe.
    assert_eq!((tool.calls(), proxy.send(call("GET", "/v1/qr/b")).await.status), (2, 200));
}

#[tokio::test]
async fn max_body_and_pauses_hold_for_large_bodies() {
    let tool = FakeTool::start(ToolBehavior::Describe).await;
    let config = ProxyConfig::new().tool(Tool::Qr, &[&tool]).pool_line(Tool::Qr, "max_body = \"512KiB\"");
    let config = config.pool_line(Tool::Qr, "pause_timeout = \"300ms\"");
    let proxy = config.line("clients", "idle_timeout = \"1s\"\nmin_upload_rate = \"0B\"").ready().await;
    let mut client = Client::connect(proxy.listen).await;
    let allowed = body(512 << 10);
    client.write(&[&upload("/v1/qr/a", allowed.len()).bytes()[..], &allowed].concat()).await;
    assert_eq!(client.response("POST").await.unwrap().json()["length"], 512 << 10);
    client.write(&upload("/v1/qr/a", allowed.len() + 1).bytes()).await;
    assert_eq!(client.response("POST").await.unwrap().problem(), "body-too-large");
    // A client that stops in the middle.
    let mut client = Client::connect(proxy.listen).await;
    client.write(&[&upload("/v1/qr/a", allowed.len()).bytes()[..], &allowed[..300_000]].concat()).await;
    assert_eq!(client.response("POST").await.unwrap().problem(), "request-timeout");
    // A tool that does.
    tool.set(ToolBehavior::Respond(response(LONG, &body(300_000))));
    let paused = proxy.send(call("GET", "/v1/qr/a")).await;
    assert_eq!((paused.status, paused.complete, paused.body.len()), (200, false, 300_000));
    assert_eq!(tool.calls(), 2);
}
