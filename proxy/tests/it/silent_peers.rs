//! A peer that takes or sends nothing any more is cut, and whatever its call holds is free again: in
//! every way to connect, in both directions, for bodies that are copied and those that are spliced.

use shared::tool::Tool;
use tests::{
    FakeTool, Request, ToolBehavior,
    bodies::{Body, BodyTool, Pace, connect, http2_over, target},
    grant::{call, upload},
    http2,
    proxy::{Proxy, ProxyConfig},
    tls::{Authority, NAME, TempFiles, TlsClient},
    until,
};
use tokio::io::AsyncWriteExt as _;

/// Far more than all buffers between the tool and a client hold.
const LENGTH: usize = 50 << 20;
const CLIENTS: usize = 4;
const IN_FLIGHT: &str = r#"utg_calls_in_flight{tool="qr"}"#;

async fn proxy(tool: &BodyTool, clients: &str, tls: &str) -> Proxy {
    let config = ProxyConfig::new()
        .upstreams(Tool::Qr, &[&tool.address.to_string()])
        .line("clients", &format!("h2c = true\nidle_timeout = \"1s\"\n{clients}"));
    let config = if tls.is_empty() { config } else { config.section("server.tls", tls) };
    config.ready().await
}

fn download(number: usize) -> Request {
    call("GET", &target("/v1/qr/bytes", number, LENGTH, ""))
}

/// Waits until the calls of all clients were in flight, and then until none is.
async fn are_cut(proxy: &Proxy, tool: &BodyTool, limit: &str) {
    let series = format!(r#"utg_limits_exceeded_total{{limit="{limit}"}}"#);
    until("all clients are cut", || async { proxy.metric(&series).await == Some(CLIENTS as f64) }).await;
    proxy.metric_is(IN_FLIGHT, 0.0).await;
    until("the tool has its connections back", || async { tool.open_calls() == 0 }).await;
}

#[tokio::test]
async fn client_that_never_reads_is_cut() {
    for (clients, limit) in [("min_download_rate = \"0B\"", "idle_timeout"), ("", "idle_timeout")] {
        let tool = BodyTool::start();
        let proxy = proxy(&tool, clients, "").await;
        let mut held = Vec::new();
        for number in 0..CLIENTS {
            let mut stream = connect(proxy.listen, Pace::Slow).await;
            stream.write_all(&download(number).bytes()).await.unwrap();
            held.push(stream);
        }
        are_cut(&proxy, &tool, limit).await;
    }
}

#[tokio::test]
async fn client_that_never_reads_over_tls_is_cut() {
    let (authority, folder) = (Authority::generate(), TempFiles::create());
    let tool = BodyTool::start();
    let proxy = proxy(&tool, "", &folder.server(&authority.identity(NAME))).await;
    let mut held = Vec::new();
    for number in 0..CLIENTS {
        let mut stream = TlsClient::new(&authority).alpn("http/1.1").stream(proxy.listen).await.unwrap();
        stream.write_all(&download(number).bytes()).await.unwrap();
        held.push(stream);
    }
    are_cut(&proxy, &tool, "idle_timeout").await;
}

#[tokio::test]
async fn stream_that_is_never_read_is_cut() {
    let tool = BodyTool::start();
    let proxy = proxy(&tool, "", "").await;
    let send = http2_over(connect(proxy.listen, Pace::Slow).await, Pace::Slow).await;
    let mut held = Vec::new();
    for number in 0..CLIENTS {
        let head = http2::head(&download(number)).unwrap();
        // Its window is never renewed.
        held.push(send.clone().ready().await.unwrap().send_request(head, true).unwrap());
    }
    are_cut(&proxy, &tool, "idle_timeout").await;
}

#[tokio::test]
async fn client_that_stops_sending_is_cut() {
    let tool = BodyTool::start();
    let proxy = proxy(&tool, "", "").await;
    let mut held = Vec::new();
    for number in 0..CLIENTS {
        let mut stream = connect(proxy.listen, Pace::Fast).await;
        let request = upload(&target("/v1/qr/bytes", number, 5 << 20, ""), 5 << 20);
        stream.write_all(&request.bytes()).await.unwrap();
        stream.write_all(Body::new(number, 5 << 20).next(900_000)).await.unwrap();
        held.push(stream);
    }
    are_cut(&proxy, &tool, "idle_timeout").await;
}

#[tokio::test]
async fn tool_that_never_reads_is_cut() {
    // It waits before it reads the body.
    let tool = FakeTool::start(ToolBehavior::Wait).await;
    let config = ProxyConfig::new().tool(Tool::Qr, &[&tool]).pool_line(Tool::Qr, "answer_timeout = \"1s\"");
    let proxy = config.ready().await;
    let mut held = Vec::new();
    for number in 0..CLIENTS {
        let mut stream = connect(proxy.listen, Pace::Fast).await;
        let length = 8 << 20;
        let request = upload(&target("/v1/qr/bytes", number, length, ""), length);
        stream.write_all(&request.bytes()).await.unwrap();
        let mut body = Body::new(number, length);
        held.push(tokio::spawn(async move {
            // Until the proxy stops reading, or refuses the call.
            while !body.is_over() && stream.write_all(body.next(64 << 10)).await.is_ok() {}
            stream
        }));
    }
    let series = r#"utg_limits_exceeded_total{limit="answer_timeout"}"#;
    until("all calls are given up", || async { proxy.metric(series).await == Some(CLIENTS as f64) }).await;
    proxy.metric_is(IN_FLIGHT, 0.0).await;
}
