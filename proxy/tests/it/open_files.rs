//! A process that has few file descriptors: it keeps some back, and blames no upstream.

use std::{fs, time::Instant};

use futures_util::future::join_all;
use shared::tool::Tool;

use tests::{
    Client, FakeTool, ToolBehavior,
    grant::call,
    http2::Http2Client,
    proxy::{Proxy, ProxyConfig},
    until,
    wait::PATIENCE,
};

fn open_files(proxy: &Proxy) -> usize {
    fs::read_dir(format!("/proc/{}/fd", proxy.pid())).unwrap().count()
}

async fn healthy_tool(proxy: &Proxy, tool: &FakeTool) {
    let upstream = tool.address;
    let failures = format!(r#"utg_upstream_connect_failures_total{{tool="qr",upstream="{upstream}"}}"#);
    assert_eq!(proxy.metric(&failures).await, Some(0.0));
    assert_eq!(proxy.upstream_health(Tool::Qr).await, ["healthy"]);
    assert!(!proxy.output().contains("upstream health changed: tool=qr upstream=127.0.0.1:1 "));
    let changed = format!("upstream health changed: tool=qr upstream={upstream}");
    assert!(!proxy.output().lines().any(|line| line.contains(&changed) && line.contains("unhealthy")));
}

/// 150 slow calls over 300 files: those whose connection is accepted are served.
#[tokio::test]
async fn slow_calls_over_few_files_leave_the_upstream_healthy() {
    let tool = FakeTool::start(ToolBehavior::Wait).await;
    let config = ProxyConfig::new().tool(Tool::Qr, &[&tool]).open_files(300);
    let config = config.line("clients", "calls_in_flight_per_key = 1000\nconnections_per_address = 1000");
    let proxy = config.ready().await;
    let mut clients = Vec::new();
    for _ in 0..150 {
        let mut client = Client::connect(proxy.listen).await;
        client.try_write(&call("GET", "/v1/qr/a").bytes()).await;
        clients.push(client);
    }
    let refused = async |limit: &str| {
        let metric = format!("utg_limits_exceeded_total{{limit=\"{limit}\"}}");
        proxy.metric(&metric).await.unwrap() as usize
    };
    until("each call is in flight or refused", || async {
        tool.calls() + refused("connections").await + refused("open_files").await == 150
    })
    .await;
    // Listeners, probes and the admin port have their reserve.
    assert!(open_files(&proxy) <= 300 - 20, "{}", open_files(&proxy));
    let in_flight = tool.calls();
    assert!(in_flight > 80, "{in_flight}");
    tool.release();
    let statuses = join_all(clients.iter_mut().map(|client| client.response("GET"))).await;
    let (served, others): (Vec<_>, Vec<_>) =
        statuses.iter().flatten().partition(|response| response.status == 200);
    assert_eq!(served.len(), in_flight);
    // A connection that is refused keeps its file for a moment, in which a call may find none. One whose
    // request is late, on a busy machine, is idle: it is closed for another one, and counted alike.
    let (unconnected, without_file) = (refused("connections").await, refused("open_files").await);
    assert!(others.len() <= without_file, "{} responses for {without_file}", others.len());
    assert_eq!(statuses.iter().flatten().count(), 150 - unconnected - (without_file - others.len()));
    assert!(others.iter().all(|response| response.problem() == "tool-overloaded"));
    healthy_tool(&proxy, &tool).await;
    proxy.logs("connections limited by open files (LimitNOFILE): open_files=300").await;
}

/// Uses up every file descriptor, the reserve included, by connections to the admin port. Those that
/// are not accepted yet take the next descriptors that become free.
async fn exhaust(proxy: &Proxy, files: usize) -> Vec<Client> {
    let mut open = Vec::new();
    for _ in 0..files + 50 {
        open.extend(Client::try_connect(proxy.admin).await);
    }
    until("probes find no file", || async { proxy.output().matches("probe not made: tool=qr").count() > 5 })
        .await;
    open
}

/// Makes a call, and returns its status.
async fn status(client: &mut Client) -> u16 {
    client.write(&call("GET", "/v1/qr/a").bytes()).await;
    client.response("GET").await.expect("a response").status
}

#[tokio::test]
async fn call_without_a_file_is_503_and_no_evidence() {
    let tool = FakeTool::start(ToolBehavior::Describe).await;
    let config = ProxyConfig::new().tool(Tool::Qr, &[&tool]).open_files(200);
    let proxy = config.section("", "idle_upstream_connections = 0\n").ready().await;
    let mut client = Client::connect(proxy.listen).await;
    assert_eq!(status(&mut client).await, 200);
    let admin = exhaust(&proxy, 200).await;
    // A descriptor that a probe has just freed may be there for some calls.
    let mut refused = None;
    while refused.is_none() {
        client.write(&call("GET", "/v1/qr/a").bytes()).await;
        refused = client.response("GET").await.filter(|response| response.status != 200);
    }
    let refused = refused.unwrap();
    assert_eq!((refused.status, refused.problem().as_str()), (503, "tool-overloaded"));
    assert_eq!(refused.header("retry-after"), Some("1"));
    drop(admin);
    until("there are files again", || async { open_files(&proxy) < 150 }).await;
    assert_eq!(status(&mut client).await, 200);
    healthy_tool(&proxy, &tool).await;
    assert!(proxy.metric(r#"utg_limits_exceeded_total{limit="open_files"}"#).await >= Some(1.0));
}

#[tokio::test]
async fn idle_connection_is_closed_for_a_call_without_a_file() {
    // Each call needs a new connection.
    let closes = b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n".to_vec();
    let tool = FakeTool::start(ToolBehavior::RespondAndClose(closes)).await;
    let other = FakeTool::start(ToolBehavior::Describe).await;
    let config = ProxyConfig::new().tool(Tool::Qr, &[&tool]).tool(Tool::Pdf, &[&other]).open_files(200);
    let proxy = config.pool_line(Tool::Pdf, "keep_idle = \"5m\"").ready().await;
    let mut client = Client::connect(proxy.listen).await;
    client.write(&call("GET", "/v1/pdf/a").bytes()).await;
    assert_eq!(client.response("GET").await.unwrap().status, 200);
    let _admin = exhaust(&proxy, 200).await;
    loop {
        let status = status(&mut client).await;
        // A connection to the admin port that waits may take the file first.
        if other.connections() == 0 {
            assert!(matches!(status, 200 | 503), "{status}");
            break;
        }
        assert_eq!(status, 200, "a descriptor that a probe has just freed");
    }
}

/// Makes so many calls, each over a new connection that stays open. One that is closed for lack of a
/// file is opened again, because connections that have just become idle are kept.
async fn open_idle(proxy: &Proxy, number: usize) -> Vec<Client> {
    let (mut clients, begun) = (Vec::new(), Instant::now());
    while clients.len() < number {
        assert!(begun.elapsed() < PATIENCE, "{} connections are open", clients.len());
        let mut client = Client::connect(proxy.listen).await;
        client.try_write(&call("GET", "/v1/qr/a").bytes()).await;
        if let Some(response) = client.response("GET").await {
            assert_eq!(response.status, 200);
            clients.push(client);
        }
    }
    clients
}

/// 300 files are about 100 connections of clients.
#[tokio::test]
async fn oldest_idle_client_is_closed_for_a_new_one_without_a_file() {
    let tool = FakeTool::start(ToolBehavior::Describe).await;
    let config = ProxyConfig::new().tool(Tool::Qr, &[&tool]).open_files(300);
    let proxy = config.line("clients", "connections_per_address = 1000").ready().await;
    let mut clients = open_idle(&proxy, 150).await;
    let evicted = proxy.metric(r#"utg_limits_exceeded_total{limit="open_files"}"#).await.unwrap() as usize;
    assert!(evicted > 30, "{evicted}");
    // The rest is open: each of them is served again. Each thread of the proxy closes its own oldest.
    let mut closed = Vec::new();
    for (number, client) in clients.iter_mut().enumerate() {
        client.try_write(&call("GET", "/v1/qr/a").bytes()).await;
        match client.response("GET").await {
            Some(response) => assert_eq!(response.status, 200, "{number}"),
            None => closed.push(number),
        }
    }
    assert_eq!(closed.len(), evicted, "{closed:?}");
    assert!(closed.iter().all(|&number| number < 100), "the newest are open: {closed:?}");
    healthy_tool(&proxy, &tool).await;
}

#[tokio::test]
async fn connection_with_a_call_or_a_begun_request_is_not_closed_for_a_new_one() {
    let tool = FakeTool::start(ToolBehavior::Describe).await;
    let config = ProxyConfig::new().tool(Tool::Qr, &[&tool]).open_files(300);
    let proxy = config.line("clients", "connections_per_address = 1000").ready().await;
    let mut oldest = open_idle(&proxy, 2).await;
    tool.set(ToolBehavior::Wait);
    oldest[0].write(&call("GET", "/v1/qr/a").bytes()).await;
    until("the tool has the call", || async { tool.calls() == 3 }).await;
    tool.set(ToolBehavior::Describe);
    let request = call("GET", "/v1/qr/a").bytes();
    oldest[1].write(&request[..10]).await;
    let _clients = open_idle(&proxy, 150).await;
    tool.release();
    assert_eq!(oldest[0].response("GET").await.expect("a response").status, 200);
    oldest[1].write(&request[10..]).await;
    assert_eq!(oldest[1].response("GET").await.expect("a response").status, 200);
}

#[tokio::test]
async fn idle_http2_client_is_closed_for_a_new_one_without_a_file() {
    let tool = FakeTool::start(ToolBehavior::Describe).await;
    let config = ProxyConfig::new().tool(Tool::Qr, &[&tool]).open_files(300);
    let proxy = config.line("clients", "h2c = true\nconnections_per_address = 1000").ready().await;
    let http2 = Http2Client::prior_knowledge(proxy.listen).await;
    assert_eq!(http2.send(&call("GET", "/v1/qr/a")).await.status, 200);
    let _clients = open_idle(&proxy, 150).await;
    http2.closed().await.unwrap();
}
