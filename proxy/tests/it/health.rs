//! Health checks: upstreams fail and recover.

use std::time::Duration;

use shared::tool::Tool;

use tests::{FakeTool, ToolBehavior, grant::call, proxy::ProxyConfig, until};

#[tokio::test]
async fn unknown_upstream_is_503_before_its_first_probe_ends() {
    let tool = FakeTool::start(ToolBehavior::Describe).await;
    // Nothing responds to the first probe, so the upstream stays unknown until the timeout.
    let silent = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = silent.local_addr().unwrap();
    let config = ProxyConfig::new().tool(Tool::Qr, &[&tool]);
    let config =
        config.upstreams(Tool::Pdf, &[&address.to_string()]).pool_line(Tool::Pdf, "probe.timeout = \"1m\"");
    let proxy = config.start();
    let response = proxy.send(call("GET", "/v1/pdf/merge")).await;
    assert_eq!((response.status, response.problem().as_str()), (503, "tool-unavailable"));
    assert_eq!(proxy.upstream_health(Tool::Pdf).await, ["unknown"], "refused before the probe was over");
    assert_eq!(proxy.admin_get("/readyz").await.status, 503, "one upstream is still unknown");
}

#[tokio::test]
async fn all_tools_down_is_503_with_retry_after() {
    let proxy = ProxyConfig::new().ready().await;
    for tool in Tool::ALL {
        let response = proxy.send(call("POST", &format!("/v1/{tool}/generate"))).await;
        assert_eq!((response.status, response.problem().as_str()), (503, "tool-unavailable"), "{tool}");
        let wait: u64 = response.header("retry-after").unwrap().parse().unwrap();
        assert!((1..=2).contains(&wait), "{wait}");
        assert_eq!(response.header("proxy-status"), Some("utg-proxy; error=destination_unavailable"));
    }
}

#[tokio::test]
async fn stopped_tool_fails_only_its_own_calls_and_recovers() {
    let (qr, pdf) =
        (FakeTool::start(ToolBehavior::Describe).await, FakeTool::start(ToolBehavior::Describe).await);
    let proxy = ProxyConfig::new().tool(Tool::Qr, &[&qr]).tool(Tool::Pdf, &[&pdf]).ready().await;
    assert_eq!(proxy.send(call("GET", "/v1/qr/generate")).await.status, 200);
    qr.stop().await;
    // Every call fails in this way, from the first one on.
    for _ in 0..10 {
        let response = proxy.send(call("GET", "/v1/qr/generate")).await;
        assert_eq!((response.status, response.problem().as_str()), (503, "tool-unavailable"));
        assert_eq!(proxy.send(call("GET", "/v1/pdf/merge")).await.status, 200);
    }
    assert_eq!(
        proxy.upstream_health(Tool::Qr).await,
        ["unhealthy"],
        "calls that could not connect are evidence too"
    );
    qr.restart();
    until("the tool is back", || async { proxy.send(call("GET", "/v1/qr/generate")).await.status == 200 })
        .await;
}

#[tokio::test]
async fn unhealthy_tool_gets_no_calls_until_it_recovers() {
    let tool = FakeTool::start(ToolBehavior::Describe).await;
    let proxy = ProxyConfig::new().tool(Tool::Qr, &[&tool]).ready().await;
    tool.set_healthy(false);
    until("it is noticed", || async { proxy.send(call("GET", "/v1/qr/a")).await.status == 503 }).await;
    let calls = tool.calls();
    assert_eq!(proxy.send(call("GET", "/v1/qr/a")).await.status, 503);
    assert_eq!(tool.calls(), calls);
    tool.set_healthy(true);
    until("it is healed", || async { proxy.send(call("GET", "/v1/qr/a")).await.status == 200 }).await;
}

#[tokio::test]
async fn default_probes_notice_failure_and_recovery() {
    let tool = FakeTool::start(ToolBehavior::Describe).await;
    let config = ProxyConfig::new().tool(Tool::Qr, &[&tool]);
    let config = config.pool_line(Tool::Qr, "probe = { interval = \"2s\", timeout = \"1s\" }");
    let proxy = config.ready().await;
    tool.set_healthy(false);
    until("it is noticed", || async { proxy.upstream_health(Tool::Qr).await == ["unhealthy"] }).await;
    tool.set_healthy(true);
    until("it is healed", || async { proxy.upstream_health(Tool::Qr).await == ["healthy"] }).await;
}

#[tokio::test]
async fn one_remaining_upstream_serves_all_calls() {
    let (one, two) =
        (FakeTool::start(ToolBehavior::Describe).await, FakeTool::start(ToolBehavior::Describe).await);
    let proxy = ProxyConfig::new().tool(Tool::Qr, &[&one, &two]).ready().await;
    for _ in 0..10 {
        assert_eq!(proxy.send(call("POST", "/v1/qr/generate")).await.status, 200);
    }
    assert_eq!((one.calls(), two.calls()), (5, 5), "they take turns");
    one.stop().await;
    for _ in 0..20 {
        assert_eq!(proxy.send(call("POST", "/v1/qr/generate")).await.status, 200);
    }
    assert_eq!(two.calls(), 25);
}

#[tokio::test]
async fn dripping_probe_times_out_and_delays_no_other() {
    let slow = FakeTool::start(ToolBehavior::Describe).await;
    let quick = FakeTool::start(ToolBehavior::Describe).await;
    let config = ProxyConfig::new().tool(Tool::Qr, &[&slow]).tool(Tool::Pdf, &[&quick]);
    let proxy = config.pool_line(Tool::Qr, "probe.timeout = \"500ms\"").ready().await;
    slow.drip_probes(Duration::from_millis(100));
    until("the dripping tool is noticed", || async {
        proxy.upstream_health(Tool::Qr).await == ["unhealthy"]
    })
    .await;
    assert_eq!(proxy.upstream_health(Tool::Pdf).await, ["healthy"]);
}

/// `localhost` may resolve to `127.0.0.1` and `::1`. The tool listens at the first one only.
#[tokio::test]
async fn upstream_by_name_uses_the_listening_address() {
    let tool = FakeTool::start(ToolBehavior::Describe).await;
    let name = format!("localhost:{}", tool.address.port());
    let proxy = ProxyConfig::new().upstreams(Tool::Qr, &[&name]).ready().await;
    for _ in 0..10 {
        assert_eq!(proxy.send(call("POST", "/v1/qr/generate")).await.status, 200);
    }
    assert_eq!(tool.calls(), 10);
    assert!(tool.received().iter().all(|head| head.contains(&name)), "the Host is the name");
    let series = format!(r#"utg_upstream_healthy{{tool="qr",upstream="localhost/{}"}}"#, tool.address);
    assert_eq!(proxy.metric(&series).await, Some(1.0));
    assert_eq!(proxy.metric("utg_name_resolution_failures_total").await, Some(0.0));
}

#[tokio::test]
async fn unresolved_upstream_is_unhealthy_and_counted() {
    let tool = FakeTool::start(ToolBehavior::Describe).await;
    let names = ["nowhere.invalid:9100", &tool.address.to_string()];
    let proxy = ProxyConfig::new().upstreams(Tool::Qr, &names).ready().await;
    assert_eq!(proxy.upstream_health(Tool::Qr).await, ["unhealthy", "healthy"]);
    assert_eq!(proxy.send(call("POST", "/v1/qr/generate")).await.status, 200);
    proxy.logs("upstream name not resolved").await;
    until("the lookup is counted", || async {
        proxy.metric("utg_name_resolution_failures_total").await >= Some(1.0)
    })
    .await;
}
