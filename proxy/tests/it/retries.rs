//! A call that can be made again without harm goes to another server; any other is never made twice.

use std::time::{Duration, Instant};

use shared::tool::Tool;

use tests::{
    FakeTool, ToolBehavior,
    grant::{call, post},
    proxy::{Proxy, ProxyConfig},
    until,
};

async fn one_of_two_fails(behavior: ToolBehavior, line: &str) -> (FakeTool, FakeTool, Proxy) {
    let (bad, good) = (FakeTool::start(behavior).await, FakeTool::start(ToolBehavior::Describe).await);
    let config = ProxyConfig::new().tool(Tool::Qr, &[&bad, &good]).pool_line(Tool::Qr, line);
    (bad, good, config.ready().await)
}

#[tokio::test]
async fn a_get_goes_to_another_server_however_the_first_one_fails() {
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
async fn a_post_that_was_sent_is_never_sent_again() {
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
async fn a_body_of_a_get_is_sent_again_whole() {
    let (_bad, good, proxy) = one_of_two_fails(ToolBehavior::RespondAndClose(Vec::new()), "").await;
    for _ in 0..2 {
        let response = proxy.send(call("GET", "/v1/qr/generate").json("{\"a\":1}")).await;
        assert_eq!((response.status, response.json()["body"].as_str()), (200, Some("{\"a\":1}")));
    }
    assert_eq!(good.calls(), 2);
}

#[tokio::test]
async fn all_tries_together_have_the_time_of_one_call() {
    let (one, two) = (FakeTool::start(ToolBehavior::Wait).await, FakeTool::start(ToolBehavior::Wait).await);
    let config = ProxyConfig::new().tool(Tool::Qr, &[&one, &two]);
    let line = "answer_timeout = \"600ms\"\ntry_timeout = \"400ms\"";
    let proxy = config.pool_line(Tool::Qr, line).ready().await;
    let begun = Instant::now();
    let response = proxy.send(call("GET", "/v1/qr/generate")).await;
    assert_eq!((response.status, response.problem().as_str()), (503, "tool-timeout"));
    assert!(begun.elapsed() >= Duration::from_millis(600), "{:?}", begun.elapsed());
    assert!(begun.elapsed() < Duration::from_secs(2), "{:?}", begun.elapsed());
    assert_eq!((one.calls(), two.calls()), (1, 1));
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
    let begun = Instant::now();
    let mut refused = 0;
    for _ in 0..80 {
        refused += usize::from(proxy.send(call("GET", "/v1/qr/generate")).await.status == 503);
    }
    let floor = 10 + 3 * (begun.elapsed().as_secs() as usize + 1);
    let retried = bad.calls() - refused;
    assert!(refused > 0 && retried >= 10 && retried <= floor, "{retried} retried, {refused} refused");
}

#[tokio::test]
async fn without_a_retry_to_spend_the_first_server_has_the_time_of_the_whole_call() {
    let said = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
    // The response's head takes longer than one try and less than a call.
    let slow = || ToolBehavior::Drip(said.to_vec(), Duration::from_millis(8));
    let (one, two) = (FakeTool::start(slow()).await, FakeTool::start(slow()).await);
    let line = "answer_timeout = \"5s\"\ntry_timeout = \"100ms\"\nretry_percent = 0\neject_percent = 0";
    let proxy = ProxyConfig::new().tool(Tool::Qr, &[&one, &two]).pool_line(Tool::Qr, line).ready().await;
    // More at once than the budget has retries for.
    let calls = (0..60).map(|_| proxy.send(call("GET", "/v1/qr/generate")));
    let answers = futures_util::future::join_all(calls).await;
    let statuses: Vec<_> =
        answers.iter().map(|response| response.status).filter(|&status| status != 200).collect();
    assert!(statuses.is_empty(), "{statuses:?}");
    assert!(proxy.metric(r#"utg_limits_exceeded_total{limit="retry_percent"}"#).await > Some(0.0));
}
