//! What operators see.

use shared::tool::Tool;

use crate::support::{FakeTool, Manner, Request, grant::call, proxy::Setup};

#[tokio::test]
async fn metrics_count_calls_and_refusals_and_bound_their_labels() {
    let tool = FakeTool::start(Manner::Describe).await;
    let proxy = Setup::new().tool(Tool::Qr, &[&tool]).ready().await;
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
    assert_eq!(metric(r#"utg_upstream_seconds_count{tool="qr"}"#).await, Some(3.0));
    assert_eq!(metric("utg_ready").await, Some(1.0));
    let text = String::from_utf8(proxy.admin_get("/metrics").await.body).unwrap();
    assert!(!text.contains("other-"), "what a request says is no label");
}

#[tokio::test]
async fn the_admin_port_answers_its_four_pages_and_nothing_else() {
    let proxy = Setup::new().ready().await;
    assert_eq!(proxy.admin_get("/healthz").await.json()["status"], "ok");
    assert_eq!(proxy.admin_get("/readyz").await.json()["status"], "ready");
    assert_eq!(proxy.admin_get("/pools").await.json()["pools"].as_object().unwrap().len(), Tool::ALL.len());
    assert_eq!(proxy.admin_get("/metrics").await.header("content-type"), Some("text/plain; version=0.0.4"));
    assert_eq!(proxy.admin_get("/").await.status, 404);
    assert_eq!(Request::new("POST", "/pools").send(proxy.admin).await.status, 405);
}
