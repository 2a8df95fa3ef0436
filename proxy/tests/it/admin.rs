//! The admin port, metrics and access log.

use proxy::version;
use shared::tool::Tool;

use tests::{
    Client, FakeTool, Request, ToolBehavior,
    collector::Collector,
    grant::{call, post},
    proxy::ProxyConfig,
    until,
};

#[tokio::test]
async fn metrics_count_calls_and_refusals_with_bounded_labels() {
    let tool = FakeTool::start(ToolBehavior::Describe).await;
    let proxy = ProxyConfig::new().tool(Tool::Qr, &[&tool]).ready().await;
    for _ in 0..3 {
        assert_eq!(proxy.send(call("GET", "/v1/qr/generate")).await.status, 200);
    }
    proxy.send(call("GET", "/v1/pdf/merge")).await;
    for n in 0..50 {
        proxy.send(Request::new("GET", &format!("/v1/qr/other-{n}"))).await;
    }
    let metric = async |series: &str| proxy.metric(series).await;
    assert_eq!(metric(r#"utg_calls_total{status="2xx",tier="pro",tool="qr"}"#).await, Some(3.0));
    assert_eq!(metric(r#"utg_calls_total{status="5xx",tier="pro",tool="pdf"}"#).await, Some(1.0));
    assert_eq!(metric(r#"utg_refusals_total{code="tool-unavailable"}"#).await, Some(1.0));
    assert_eq!(metric(r#"utg_refusals_total{code="grant-invalid"}"#).await, Some(50.0));
    assert_eq!(
        metric(&format!(r#"utg_upstream_healthy{{tool="qr",upstream="{}"}}"#, tool.address)).await,
        Some(1.0)
    );
    let of_the_server = |metric: &str, labels: &str| {
        format!(r#"utg_upstream_{metric}{{{labels}tool="qr",upstream="{}"}}"#, tool.address)
    };
    assert_eq!(metric(&of_the_server("response_seconds_count", "")).await, Some(3.0));
    assert_eq!(metric(&of_the_server("requests_total", r#"status="2xx","#)).await, Some(3.0));
    assert_eq!(metric(&of_the_server("requests_total", r#"status="none","#)).await, Some(0.0));
    assert_eq!(metric("utg_ready").await, Some(1.0));
    let text = String::from_utf8(proxy.admin_get("/metrics").await.body).unwrap();
    assert!(!text.contains("other-"), "no part of a request is a label");
}

#[tokio::test]
async fn access_log_with_timings_splits_the_duration() {
    let tool = FakeTool::start(ToolBehavior::Describe).await;
    let proxy = ProxyConfig::new().tool(Tool::Qr, &[&tool]).line("log", "detail = \"timings\"").ready().await;
    let trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    proxy.send(call("GET", "/v1/qr/generate").header("traceparent", trace)).await;
    until("the access log has the line", || async { proxy.output().contains("\"key_id\"") }).await;
    let output = proxy.output();
    let line = output.lines().find(|line| line.contains("\"key_id\"")).unwrap();
    let line: serde_json::Value = serde_json::from_str(line).unwrap();
    assert_eq!(line["trace_id"], "0af7651916cd43dd8448eb211c80319c");
    let [gateway, tool, all] =
        ["overhead_ms", "upstream_ms", "duration_ms"].map(|key| line[key].as_f64().unwrap());
    assert!(gateway > 0.0 && tool > 0.0 && gateway + tool <= all, "{line}");
}

#[tokio::test]
async fn access_log_of_failures_has_no_line_for_success() {
    let tool = FakeTool::start(ToolBehavior::Describe).await;
    let mut proxy =
        ProxyConfig::new().tool(Tool::Qr, &[&tool]).line("log", "detail = \"failures\"").ready().await;
    assert_eq!(proxy.send(call("GET", "/v1/qr/generate")).await.status, 200);
    assert_eq!(proxy.send(call("GET", "/v1/pdf/merge")).await.status, 503);
    proxy.signal("TERM");
    assert!(proxy.exited().await.success());
    assert!(proxy.output().contains("\"tool\":\"pdf\""), "{}", proxy.output());
    assert!(!proxy.output().contains("\"tool\":\"qr\""), "{}", proxy.output());
}

#[tokio::test]
async fn upstream_metrics_end_with_their_upstream() {
    let (bad, good) = (
        FakeTool::start(ToolBehavior::RespondAndClose(Vec::new())).await,
        FakeTool::start(ToolBehavior::Describe).await,
    );
    let config = ProxyConfig::new().tool(Tool::Qr, &[&bad, &good]);
    let proxy = config.ready().await;
    for _ in 0..4 {
        proxy.send(post("/v1/qr/generate", "{}")).await;
    }
    let requests = async |tool: &FakeTool, status: &str| {
        let upstream = tool.address;
        let labels = format!(r#"{{status="{status}",tool="qr",upstream="{upstream}"}}"#);
        proxy.metric(&format!("utg_upstream_requests_total{labels}")).await
    };
    assert_eq!((requests(&bad, "none").await, requests(&bad, "2xx").await), (Some(2.0), Some(0.0)));
    assert_eq!((requests(&good, "none").await, requests(&good, "2xx").await), (Some(0.0), Some(2.0)));
    proxy.reload(&ProxyConfig::new().tool(Tool::Qr, &[&good]));
    until("the other upstream is gone", || async { requests(&bad, "none").await.is_none() }).await;
    assert_eq!(requests(&good, "2xx").await, Some(2.0), "the counter of the remaining upstream continues");
}

#[tokio::test]
async fn metrics_show_process_version_and_limits() {
    let proxy = ProxyConfig::new().ready().await;
    for series in ["process_open_fds", "process_resident_memory_bytes", "process_start_time_seconds"] {
        assert!(proxy.metric(series).await.is_some_and(|value| value > 0.0), "{series}");
    }
    let version = format!(
        r#"utg_build_info{{commit="{}",data_center="test",version="{}"}}"#,
        version::COMMIT,
        version::VERSION
    );
    proxy.logs(&format!("starting: version={} commit={}", version::VERSION, version::COMMIT)).await;
    assert_eq!(proxy.metric(&version).await, Some(1.0));
    assert_eq!(proxy.metric(r#"utg_calls_in_flight_limit{tool="qr"}"#).await, Some(256.0));
    assert_eq!(proxy.metric("utg_replay_capacity").await, Some(100_000.0));
}

#[tokio::test]
async fn admin_port_serves_its_four_pages_only() {
    let proxy = ProxyConfig::new().ready().await;
    assert_eq!(proxy.admin_get("/healthz").await.json()["status"], "ok");
    assert_eq!(proxy.admin_get("/readyz").await.json()["status"], "ready");
    assert_eq!(proxy.admin_get("/pools").await.json()["pools"].as_object().unwrap().len(), Tool::ALL.len());
    assert_eq!(proxy.admin_get("/metrics").await.header("content-type"), Some("text/plain; version=0.0.4"));
    assert_eq!(proxy.admin_get("/").await.status, 404);
    assert_eq!(Client::send_once(proxy.admin, &Request::new("POST", "/pools")).await.unwrap().status, 405);
}

#[tokio::test]
async fn scraper_of_open_metrics_gets_the_exemplars_of_exported_calls() {
    let (tool, collector) = (FakeTool::start(ToolBehavior::Describe).await, Collector::start());
    let tracing = format!("endpoint = \"{}\"\nratio = 0.0\n", collector.url());
    let proxy = ProxyConfig::new().tool(Tool::Qr, &[&tool]).section("tracing", &tracing).ready().await;
    let scrape =
        async |accept: &str| proxy.admin_send(Request::get("/metrics").header("Accept", accept)).await;
    proxy.send(call("GET", "/v1/qr/generate")).await;
    let open = "application/openmetrics-text;version=1.0.0,text/plain;q=0.5";
    assert!(!scrape(open).await.text().contains("trace_id"), "the call is not exported");
    let trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    proxy.send(call("GET", "/v1/qr/generate").header("traceparent", trace)).await;
    let spans = collector.trace_with("GET /v1/qr/{action}");
    let response = scrape(open).await;
    let media_type = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    assert_eq!(response.header("content-type"), Some(media_type));
    let text = response.text();
    assert!(text.ends_with("\n# EOF\n"));
    let server = spans.iter().find(|span| !span.attribute("utg.tool").is_empty()).unwrap();
    let exemplar = format!("# {{trace_id=\"{}\",span_id=\"{}\"}} ", server.trace_id, server.span_id);
    for histogram in ["utg_proxy_overhead_seconds_bucket{", "utg_upstream_response_seconds_bucket{"] {
        let with = text.lines().filter(|line| line.starts_with(histogram) && line.contains(&exemplar));
        assert_eq!(with.count(), 1, "{histogram} {text}");
    }
    for accept in ["text/plain;version=0.0.4", "*/*"] {
        let response = scrape(accept).await;
        assert_eq!(response.header("content-type"), Some("text/plain; version=0.0.4"), "{accept}");
        assert!(!response.text().contains("trace_id"), "{accept}");
    }
}
