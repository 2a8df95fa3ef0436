//! Load balancing, ejection and the states of upstreams.

use shared::{key::KeyId, time::UnixMillis, tool::Tool};
use tokio::net::TcpListener;

use tests::{
    Client, FakeTool, Request, Signer, ToolBehavior,
    grant::{call, post},
    proxy::{Proxy, ProxyConfig},
    transport::differs,
    until,
};

#[tokio::test]
async fn calls_are_shared_by_weight() {
    let (one, two) =
        (FakeTool::start(ToolBehavior::Describe).await, FakeTool::start(ToolBehavior::Describe).await);
    let names = [format!("{} weight=3", one.address), two.address.to_string()];
    let config = ProxyConfig::new().upstreams(Tool::Qr, &[&names[0], &names[1]]);
    let proxy = config.ready().await;
    for _ in 0..40 {
        assert_eq!(proxy.send(call("GET", "/v1/qr/a")).await.status, 200);
    }
    assert_eq!((one.calls(), two.calls()), (30, 10));
}

#[tokio::test]
async fn key_hash_keeps_a_key_on_its_upstream() {
    let (one, two) =
        (FakeTool::start(ToolBehavior::Describe).await, FakeTool::start(ToolBehavior::Describe).await);
    let config = ProxyConfig::new().tool(Tool::Qr, &[&one, &two]);
    let proxy = config.pool_line(Tool::Qr, "balance = \"key-hash\"").ready().await;
    for _ in 0..10 {
        assert_eq!(proxy.send(call("GET", "/v1/qr/a")).await.status, 200);
    }
    assert!(matches!((one.calls(), two.calls()), (10, 0) | (0, 10)));
    for key in 0..32 {
        let signer = Signer { key_id: KeyId::new([key; 12]), ..Signer::default() };
        let request = signer.granted(Request::new("GET", "/v1/qr/a"));
        assert_eq!(proxy.send(request).await.status, 200);
    }
    assert!(one.calls() > 3 && two.calls() > 3, "{} {}", one.calls(), two.calls());
}

#[tokio::test]
async fn backup_serves_when_others_fail_and_draining_never() {
    let servers = [
        FakeTool::start(ToolBehavior::Describe).await,
        FakeTool::start(ToolBehavior::Describe).await,
        FakeTool::start(ToolBehavior::Describe).await,
    ];
    let [main, backup, draining] = &servers;
    let names = [
        main.address.to_string(),
        format!("{} backup", backup.address),
        format!("{} drain", draining.address),
    ];
    let proxy = ProxyConfig::new().upstreams(Tool::Qr, &names.each_ref().map(String::as_str)).ready().await;
    for _ in 0..4 {
        assert_eq!(proxy.send(call("GET", "/v1/qr/a")).await.status, 200);
    }
    assert_eq!((main.calls(), backup.calls()), (4, 0));
    main.stop().await;
    for _ in 0..4 {
        assert_eq!(proxy.send(post("/v1/qr/a", "{}")).await.status, 200);
    }
    assert_eq!((backup.calls(), draining.calls()), (4, 0));
}

/// Starts a pool of two upstreams and ejects the first one by five failing calls. `line` is
/// appended to the pool.
async fn with_ejected(line: &str) -> (FakeTool, FakeTool, Proxy) {
    let (bad, good) = (
        FakeTool::start(ToolBehavior::RespondAndClose(Vec::new())).await,
        FakeTool::start(ToolBehavior::Describe).await,
    );
    let config = ProxyConfig::new().tool(Tool::Qr, &[&bad, &good]);
    let proxy = config.pool_line(Tool::Qr, &format!("slow_start = \"0s\"\n{line}")).ready().await;
    for _ in 0..10 {
        proxy.send(post("/v1/qr/a", "{}")).await;
    }
    assert_eq!((bad.calls(), good.calls()), (5, 5));
    (bad, good, proxy)
}

#[tokio::test]
async fn failing_calls_eject_and_upstream_returns() {
    let (bad, _good, proxy) = with_ejected("probe.rise = 10").await;
    let series = format!(r#"utg_upstream_ejections_total{{tool="qr",upstream="{}"}}"#, bad.address);
    assert_eq!(proxy.metric(&series).await, Some(1.0));
    bad.set(ToolBehavior::Describe);
    until("it gets calls again", || async {
        assert_eq!(proxy.send(post("/v1/qr/a", "{}")).await.status, 200);
        bad.calls() > 5
    })
    .await;
}

#[tokio::test]
async fn ejected_upstream_gets_one_trial_call_at_a_time() {
    let (bad, good, proxy) = with_ejected("probe.rise = 100\neject_time = \"200ms\"").await;
    bad.set(ToolBehavior::Wait);
    let mut waiting = Vec::new();
    while bad.calls() == 5 {
        let (before, mut client) = (bad.calls() + good.calls(), Client::connect(proxy.listen).await);
        client.write(&post("/v1/qr/a", "{}").bytes()).await;
        until("the call has come to one of them", || async { bad.calls() + good.calls() > before }).await;
        waiting.push(client);
    }
    let before = good.calls();
    for _ in 0..20 {
        assert_eq!(proxy.send(post("/v1/qr/a", "{}")).await.status, 200);
    }
    assert_eq!((bad.calls(), good.calls() - before), (6, 20));
    bad.release();
    until("it gets calls as before", || async {
        assert_eq!(proxy.send(post("/v1/qr/a", "{}")).await.status, 200);
        bad.calls() > 10
    })
    .await;
}

#[tokio::test]
async fn upstream_off_is_not_called_or_probed() {
    let (on, off) =
        (FakeTool::start(ToolBehavior::Describe).await, FakeTool::start(ToolBehavior::Describe).await);
    let upstreams = [on.address.to_string(), format!("{} off", off.address)];
    let proxy =
        ProxyConfig::new().upstreams(Tool::Qr, &upstreams.each_ref().map(String::as_str)).ready().await;
    for _ in 0..4 {
        assert_eq!(proxy.send(post("/v1/qr/a", "{}")).await.status, 200);
    }
    assert_eq!((on.calls(), off.calls()), (4, 0));
    assert_eq!(proxy.upstream_health(Tool::Qr).await, ["healthy", "unknown"]);
    let healthy =
        |tool: &FakeTool| format!(r#"utg_upstream_healthy{{tool="qr",upstream="{}"}}"#, tool.address);
    assert_eq!(proxy.metric(&healthy(&on)).await, Some(1.0));
    assert_eq!(proxy.metric(&healthy(&off)).await, None);
}

#[tokio::test]
async fn idle_connection_to_a_removed_server_is_closed() {
    let (old, new) =
        (FakeTool::start(ToolBehavior::Describe).await, FakeTool::start(ToolBehavior::Describe).await);
    let config = |tool| ProxyConfig::new().tool(Tool::Qr, &[tool]).pool_line(Tool::Qr, "keep_idle = \"60s\"");
    let proxy = config(&old).ready().await;
    assert_eq!(proxy.send(call("GET", "/v1/qr/a")).await.status, 200);
    assert_eq!(old.connections(), 1);
    proxy.reload(&config(&new));
    proxy.generation_after(1).await;
    assert_eq!(proxy.send(call("GET", "/v1/qr/a")).await.status, 200);
    if differs("removed_server", true, false) {
        until("it is closed", || async { old.connections() == 0 }).await;
    } else {
        assert_eq!(old.connections(), 1);
    }
}

#[tokio::test]
async fn disabled_tool_is_503_with_retry_after() {
    let tool = FakeTool::start(ToolBehavior::Describe).await;
    let now = UnixMillis(
        std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_millis() as u64,
    );
    let disabled = |until: &str| {
        let config = ProxyConfig::new().tool(Tool::Qr, &[&tool]);
        config.pool_line(Tool::Qr, &format!("disabled_until = \"{until}\""))
    };
    let proxy = disabled(&now.plus(100_000).to_rfc3339()).ready().await;
    let response = proxy.send(call("GET", "/v1/qr/a")).await;
    assert_eq!((response.status, response.problem().as_str()), (503, "tool-disabled"));
    let wait: u64 = response.header("retry-after").unwrap().parse().unwrap();
    assert!((80..=100).contains(&wait), "{wait}");
    let proxy = disabled("further-notice").ready().await;
    let response = proxy.send(call("GET", "/v1/qr/a")).await;
    assert_eq!((response.problem().as_str(), response.header("retry-after")), ("tool-disabled", None));
    let proxy = disabled("2020-01-01T00:00:00Z").ready().await;
    assert_eq!(proxy.send(call("GET", "/v1/qr/a")).await.status, 200, "the time is over");
}

#[tokio::test]
async fn tcp_probe_on_own_port_decides_health() {
    let tool = FakeTool::start(ToolBehavior::Describe).await;
    tool.set_healthy(false);
    let side = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = side.local_addr().unwrap().port();
    let config = ProxyConfig::new().tool(Tool::Qr, &[&tool]);
    let line = format!("probe = {{ kind = \"tcp\", port = {port}, interval = \"100ms\" }}");
    let proxy = config.pool_line(Tool::Qr, &line).ready().await;
    assert_eq!(proxy.send(call("GET", "/v1/qr/a")).await.status, 200);
    drop(side);
    until("nobody listens there any more", || async {
        proxy.upstream_health(Tool::Qr).await == ["unhealthy"]
    })
    .await;
    assert_eq!(proxy.send(call("GET", "/v1/qr/a")).await.problem(), "tool-unavailable");
}
