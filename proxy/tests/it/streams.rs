//! The responses of tools of artificial intelligence: streams of events, many at the same time, and large files.

use std::time::Duration;

use shared::{key::KeyId, tool::Tool};
use tokio::{
    io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader},
    net::{TcpListener, TcpStream},
    time::timeout,
};

use tests::{
    Client, EventTool, FakeTool, PATIENCE, Request, Signer, ToolBehavior,
    grant::call,
    http2::Http2Client,
    proxy::{Proxy, ProxyConfig},
    until,
};

const MIB: usize = 1 << 20;

async fn behind_proxy(tool: &EventTool) -> Proxy {
    let config = ProxyConfig::new().upstreams(Tool::Qr, &[&tool.address.to_string()]);
    config.line("clients", "h2c = true").ready().await
}

async fn connected(proxy: &Proxy, request: &Request) -> Client {
    let mut client = Client::connect(proxy.listen).await;
    client.write(&request.bytes()).await;
    client
}

/// The tool sends no event before the client has the one before: nothing holds one back.
#[tokio::test]
async fn client_has_each_event_before_the_next_is_sent() {
    let tool = EventTool::start();
    let proxy = behind_proxy(&tool).await;
    let mut client = connected(&proxy, &call("GET", "/v1/qr/events")).await;
    assert!(client.head().await.unwrap().contains("text/event-stream"));
    for _ in 0..300 {
        let event = tool.send();
        assert_eq!(client.chunk().await.as_deref(), Some(event.as_bytes()));
    }
}

#[tokio::test]
async fn http2_client_has_each_event_before_the_next_is_sent() {
    let tool = EventTool::start();
    let proxy = behind_proxy(&tool).await;
    let client = Http2Client::prior_knowledge(proxy.listen).await;
    let (response, mut body) = client.begin(&call("GET", "/v1/qr/events")).await;
    body.send_data(bytes::Bytes::new(), true).unwrap();
    let mut events = response.await.unwrap().into_body();
    for _ in 0..300 {
        let event = tool.send();
        let piece = timeout(PATIENCE, events.data()).await.expect("an event in time").unwrap().unwrap();
        assert_eq!(piece, event.as_bytes());
        events.flow_control().release_capacity(piece.len()).unwrap();
    }
}

#[tokio::test]
async fn thousand_slow_streams_are_served_at_once_beside_other_calls() {
    const STREAMS: usize = 1_000;
    let tool = EventTool::start();
    let other = FakeTool::start(ToolBehavior::Describe).await;
    let config =
        ProxyConfig::new().upstreams(Tool::Qr, &[&tool.address.to_string()]).tool(Tool::Pdf, &[&other]);
    let config = config.line("clients", "connections_per_address = 2000");
    let proxy = config.pool_line(Tool::Qr, "calls_in_flight = 1000").ready().await;
    let before = proxy.memory("VmRSS");
    let mut clients = Vec::new();
    for number in 0..STREAMS {
        let key = KeyId::new([u8::try_from(number / 125).unwrap(); 12]);
        let signer = Signer { key_id: key, ..Signer::default() };
        let request = signer.granted(Request::new("GET", "/v1/qr/events"));
        let mut client = connected(&proxy, &request).await;
        assert!(client.head().await.unwrap().contains("200 OK"));
        clients.push(client);
    }
    let in_flight = r#"utg_calls_in_flight{tool="qr"}"#;
    assert_eq!(proxy.metric(in_flight).await, Some(STREAMS as f64));
    let each = || (proxy.memory("VmRSS") - before) / STREAMS as u64;
    // In a build without optimization. docs/performance.md has that of a release. A stream that
    // waited with a buffer for its next event held 64 KiB more.
    assert!(each() < 48 * 1024, "{} bytes for each stream", each());
    for _ in 0..3 {
        let event = tool.send();
        for client in &mut clients {
            assert_eq!(client.chunk().await.as_deref(), Some(event.as_bytes()));
        }
        assert_eq!(proxy.send(call("GET", "/v1/pdf/a")).await.status, 200);
    }
    assert!(each() < 48 * 1024, "{} bytes for each stream after its events", each());
    drop(clients);
    // A client that has gone looks like one that reads on until something is written to it.
    until("all have ended", || async {
        tool.send();
        proxy.metric(in_flight).await == Some(0.0)
    })
    .await;
}

/// Comments keep a stream alive for longer than any timeout but that of the whole response, which there is none of.
#[tokio::test]
async fn stream_with_comments_outlives_the_pause_timeout() {
    let tool = FakeTool::start(ToolBehavior::Describe).await;
    let config = ProxyConfig::new().tool(Tool::Qr, &[&tool]).line("clients", "idle_timeout = \"1s\"");
    let lines = "pause_timeout = \"500ms\"\nanswer_timeout = \"500ms\"";
    let proxy = config.pool_line(Tool::Qr, lines).ready().await;
    // Four times as long as each of the three, in pieces of a tenth of them.
    let comments = b": wait\n\n".repeat(5);
    let head = format!(
        "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: {}\r\n\r\n",
        comments.len()
    );
    let pause = Duration::from_millis(100);
    tool.set(ToolBehavior::RespondAndDrip(head.into_bytes(), comments.clone(), pause));
    let response = proxy.send(call("GET", "/v1/qr/events")).await;
    assert_eq!((response.status, response.complete, &response.body), (200, true, &comments));
}

/// Whoever reads or writes 100 MiB costs no memory for it.
#[tokio::test]
async fn hundred_mib_up_and_down_take_no_memory() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let config = ProxyConfig::new().upstreams(Tool::Qr, &[&address]);
    let lines = "max_body = \"100MiB\"\naccept = [\"video/*\"]\nprobe.kind = \"tcp\"";
    let proxy = config.pool_line(Tool::Qr, lines).ready().await;
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(receive_and_send(stream));
        }
    });
    let upload = call("POST", "/v1/qr/file").header("Content-Type", "video/mp4");
    let upload = upload.header("Content-Length", &(100 * MIB).to_string());
    let before = proxy.memory("VmHWM");
    let mut client = connected(&proxy, &upload).await;
    for _ in 0..100 {
        client.write(&[b'a'; MIB]).await;
    }
    let response = client.response("POST").await.expect("a response");
    assert_eq!((response.status, response.complete, response.body.len()), (200, true, 100 * MIB));
    let more = proxy.memory("VmHWM") - before;
    assert!(more < 16 * MIB as u64, "{more} bytes");
}

/// Reads 100 MiB after the head of a request, and sends as many.
async fn receive_and_send(stream: TcpStream) {
    let mut stream = BufReader::new(stream);
    let mut line = String::new();
    // The connection of a probe ends at once.
    while stream.read_line(&mut line).await.is_ok_and(|read| read > 2) {
        line.clear();
    }
    if line.is_empty() {
        return;
    }
    let mut piece = vec![0; MIB];
    for _ in 0..100 {
        stream.read_exact(&mut piece).await.unwrap();
    }
    let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", 100 * MIB);
    stream.write_all(head.as_bytes()).await.unwrap();
    for _ in 0..100 {
        stream.write_all(&piece).await.unwrap();
    }
}
