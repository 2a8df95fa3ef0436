//! Limits on the memory of an HTTP/2 connection, and flow control between its streams.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use bytes::Bytes;
use shared::tool::Tool;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpSocket, TcpStream},
    task::JoinSet,
};

use tests::{
    FakeTool, Request, ToolBehavior,
    grant::{call, post},
    http2::Http2Client,
    http2::frames::{
        DATA, Frame, Frames, HEADERS, PING, RST_STREAM, WINDOW_UPDATE, data, head, open, ping, repeated,
        stored,
    },
    proxy::{Proxy, ProxyConfig},
    until,
};

const CANCEL: [u8; 4] = [0, 0, 0, 8];
const STREAMS: u32 = 128;

async fn h2c(tool: &FakeTool) -> Proxy {
    ProxyConfig::new().tool(Tool::Qr, &[tool]).line("clients", "h2c = true").ready().await
}

/// Returns a request on every stream of a connection. Each decodes to 61 KB of headers from less
/// than 100 bytes.
fn burst() -> Vec<u8> {
    let get = Request::new("GET", "/v1/qr/a");
    let first = head(1, &get, &stored("x-a", &"v".repeat(3_900)));
    let others = (1..STREAMS).map(|number| head(1 + 2 * number, &get, &repeated(16)));
    first.into_iter().chain(others.flatten()).collect()
}

/// Returns the sum of the samples of a counter.
async fn total(proxy: &Proxy, name: &str) -> f64 {
    let text = String::from_utf8(proxy.admin_get("/metrics").await.body).unwrap();
    let samples = text.lines().filter(|line| line.starts_with(name));
    samples.filter_map(|line| line.rsplit_once(' ')?.1.parse::<f64>().ok()).sum()
}

/// An attack: compressed heads on many streams whose responses are never read. Without a limit each
/// stream holds 140 KB.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn unverified_streams_with_a_closed_window_hold_little_memory() {
    const CONNECTIONS: u32 = 8;
    const MIB: u64 = 1 << 20;
    let tool = FakeTool::start(ToolBehavior::Describe).await;
    let proxy = h2c(&tool).await;
    let before = proxy.memory("VmRSS");
    let mut clients = Vec::new();
    for _ in 0..CONNECTIONS {
        let mut client = Frames::connect(proxy.listen, 0).await;
        client.write(&burst()).await;
        clients.push(client);
    }
    let seen = || async {
        let grown = proxy.memory("VmHWM").saturating_sub(before);
        assert!(grown < 32 * MIB, "{} MiB more than before", grown / MIB);
        let held =
            proxy.metric(r#"utg_limits_exceeded_total{limit="http2_held_bytes"}"#).await.unwrap_or(0.0);
        total(&proxy, "utg_refusals_total").await + held >= f64::from(CONNECTIONS * STREAMS)
    };
    until("every request is refused", seen).await;
    // Calls of other clients are served meanwhile, and the memory is free once the refusals time
    // out.
    assert_eq!(proxy.send(call("GET", "/v1/qr/a")).await.status, 200);
    for client in &mut clients {
        let (mut open, mut refused) = (STREAMS, 0);
        while open > 0 {
            let Frame { kind, payload, .. } = client.next_of_stream().await.expect("a frame");
            if kind == RST_STREAM {
                open -= 1;
                refused += u32::from(payload == CANCEL);
            }
        }
        assert!(refused > 0, "some were refused in words, which the client did not take");
    }
}

#[tokio::test]
async fn refusal_is_sent_once_the_client_opens_its_window() {
    let tool = FakeTool::start(ToolBehavior::Describe).await;
    let proxy = h2c(&tool).await;
    let mut client = Frames::connect(proxy.listen, 0).await;
    client.write(&head(1, &Request::new("GET", "/v1/qr/a"), &[])).await;
    assert_eq!(client.next_of_stream().await.map(|frame| frame.kind), Some(HEADERS));
    // The request is over although its response is unread.
    until("nothing is in flight", || async { proxy.metric("utg_requests_in_flight").await == Some(0.0) })
        .await;
    client.open_window(1, 100).await;
    client.open_window(1, 65_000).await;
    let mut body = Vec::new();
    while serde_json::from_slice::<serde_json::Value>(&body).is_err() {
        let frame = client.next_of_stream().await.expect("more of the response");
        assert_eq!((frame.kind, frame.stream), (DATA, 1));
        body.extend_from_slice(&frame.payload);
    }
    assert!(String::from_utf8(body).unwrap().contains("grant-invalid"));
    assert_eq!(proxy.metric(r#"utg_limits_exceeded_total{limit="refusal_timeout"}"#).await, Some(0.0));
}

/// A tool that responds to probes and reads no body.
async fn stalled_tool() -> String {
    let socket = TcpSocket::new_v4().unwrap();
    // A small receive buffer keeps the body in the proxy.
    socket.set_recv_buffer_size(4 << 10).unwrap();
    socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let listener = socket.listen(64).unwrap();
    let address = listener.local_addr().unwrap().to_string();
    tokio::spawn(async move {
        let mut connections = JoinSet::new();
        while let Ok((stream, _)) = listener.accept().await {
            connections.spawn(stall(stream));
        }
    });
    address
}

async fn stall(mut stream: TcpStream) {
    let mut probe = [0; 13];
    while stream.read_exact(&mut probe).await.is_ok() && probe == *b"GET /healthz " {
        let mut rest = Vec::new();
        while !rest.ends_with(b"\r\n\r\n") {
            if stream.read_buf(&mut rest).await.unwrap_or(0) == 0 {
                return;
            }
        }
        if stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").await.is_err() {
            return;
        }
    }
    std::future::pending::<()>().await;
}

/// Sends a body as far as flow control permits, and counts its bytes.
async fn upload(mut body: h2::SendStream<Bytes>, length: usize, sent: Arc<AtomicUsize>) {
    let mut left = length;
    while left > 0 {
        body.reserve_capacity(left);
        let capacity = std::future::poll_fn(|context| body.poll_capacity(context)).await;
        let now = capacity.expect("a stream that lives").expect("capacity").min(left);
        body.send_data(vec![b'1'; now].into(), now == left).unwrap();
        left -= now;
        sent.fetch_add(now, Ordering::SeqCst);
    }
}

#[tokio::test]
async fn stalled_uploads_do_not_stop_others_of_their_connection() {
    const STALLED: usize = 8;
    let tool = FakeTool::start(ToolBehavior::Describe).await;
    let config = ProxyConfig::new().tool(Tool::Qr, &[&tool]).upstreams(Tool::Pdf, &[&stalled_tool().await]);
    let proxy = config.line("clients", "h2c = true").ready().await;
    let client = Http2Client::prior_knowledge(proxy.listen).await;
    let sent = Arc::new(AtomicUsize::new(0));
    let (mut responses, mut uploads) = (Vec::new(), JoinSet::new());
    for _ in 0..STALLED {
        let request = call("POST", "/v1/pdf/a").header("content-type", "application/json");
        let (response, body) = client.begin(&request).await;
        responses.push(response);
        uploads.spawn(upload(body, 9 << 20, Arc::clone(&sent)));
    }
    let (last, still) = (AtomicUsize::new(0), AtomicUsize::new(0));
    until("all of them are stalled", || async {
        let now = sent.load(Ordering::SeqCst);
        let moved = last.swap(now, Ordering::SeqCst) != now;
        let quiet = if moved { 0 } else { still.load(Ordering::SeqCst) + 1 };
        still.store(quiet, Ordering::SeqCst);
        now > 0 && quiet > 100
    })
    .await;
    assert!(sent.load(Ordering::SeqCst) < STALLED * (9 << 20), "the tool has taken all");
    let body = format!("\"{}\"", "a".repeat(1_000_000));
    let response = client.send(&post("/v1/qr/a", &body)).await;
    assert_eq!((response.status, response.json()["length"].as_u64()), (200, Some(1_000_002)));
    drop((responses, uploads));
}

/// Waits until the window of the connection is at least this large. Returns it.
async fn window(client: &mut Frames, window: &mut u64, least: u64) -> u64 {
    while *window < least {
        let Frame { kind, stream, payload } = client.next().await.expect("a frame");
        if (kind, stream) == (WINDOW_UPDATE, 0) {
            *window += u64::from(u32::from_be_bytes(payload.try_into().unwrap()));
        }
    }
    *window
}

#[tokio::test]
async fn connection_window_grows_with_the_first_valid_grant() {
    let tool = FakeTool::start(ToolBehavior::Describe).await;
    let proxy = h2c(&tool).await;
    let mut client = Frames::connect(proxy.listen, 65_535).await;
    let mut stated = 65_535;
    assert_eq!(window(&mut client, &mut stated, 65_536).await, 256 << 10);
    client.write(&head(1, &Request::new("GET", "/v1/qr/a"), &[])).await;
    client.write(&head(3, &call("GET", "/v1/qr/a"), &[])).await;
    // 128 requests of 256 KiB.
    assert_eq!(window(&mut client, &mut stated, (256 << 10) + 1).await, 32 << 20);
}

/// A window counts the bytes of bodies and not the overhead of each piece.
#[tokio::test]
async fn small_pieces_of_a_body_hold_little_memory() {
    const MIB: u64 = 1 << 20;
    let tool = FakeTool::start(ToolBehavior::Describe).await;
    let proxy = h2c(&tool).await;
    let mut client = Frames::connect(proxy.listen, 65_535).await;
    let request = call("POST", "/v1/qr/a").header("content-type", "application/json");
    client.write(&open(1, &request)).await;
    window(&mut client, &mut 65_535, 32 << 20).await;
    let before = proxy.memory("VmRSS");
    // In one write, so that they arrive faster than they are read.
    client.write(&[data(1, b"1").repeat(100_000), ping()].concat()).await;
    while client.next().await.is_some_and(|frame| frame.kind != PING) {}
    let grown = proxy.memory("VmHWM").saturating_sub(before);
    assert!(grown < 16 * MIB, "{} MiB more than before", grown / MIB);
}
