//! Retries: an idempotent call is retried on another upstream, any other one is not.

use std::time::{Duration, Instant};

use bytes::Bytes;
use shared::tool::Tool;

use tests::{
    FakeTool, ToolBehavior,
    grant::{call, post},
    http2::{self, Http2Client},
    proxy::{Proxy, ProxyConfig},
    until,
};

async fn one_of_two_fails(behavior: ToolBehavior, line: &str) -> (FakeTool, FakeTool, Proxy) {
    let (bad, good) = (FakeTool::start(behavior).await, FakeTool::start(ToolBehavior::Describe).await);
    let config = ProxyConfig::new().tool(Tool::Qr, &[&bad, &good]).pool_line(Tool::Qr, line);
    (bad, good, config.ready().await)
}

#[tokio::test]
async fn get_is_retried_on_another_upstream_after_any_failure() {
    for (why, behavior) in [
        ("closes", ToolBehavior::RespondAndClose(Vec::new())),
        ("resets", ToolBehavior::RespondAndReset(Vec::new())),
        ("half a head", ToolBehavior::RespondAndClose(b"HTTP/1.1 200 OK\r\nA: b".to_vec())),
        ("garbage", ToolBehavior::RespondAndClose(b"SSH-2.0-OpenSSH_9\r\n\r\n".to_vec())),
        (
            "too large headers",
            ToolBehavior::Respond(
                format!("HTTP/1.1 200 OK\r\nA: {}\r\n\r\n", "b".repeat(100 << 10)).into_bytes(),
            ),
        ),
        ("hangs", ToolBehavior::Wait),
    ] {
        let (bad, good, proxy) = one_of_two_fails(behavior, "try_timeout = \"200ms\"").await;
        for _ in 0..4 {
            assert_eq!(proxy.send(call("GET", "/v1/qr/generate")).await.status, 200, "{why}");
        }
        assert_eq!(good.calls(), 4, "{why}");
        let retried = proxy.metric(r#"utg_upstream_retries_total{after="response",tool="qr"}"#).await;
        assert_eq!(retried, Some(bad.calls() as f64), "{why}");
        assert!(bad.calls() > 0, "{why}");
    }
}

#[tokio::test]
async fn post_is_not_retried_after_send() {
    for behavior in [ToolBehavior::RespondAndReset(Vec::new()), ToolBehavior::Wait] {
        let line = "answer_timeout = \"300ms\"\ntry_timeout = \"100ms\"";
        let (bad, good, proxy) = one_of_two_fails(behavior, line).await;
        let mut answers = Vec::new();
        for _ in 0..2 {
            answers.push(proxy.send(post("/v1/qr/generate", "{}")).await.status);
        }
        answers.sort_unstable();
        assert_eq!(answers, [200, 503]);
        assert_eq!((bad.calls(), good.calls()), (1, 1));
    }
}

#[tokio::test]
async fn retried_get_sends_its_whole_body() {
    let (bad, good) = (
        FakeTool::start(ToolBehavior::RespondAndClose(Vec::new())).await,
        FakeTool::start(ToolBehavior::Describe).await,
    );
    let config = ProxyConfig::new().tool(Tool::Qr, &[&bad, &good]).line("clients", "h2c = true");
    let proxy = config.ready().await;
    // Over HTTP/2 a head need not say that a body follows, so that a GET can have one.
    let client = Http2Client::prior_knowledge(proxy.listen).await;
    for _ in 0..2 {
        let (response, mut body) = client.begin(&call("GET", "/v1/qr/generate")).await;
        body.send_data(Bytes::from_static(b"{\"a\":1}"), true).unwrap();
        let response = http2::read(response, false).await.unwrap();
        assert_eq!((response.status, response.json()["body"].as_str()), (200, Some("{\"a\":1}")));
    }
    assert_eq!(good.calls(), 2);
}

#[tokio::test]
async fn retried_get_sends_the_same_head() {
    let (bad, good, proxy) = one_of_two_fails(ToolBehavior::RespondAndClose(Vec::new()), "").await;
    for _ in 0..2 {
        let request = call("GET", "/v1/qr/generate?a=b%20c").header("X-Mine", "yes");
        assert_eq!(proxy.send(request.header("x-mine", "too")).await.status, 200);
    }
    // All but the server that it is addressed to.
    let head = |tool: &FakeTool, request: &str| request.replace(&tool.address.to_string(), "tool");
    let failed = bad.received();
    assert!(!failed.is_empty());
    for request in &failed {
        let again = good.received().iter().any(|other| head(&good, other) == head(&bad, request));
        assert!(again, "{request} is not among {:?}", good.received());
    }
}

#[tokio::test]
async fn tries_share_the_answer_timeout() {
    let (one, two) = (FakeTool::start(ToolBehavior::Wait).await, FakeTool::start(ToolBehavior::Wait).await);
    let config = ProxyConfig::new().tool(Tool::Qr, &[&one, &two]);
    let line = "answer_timeout = \"600ms\"\ntry_timeout = \"400ms\"";
    let proxy = config.pool_line(Tool::Qr, line).ready().await;
    let response = proxy.send(call("GET", "/v1/qr/generate")).await;
    assert_eq!((response.status, response.problem().as_str()), (503, "tool-timeout"));
    assert_eq!((one.calls(), two.calls()), (1, 1));
    // With 600 ms for the call and 400 ms for a try, the second try ends with the call.
    for limit in ["try_timeout", "answer_timeout"] {
        let series = format!(r#"utg_limits_exceeded_total{{limit="{limit}"}}"#);
        assert_eq!(proxy.metric(&series).await, Some(1.0), "{series}");
    }
}

#[tokio::test]
async fn idle_connection_is_closed_after_keep_idle() {
    let (tool, other) =
        (FakeTool::start(ToolBehavior::Describe).await, FakeTool::start(ToolBehavior::Describe).await);
    let config = ProxyConfig::new().tool(Tool::Qr, &[&tool]).pool_line(Tool::Qr, "keep_idle = \"100ms\"");
    let config = config.tool(Tool::Pdf, &[&other]).pool_line(Tool::Pdf, "keep_idle = \"2m\"");
    let proxy = config.ready().await;
    for tool in [Tool::Qr, Tool::Pdf] {
        assert_eq!(proxy.send(post(&format!("/v1/{tool}/a"), "{}")).await.status, 200);
    }
    until("it is closed", || async { tool.connections() == 0 }).await;
    assert_eq!(other.connections(), 1, "the pool with a longer `keep_idle` keeps its connection");
    assert_eq!(proxy.send(post("/v1/qr/a", "{}")).await.status, 200);
}

#[tokio::test]
async fn retries_stay_within_their_budget() {
    let line = "retry_percent = 0\neject_percent = 0";
    let (bad, _good, proxy) = one_of_two_fails(ToolBehavior::RespondAndClose(Vec::new()), line).await;
    let started = Instant::now();
    let mut refused = 0;
    for _ in 0..80 {
        refused += usize::from(proxy.send(call("GET", "/v1/qr/generate")).await.status == 503);
    }
    // The bucket starts with ten tokens and earns three a second.
    let earned = 10 + 3 * (started.elapsed().as_secs() as usize + 1);
    let retried =
        proxy.metric(r#"utg_upstream_retries_total{after="response",tool="qr"}"#).await.unwrap() as usize;
    assert!(refused > 0 && retried >= 10 && retried <= earned, "{retried} retried, {refused} refused");
    assert_eq!(bad.calls(), retried + refused, "each call to it failed");
}

#[tokio::test]
async fn call_without_a_retry_has_the_whole_answer_timeout() {
    let said = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
    // The head takes longer than `try_timeout` and less than `answer_timeout`.
    let slow = || ToolBehavior::Drip(said.to_vec(), Duration::from_millis(8));
    let (one, two) = (FakeTool::start(slow()).await, FakeTool::start(slow()).await);
    let line = "answer_timeout = \"5s\"\ntry_timeout = \"100ms\"\nretry_percent = 0\neject_percent = 0";
    let proxy = ProxyConfig::new().tool(Tool::Qr, &[&one, &two]).pool_line(Tool::Qr, line).ready().await;
    // More parallel calls than the budget has retries.
    let calls = (0..60).map(|_| proxy.send(call("GET", "/v1/qr/generate")));
    let answers = futures_util::future::join_all(calls).await;
    let statuses: Vec<_> =
        answers.iter().map(|response| response.status).filter(|&status| status != 200).collect();
    assert!(statuses.is_empty(), "{statuses:?}");
    assert!(proxy.metric(r#"utg_limits_exceeded_total{limit="retry_percent"}"#).await > Some(0.0));
}
