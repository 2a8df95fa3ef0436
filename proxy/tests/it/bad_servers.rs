//! Servers that cut, lie or are slow: outlier detection by status and time, retries on a status, panic
//! mode and the queue of a full pool.

use std::{
    sync::atomic::{AtomicUsize, Ordering},
    time::Duration,
};

use futures_util::future::{join, join_all};
use shared::tool::Tool;

use tests::{
    Client, FakeTool, ToolBehavior,
    grant::{call, post},
    proxy::{Proxy, ProxyConfig},
    until,
};

const ERROR: &[u8] = b"HTTP/1.1 500 Internal Server Error\r\nX-Of: tool\r\nContent-Length: 4\r\n\r\noops";

async fn pool_of(behaviors: [ToolBehavior; 3], lines: &str) -> (Vec<FakeTool>, Proxy) {
    let mut tools = Vec::new();
    for behavior in behaviors {
        tools.push(FakeTool::start(behavior).await);
    }
    let config = ProxyConfig::new().tool(Tool::Qr, &tools.iter().collect::<Vec<_>>());
    let proxy = config.pool_line(Tool::Qr, lines).ready().await;
    (tools, proxy)
}

fn healthy() -> [ToolBehavior; 3] {
    [const { ToolBehavior::Describe }; 3]
}

async fn ejections(proxy: &Proxy, tool: &FakeTool) -> f64 {
    proxy.ejections(&tool.address.to_string()).await
}

/// Lines of a pool that ejects servers by all that shows in their responses.
const EJECTING: &str =
    "eject_statuses = [500, 502]\neject_slow_factor = 10\nretry_statuses = [500]\nslow_start = \"0s\"";

/// GETs, and how many of them failed.
#[derive(Default)]
struct Gets {
    sent: AtomicUsize,
    failed: AtomicUsize,
}

impl Gets {
    /// Sends some: the median of servers' times needs a few.
    async fn warmed(proxy: &Proxy) -> Self {
        let gets = Self::default();
        for _ in 0..30 {
            gets.send(proxy).await;
        }
        gets
    }

    async fn send(&self, proxy: &Proxy) {
        let response = Client::send_once(proxy.listen, &call("GET", "/v1/qr/a")).await;
        self.sent.fetch_add(1, Ordering::Relaxed);
        let is_whole = response.is_some_and(|response| response.status == 200);
        self.failed.fetch_add(usize::from(!is_whole), Ordering::Relaxed);
    }

    /// Asserts that at most 1 % failed.
    fn assert_few_failed(&self, bad: &ToolBehavior) {
        let [sent, failed] = [&self.sent, &self.failed].map(|count| count.load(Ordering::Relaxed));
        assert!(failed * 100 <= sent, "{bad:?}: {failed} of {sent} failed");
    }
}

/// One of three servers misbehaves and recovers.
async fn bad_server_is_out_within_ten_calls_and_returns(bad: ToolBehavior, lines: &str) {
    let (tools, proxy) = pool_of(healthy(), &format!("{EJECTING}\n{lines}")).await;
    let gets = Gets::warmed(&proxy).await;
    let sick = &tools[0];
    let before = sick.calls();
    sick.set(bad.clone());
    while ejections(&proxy, sick).await == 0.0 {
        gets.send(&proxy).await;
        assert!(sick.calls() - before <= 10, "{bad:?}: {} calls", sick.calls() - before);
    }
    for _ in 0..100 {
        gets.send(&proxy).await;
    }
    sick.set(ToolBehavior::Describe);
    let before = sick.calls();
    while sick.calls() - before < 10 {
        gets.send(&proxy).await;
    }
    gets.assert_few_failed(&bad);
}

/// The same with many concurrent calls: it gets ten and those that are on their way.
async fn bad_server_is_out_for_many_callers(bad: ToolBehavior) {
    const CALLERS: usize = 16;
    let (tools, proxy) = pool_of(healthy(), &format!("{EJECTING}\n{LONG_EJECTION}")).await;
    let gets = Gets::warmed(&proxy).await;
    let sick = &tools[0];
    let before = sick.calls();
    sick.set(bad.clone());
    let caller = async || {
        for _ in 0..50 {
            gets.send(&proxy).await;
        }
    };
    join_all((0..CALLERS).map(|_| caller())).await;
    assert!(ejections(&proxy, sick).await >= 1.0);
    assert!(sick.calls() - before <= 10 + CALLERS, "{bad:?}: {} calls", sick.calls() - before);
    gets.assert_few_failed(&bad);
}

/// No probe that passes ends the ejection early.
const LONG_EJECTION: &str = "probe.interval = \"30s\"";

fn cut() -> ToolBehavior {
    ToolBehavior::RespondAndClose(Vec::new())
}

fn lie() -> ToolBehavior {
    ToolBehavior::Respond(ERROR.to_vec())
}

/// Takes a second, so that the others are ten times as quick on a busy machine too.
fn slow() -> ToolBehavior {
    let response = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok".to_vec();
    ToolBehavior::Drip(response, Duration::from_millis(25))
}

#[tokio::test]
async fn upstream_that_cuts_is_ejected_and_returns() {
    bad_server_is_out_within_ten_calls_and_returns(cut(), "").await;
}

/// A response that is cut in its body reaches the client, and is not retried.
#[tokio::test]
async fn upstream_that_cuts_bodies_is_ejected_and_returns() {
    let part = b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\npart".to_vec();
    let bad = ToolBehavior::RespondAndClose(part);
    bad_server_is_out_within_ten_calls_and_returns(bad, LONG_EJECTION).await;
}

#[tokio::test]
async fn upstream_that_responds_with_500_is_ejected_and_returns() {
    bad_server_is_out_within_ten_calls_and_returns(lie(), "").await;
}

#[tokio::test]
async fn upstream_that_is_slow_is_ejected_and_returns() {
    bad_server_is_out_within_ten_calls_and_returns(slow(), "").await;
}

#[tokio::test]
async fn upstream_that_cuts_many_calls_at_once_is_ejected() {
    bad_server_is_out_for_many_callers(cut()).await;
}

#[tokio::test]
async fn upstream_that_responds_with_500_to_many_is_ejected() {
    bad_server_is_out_for_many_callers(lie()).await;
}

#[tokio::test]
async fn upstream_that_is_slow_for_many_is_ejected() {
    bad_server_is_out_for_many_callers(slow()).await;
}

#[tokio::test]
async fn error_status_is_retried_for_get_and_passed_on_otherwise() {
    let error = || ToolBehavior::Respond(ERROR.to_vec());
    let lines = "retry_statuses = [500]\neject_after = 1000";
    let (tools, proxy) = pool_of([error(), error(), ToolBehavior::Describe], lines).await;
    for _ in 0..6 {
        assert_eq!(proxy.send(call("GET", "/v1/qr/a")).await.status, 200);
    }
    let failed = tools[0].calls() + tools[1].calls();
    let retried = proxy.metric(r#"utg_upstream_retries_total{after="status",tool="qr"}"#).await;
    assert_eq!(retried, Some(failed as f64));
    let mut statuses = Vec::new();
    for _ in 0..3 {
        statuses.push(proxy.send(post("/v1/qr/a", "{}")).await.status);
    }
    statuses.sort_unstable();
    assert_eq!(statuses, [200, 500, 500], "no POST is retried");
    // If no other server is left, the client gets the tool's own response.
    tools[2].set(error());
    let response = proxy.send(call("GET", "/v1/qr/a")).await;
    assert_eq!(
        (response.status, response.header("x-of"), &*response.body),
        (500, Some("tool"), &b"oops"[..])
    );
    assert_eq!(response.header("x-gateway-problem"), None);
    // Each attempt counts once, and with its status.
    let mut counted = 0.0;
    for tool in &tools {
        for class in ["2xx", "5xx", "none"] {
            let labels = format!(r#"status="{class}",tool="qr",upstream="{}""#, tool.address);
            counted += proxy.metric(&format!("utg_upstream_requests_total{{{labels}}}")).await.unwrap();
        }
    }
    assert_eq!(counted, tools.iter().map(FakeTool::calls).sum::<usize>() as f64);
}

#[tokio::test]
async fn pool_in_panic_mode_uses_all_upstreams() {
    let (tools, proxy) = pool_of(healthy(), "panic_percent = 50").await;
    for tool in &tools[1..] {
        tool.set_healthy(false);
    }
    proxy.metric_is(r#"utg_pool_panic{tool="qr"}"#, 1.0).await;
    for _ in 0..30 {
        assert_eq!(proxy.send(call("GET", "/v1/qr/a")).await.status, 200);
    }
    let calls: Vec<_> = tools.iter().map(FakeTool::calls).collect();
    assert!(calls.iter().all(|calls| *calls >= 5), "{calls:?}");
    tools[1].set_healthy(true);
    proxy.metric_is(r#"utg_pool_panic{tool="qr"}"#, 0.0).await;
    let before = tools[2].calls();
    for _ in 0..10 {
        assert_eq!(proxy.send(call("GET", "/v1/qr/a")).await.status, 200);
    }
    assert_eq!(tools[2].calls(), before);
}

async fn full_pool(lines: &str) -> (FakeTool, Proxy) {
    let tool = FakeTool::start(ToolBehavior::Wait).await;
    let config = ProxyConfig::new().tool(Tool::Qr, &[&tool]);
    let proxy = config.pool_line(Tool::Qr, &format!("calls_in_flight = 1\n{lines}")).ready().await;
    (tool, proxy)
}

async fn queued(proxy: &Proxy, calls: f64) {
    proxy.metric_is(r#"utg_calls_queued{tool="qr"}"#, calls).await;
}

#[tokio::test]
async fn call_of_a_full_pool_waits_in_the_queue() {
    let (tool, proxy) = full_pool("queue = 1\nqueue_timeout = \"30s\"").await;
    let first = proxy.send(call("GET", "/v1/qr/a"));
    let rest = async {
        until("it is in flight", || async { tool.calls() == 1 }).await;
        let second = proxy.send(post("/v1/qr/a", "{\"a\":1}"));
        let third = async {
            queued(&proxy, 1.0).await;
            let refused = proxy.send(call("GET", "/v1/qr/a")).await;
            tool.release();
            refused
        };
        join(second, third).await
    };
    let (first, (second, third)) = join(first, rest).await;
    assert_eq!((first.status, second.status), (200, 200));
    assert_eq!(second.json()["body"].as_str(), Some("{\"a\":1}"));
    assert_eq!((third.status, third.problem().as_str()), (503, "tool-overloaded"));
    assert_eq!(third.header("retry-after"), Some("1"));
    queued(&proxy, 0.0).await;
}

#[tokio::test]
async fn queued_call_is_503_after_queue_timeout() {
    let (tool, proxy) = full_pool("queue = 1\nqueue_timeout = \"50ms\"").await;
    let first = proxy.send(call("GET", "/v1/qr/a"));
    let second = async {
        until("it is in flight", || async { tool.calls() == 1 }).await;
        let second = proxy.send(call("GET", "/v1/qr/a")).await;
        tool.release();
        second
    };
    let (first, second) = join(first, second).await;
    assert_eq!((first.status, second.status, second.problem().as_str()), (200, 503, "tool-overloaded"));
    assert_eq!(tool.calls(), 1);
}
