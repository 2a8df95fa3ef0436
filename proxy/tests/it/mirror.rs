//! Copies of calls to a second server.

use shared::tool::Tool;
use tests::{
    FakeTool, ToolBehavior,
    grant::{call, post},
    proxy::{Proxy, ProxyConfig},
    transport::Transport,
    until,
};

/// A proxy with a tool, and a mirror that behaves so. Only the relay copies calls.
async fn with(mirror: &FakeTool, lines: &str) -> (FakeTool, Proxy) {
    let tool = FakeTool::start(ToolBehavior::Describe).await;
    let config = ProxyConfig::new().transport(Transport::Relay).tool(Tool::Qr, &[&tool]);
    let lines = format!("mirror = \"{}\"\n{lines}", mirror.address);
    (tool, config.pool_line(Tool::Qr, &lines).ready().await)
}

fn counter(outcome: &str) -> String {
    format!("utg_mirrored_calls_total{{outcome=\"{outcome}\"}}")
}

#[tokio::test]
async fn mirror_gets_each_call_with_its_body_and_a_mark() {
    let mirror = FakeTool::start(ToolBehavior::Describe).await;
    let (tool, proxy) = with(&mirror, "").await;
    assert_eq!(proxy.send(call("GET", "/v1/qr/a?b=c")).await.status, 200);
    assert_eq!(proxy.send(post("/v1/qr/generate", "{\"text\":\"hello\"}")).await.status, 200);
    proxy.metric_is(&counter("sent"), 2.0).await;
    assert_eq!(tool.calls(), 2);
    let received = mirror.received().join("\n");
    assert!(received.contains("GET /a?b=c HTTP/1.1"), "{received}");
    assert!(received.contains("POST /generate HTTP/1.1"), "{received}");
    assert_eq!(received.matches("x-gateway-mirrored: 1").count(), 2, "{received}");
    assert!(!tool.received().join("\n").contains("mirrored"));
}

#[tokio::test]
async fn call_does_not_wait_for_a_mirror_that_hangs_or_is_away() {
    let mirror = FakeTool::start(ToolBehavior::Wait).await;
    let (tool, proxy) = with(&mirror, "").await;
    for _ in 0..70 {
        assert_eq!(proxy.send(call("GET", "/v1/qr/a")).await.status, 200);
    }
    assert_eq!(tool.calls(), 70);
    // As many copies as may be in flight hang.
    proxy.metric_is(&counter("skipped"), 6.0).await;
    mirror.release();
    proxy.metric_is(&counter("sent"), 64.0).await;
    mirror.stop().await;
    assert_eq!(proxy.send(call("GET", "/v1/qr/a")).await.status, 200);
    proxy.metric_is(&counter("failed"), 1.0).await;
}

#[tokio::test]
async fn body_that_is_not_buffered_whole_is_not_mirrored() {
    let mirror = FakeTool::start(ToolBehavior::Describe).await;
    let (_tool, proxy) = with(&mirror, "").await;
    let long = format!("\"{}\"", "a".repeat(200_000));
    assert_eq!(proxy.send(post("/v1/qr/a", &long)).await.status, 200);
    proxy.metric_is(&counter("skipped"), 1.0).await;
    assert_eq!(mirror.calls(), 0);
}

#[tokio::test]
async fn mirror_gets_its_share_of_calls() {
    let mirror = FakeTool::start(ToolBehavior::Describe).await;
    let (_tool, proxy) = with(&mirror, "mirror_percent = 20").await;
    for _ in 0..200 {
        assert_eq!(proxy.send(call("GET", "/v1/qr/a")).await.status, 200);
    }
    until("the last copy has arrived", || async {
        proxy.metric(&counter("sent")).await == Some(mirror.calls() as f64)
    })
    .await;
    // 40 are expected; this range has all but one of 10^9 runs.
    assert!((8..=80).contains(&mirror.calls()), "{}", mirror.calls());
}
