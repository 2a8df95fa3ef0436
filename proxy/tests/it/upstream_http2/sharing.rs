//! The number of HTTP/2 connections to a tool, and the independence of calls over one of them.

use std::time::Duration;

use futures_util::future::join_all;
use shared::tool::Tool;

use super::{calling, config, pingora_proxy};
use tests::{
    Client,
    grant::{call, post},
    http2_tool::{H2ToolBehavior, Http2Tool},
    keys::GRANT_SECRET,
    load::Load,
    proxy::Proxy,
    until,
};

async fn resident(proxy: &Proxy) -> f64 {
    proxy.metric("process_resident_memory_bytes").await.unwrap()
}

#[tokio::test]
async fn calls_share_a_connection_that_is_in_use() {
    let (tool, proxy) = calling(H2ToolBehavior::Wait, "").await;
    let mut clients = Vec::new();
    // Calls that come at once may each make a connection before the first can be shared.
    for waiting in 1..=20 {
        let mut client = Client::connect(proxy.listen).await;
        client.write(&post("/v1/qr/a", "{}").bytes()).await;
        until("the call waits", || async { tool.in_flight() == waiting }).await;
        clients.push(client);
    }
    tool.release();
    for mut client in clients {
        assert_eq!(client.response("POST").await.unwrap().status, 200);
    }
    assert_eq!(tool.connections(), 1);
}

#[tokio::test]
async fn connection_carries_no_more_calls_than_its_tool_allows() {
    for most in [1, 2] {
        let tool = Http2Tool::with_max_streams(most).await;
        let proxy = config(&tool, "").ready().await;
        for _ in 0..3 {
            let responses = join_all((0..20).map(|_| proxy.send(post("/v1/qr/a", "{}")))).await;
            assert!(responses.iter().all(|response| response.status == 200));
        }
        assert_eq!(tool.most_under_way(), most as usize);
    }
}

#[tokio::test]
async fn a_connection_without_work_is_closed() {
    let (tool, proxy) = calling(H2ToolBehavior::Describe, "keep_idle = \"300ms\"").await;
    assert_eq!(proxy.send(call("GET", "/v1/qr/a")).await.status, 200);
    assert_eq!(tool.open(), 1);
    until("it is closed", || async { tool.open() == 0 }).await;
    assert_eq!(proxy.send(call("GET", "/v1/qr/a")).await.status, 200);
}

#[tokio::test]
async fn connection_to_a_removed_server_is_closed_after_keep_idle() {
    let (tool, other) =
        (Http2Tool::start(H2ToolBehavior::Wait).await, Http2Tool::start(H2ToolBehavior::Describe).await);
    let proxy = config(&tool, "keep_idle = \"300ms\"").ready().await;
    let mut client = Client::connect(proxy.listen).await;
    client.write(&post("/v1/qr/a", "{}").bytes()).await;
    until("a call waits", || async { tool.in_flight() == 1 }).await;
    proxy.reload(&config(&other, ""));
    proxy.generation_after(1).await;
    assert_eq!(proxy.send(call("GET", "/v1/qr/a")).await.status, 200);
    assert_eq!(other.calls(), 1);
    tool.release();
    assert_eq!(client.response("POST").await.expect("a response").status, 200);
    until("it is closed", || async { tool.open() == 0 }).await;
}

#[tokio::test]
async fn without_room_for_idle_connections_none_waits() {
    let tool = Http2Tool::start(H2ToolBehavior::Describe).await;
    let config = config(&tool, "keep_idle = \"60s\"").section("", "idle_upstream_connections = 0\n");
    let proxy = config.ready().await;
    for calls in 1..=3 {
        assert_eq!(proxy.send(post("/v1/qr/a", "{}")).await.status, 200);
        assert_eq!(tool.connections(), calls);
        until("it is closed", || async { tool.open() == 0 }).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn connections_that_are_told_to_end_under_load_fail_no_call() {
    let tool = Http2Tool::start(H2ToolBehavior::Describe).await;
    // Probes are told so as well, and do not ask again.
    let lines = "http2 = true\nprobe.fall = 100";
    let config = [Tool::Qr, Tool::Pdf, Tool::Yt].into_iter().fold(pingora_proxy(), |config, name| {
        config.upstreams(name, &[&tool.address.to_string()]).pool_line(name, lines)
    });
    let proxy = config.ready().await;
    let load = Load::start(proxy.listen, GRANT_SECRET);
    for _ in 0..25 {
        let before = tool.connections();
        tool.leave();
        load.progress().await;
        until("other connections are made", || async { tool.connections() > before }).await;
    }
    assert!(load.assert_no_failure().await > 50);
}

#[tokio::test]
async fn who_takes_nothing_keeps_nothing_from_others_and_fills_no_memory() {
    const LENGTH: usize = 64 << 20;
    let tool = Http2Tool::start(H2ToolBehavior::Much(LENGTH)).await;
    let proxy = config(&tool, "").ready().await;
    let before = resident(&proxy).await;
    let mut slow = Vec::new();
    for _ in 0..20 {
        let mut client = Client::connect(proxy.listen).await;
        client.write(&call("GET", "/v1/qr/a").bytes()).await;
        // It reads no further than its head.
        assert!(client.head().await.unwrap().starts_with("HTTP/1.1 200 "));
        slow.push(client);
    }
    tool.set(H2ToolBehavior::Describe);
    for _ in 0..10 {
        assert_eq!(proxy.send(post("/v1/qr/a", "{}")).await.status, 200);
    }
    tool.set(H2ToolBehavior::Much(LENGTH));
    // The whole of it is more than any window or buffer, many times over.
    assert_eq!(proxy.send(call("GET", "/v1/qr/a")).await.body.len(), LENGTH);
    let more = resident(&proxy).await - before;
    assert!(more < 32e6, "{more} bytes more than at the beginning");
    assert!(tool.connections() <= 10);
    drop(slow);
    until("their calls are taken back", || async { tool.in_flight() == 0 }).await;
    assert_eq!(tool.canceled(), 20);
}

#[tokio::test]
async fn a_tool_that_reads_slowly_slows_its_client_down_and_fills_no_memory() {
    const LENGTH: usize = 48 << 20;
    let tool = Http2Tool::start(H2ToolBehavior::Sip(Duration::from_millis(1))).await;
    let proxy = config(&tool, "max_body = \"64MiB\"").ready().await;
    let before = resident(&proxy).await;
    let response = proxy.send(post("/v1/qr/a", &"a".repeat(LENGTH))).await;
    assert_eq!((response.status, response.body.as_slice()), (200, LENGTH.to_string().as_bytes()));
    let more = resident(&proxy).await - before;
    assert!(more < 20e6, "{more} bytes more than at the beginning");
}
