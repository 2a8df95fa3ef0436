//! Load balancing, ejection and the states of upstreams.

use futures_util::future::join_all;
use shared::{key::KeyId, time::UnixMillis, tool::Tool};
use tokio::net::TcpListener;

use tests::{
    Client, FakeTool, Request, Signer, ToolBehavior,
    grant::{call, post},
    proxy::{Proxy, ProxyConfig},
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

fn pool(upstreams: &[&str], line: &str) -> ProxyConfig {
    let config = ProxyConfig::new().upstreams(Tool::Qr, upstreams);
    config.pool_line(Tool::Qr, &format!("slow_start = \"0s\"\n{line}"))
}

/// Starts a pool of two upstreams and ejects the first one by five failing calls. `line` is
/// appended to the pool.
async fn with_ejected(line: &str) -> (FakeTool, FakeTool, Proxy) {
    let (bad, good) = (
        FakeTool::start(ToolBehavior::RespondAndClose(Vec::new())).await,
        FakeTool::start(ToolBehavior::Describe).await,
    );
    let names = [bad.address.to_string(), good.address.to_string()];
    let proxy = pool(names.each_ref().map(String::as_str).as_slice(), line).ready().await;
    for _ in 0..10 {
        proxy.send(post("/v1/qr/a", "{}")).await;
    }
    assert_eq!((bad.calls(), good.calls()), (5, 5));
    (bad, good, proxy)
}

#[tokio::test]
async fn failing_calls_eject_and_upstream_returns() {
    let (bad, _good, proxy) = with_ejected("probe.rise = 10").await;
    assert_eq!(proxy.ejections(&bad.address.to_string()).await, 1.0);
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

/// A response of the trial call without an end decides nothing, and keeps no other call away.
#[tokio::test]
async fn trial_call_ends_with_the_head_of_its_response() {
    let (bad, _good, proxy) = with_ejected("probe.rise = 100\neject_time = \"200ms\"").await;
    bad.set(ToolBehavior::Respond(b"HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\nhalf".to_vec()));
    let mut open = Vec::new();
    while bad.calls() == 5 {
        let mut client = Client::connect(proxy.listen).await;
        client.write(&post("/v1/qr/a", "{}").bytes()).await;
        assert!(client.head().await.is_some());
        open.push(client);
    }
    bad.set(ToolBehavior::Describe);
    until("it gets calls as before", || async {
        assert_eq!(proxy.send(post("/v1/qr/a", "{}")).await.status, 200);
        bad.calls() > 10
    })
    .await;
}

/// Asserts that the ejected upstream serves each call, and that operators see that it does.
async fn serves_in_spite_of_its_ejection(ejected: &FakeTool, proxy: &Proxy) {
    let before = ejected.calls();
    for _ in 0..5 {
        assert_eq!(proxy.send(post("/v1/qr/a", "{}")).await.status, 200);
    }
    assert_eq!(ejected.calls() - before, 5);
    let shown = proxy.admin_get("/pools").await.json()["pools"]["qr"]["upstreams"][0].clone();
    assert!(shown["ejected_for_ms"].as_u64() > Some(0) && shown["available"] == true, "{shown}");
    let healthy = format!(r#"utg_upstream_healthy{{tool="qr",upstream="{}"}}"#, ejected.address);
    assert_eq!(proxy.metric(&healthy).await, Some(1.0));
}

#[tokio::test]
async fn ejected_upstream_serves_if_a_reload_takes_the_other_out() {
    const LONG: &str = "probe.rise = 100\neject_time = \"60s\"";
    for other in [None, Some("drain"), Some("off")] {
        let (bad, good, proxy) = with_ejected(LONG).await;
        bad.set(ToolBehavior::Describe);
        let (name, without) = (bad.address.to_string(), other.map(|word| format!("{} {word}", good.address)));
        let upstreams: Vec<_> = std::iter::once(&*name).chain(without.as_deref()).collect();
        proxy.reload(&pool(&upstreams, LONG));
        proxy.generation_after(1).await;
        serves_in_spite_of_its_ejection(&bad, &proxy).await;
        assert_eq!(good.calls(), 5);
    }
}

/// The other one refuses connections at first, and is unhealthy after that.
#[tokio::test]
async fn ejected_upstream_serves_if_the_other_one_dies() {
    let (bad, good, proxy) = with_ejected("probe.rise = 100\neject_time = \"60s\"").await;
    bad.set(ToolBehavior::Describe);
    good.stop().await;
    for _ in 0..5 {
        assert_eq!(proxy.send(call("GET", "/v1/qr/a")).await.status, 200);
    }
    until("it is noticed", || async { proxy.upstream_health(Tool::Qr).await == ["healthy", "unhealthy"] })
        .await;
    serves_in_spite_of_its_ejection(&bad, &proxy).await;
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

/// Pingora's own pool closes connections that are taken while its idle task holds them.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn calls_of_few_clients_use_few_connections() {
    const CLIENTS: usize = 8;
    let tool = FakeTool::start(ToolBehavior::Describe).await;
    let server = "listen = \"127.0.0.1:0\"\nadmin = \"127.0.0.1:0\"\ndata_center = \"test\"\nthreads = 4\n";
    let config = ProxyConfig::new().section("server", server).tool(Tool::Qr, &[&tool]);
    let proxy = config.pool_line(Tool::Qr, "keep_idle = \"60s\"").ready().await;
    let calls = (0..CLIENTS).map(|_| async {
        let mut client = Client::connect(proxy.listen).await;
        for _ in 0..100 {
            client.write(&call("GET", "/v1/qr/a").bytes()).await;
            assert_eq!(client.response("GET").await.expect("a response").status, 200);
        }
    });
    join_all(calls).await;
    // Those of one thread may be idle while another thread opens one.
    assert!(tool.opened() <= 2 * CLIENTS, "{} connections for {} calls", tool.opened(), tool.calls());
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
    until("it is closed", || async { old.connections() == 0 }).await;
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
