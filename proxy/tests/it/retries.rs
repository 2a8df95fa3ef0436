//! A call that can be made again without harm goes to another server; any other is never made twice.

use std::time::{Duration, Instant};

use shared::tool::Tool;

use crate::support::{
    FakeTool, Manner,
    grant::{call, post},
    proxy::{Proxy, Setup},
    until,
};

async fn one_of_two_fails(manner: Manner, line: &str) -> (FakeTool, FakeTool, Proxy) {
    let (bad, good) = (FakeTool::start(manner).await, FakeTool::start(Manner::Describe).await);
    let setup = Setup::new().tool(Tool::Qr, &[&bad, &good]).pool_line(Tool::Qr, line);
    (bad, good, setup.ready().await)
}

#[tokio::test]
async fn a_get_goes_to_another_server_however_the_first_one_fails() {
    for (why, manner) in [
        ("closes", Manner::SayAndClose(Vec::new())),
        ("resets", Manner::SayAndReset(Vec::new())),
        ("half a head", Manner::SayAndClose(b"HTTP/1.1 200 OK\r\nA: b".to_vec())),
        ("garbage", Manner::SayAndClose(b"SSH-2.0-OpenSSH_9\r\n\r\n".to_vec())),
        (
            "too large headers",
            Manner::Say(format!("HTTP/1.1 200 OK\r\nA: {}\r\n\r\n", "b".repeat(100 << 10)).into_bytes()),
        ),
        ("hangs", Manner::Wait),
    ] {
        let (bad, good, proxy) = one_of_two_fails(manner, "try_timeout = \"200ms\"").await;
        for _ in 0..4 {
            assert_eq!(proxy.send(call("GET", "/v1/qr/generate")).await.status, 200, "{why}");
        }
        assert_eq!(good.calls(), 4, "{why}");
        let retried = proxy.metric(r#"utg_upstream_retries_total{after="answer",tool="qr"}"#).await;
        assert_eq!(retried, Some(bad.calls() as f64), "{why}");
        assert!(bad.calls() > 0, "{why}");
    }
}

#[tokio::test]
async fn a_post_that_was_sent_is_never_sent_again() {
    for manner in [Manner::SayAndReset(Vec::new()), Manner::Wait] {
        let line = "answer_timeout = \"300ms\"\ntry_timeout = \"100ms\"";
        let (bad, good, proxy) = one_of_two_fails(manner, line).await;
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
    let (_bad, good, proxy) = one_of_two_fails(Manner::SayAndClose(Vec::new()), "").await;
    for _ in 0..2 {
        let answer = proxy.send(call("GET", "/v1/qr/generate").json("{\"a\":1}")).await;
        assert_eq!((answer.status, answer.json()["body"].as_str()), (200, Some("{\"a\":1}")));
    }
    assert_eq!(good.calls(), 2);
}

#[tokio::test]
async fn all_tries_together_have_the_time_of_one_call() {
    let (one, two) = (FakeTool::start(Manner::Wait).await, FakeTool::start(Manner::Wait).await);
    let setup = Setup::new().tool(Tool::Qr, &[&one, &two]);
    let line = "answer_timeout = \"600ms\"\ntry_timeout = \"400ms\"";
    let proxy = setup.pool_line(Tool::Qr, line).ready().await;
    let begun = Instant::now();
    let answer = proxy.send(call("GET", "/v1/qr/generate")).await;
    assert_eq!((answer.status, answer.problem().as_str()), (503, "tool-timeout"));
    assert!(begun.elapsed() >= Duration::from_millis(600), "{:?}", begun.elapsed());
    assert!(begun.elapsed() < Duration::from_secs(2), "{:?}", begun.elapsed());
    assert_eq!((one.calls(), two.calls()), (1, 1));
}

#[tokio::test]
async fn a_connection_without_calls_is_closed_before_the_server_would() {
    let tool = FakeTool::start(Manner::Describe).await;
    let proxy =
        Setup::new().tool(Tool::Qr, &[&tool]).pool_line(Tool::Qr, "keep_idle = \"100ms\"").ready().await;
    assert_eq!(proxy.send(post("/v1/qr/a", "{}")).await.status, 200);
    let closed = until("it is closed", || async { tool.callers() == 0 }).await;
    // By itself it would be kept for four seconds.
    assert!(closed < Duration::from_secs(2), "{closed:?}");
    assert_eq!(proxy.send(post("/v1/qr/a", "{}")).await.status, 200);
}

#[tokio::test]
async fn retries_stay_within_their_budget() {
    let line = "retry_percent = 0\neject_percent = 0";
    let (bad, _good, proxy) = one_of_two_fails(Manner::SayAndClose(Vec::new()), line).await;
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
    // The answer's head takes longer than one try and less than a call.
    let slow = || Manner::Drip(said.to_vec(), Duration::from_millis(8));
    let (one, two) = (FakeTool::start(slow()).await, FakeTool::start(slow()).await);
    let line = "answer_timeout = \"5s\"\ntry_timeout = \"100ms\"\nretry_percent = 0\neject_percent = 0";
    let proxy = Setup::new().tool(Tool::Qr, &[&one, &two]).pool_line(Tool::Qr, line).ready().await;
    // More at once than the budget has retries for.
    let calls = (0..60).map(|_| proxy.send(call("GET", "/v1/qr/generate")));
    let answers = futures_util::future::join_all(calls).await;
    let statuses: Vec<_> =
        answers.iter().map(|answer| answer.status).filter(|&status| status != 200).collect();
    assert!(statuses.is_empty(), "{statuses:?}");
    assert!(proxy.metric(r#"utg_limits_exceeded_total{limit="retry_percent"}"#).await > Some(0.0));
}
