//! Secrets do not reach the log.

use shared::{headers::GRANT, tool::Tool};

use tests::{
    Client, FakeTool, Request, Signer, ToolBehavior, grant::call, keys::GRANT_SECRET, proxy::ProxyConfig,
};

#[tokio::test]
async fn log_holds_no_secret_key_grant_query_or_user_agent() {
    let tool = FakeTool::start(ToolBehavior::Describe).await;
    let mut proxy =
        ProxyConfig::new().tool(Tool::Qr, &[&tool]).line("log", "level = \"debug\"").ready().await;
    let request = Request::new("GET", "/v1/qr/generate?token=hush-query");
    let grant = Signer::default().grant(&request);
    let secretive =
        |request: Request| request.header("X-API-Key", "utg_live_hush").header("User-Agent", "hush-agent");
    let answered = proxy.send(secretive(request.header(GRANT, &grant))).await;
    assert_eq!(answered.status, 200);
    let request_id = answered.header("x-request-id").unwrap().to_owned();
    assert_eq!(proxy.send(secretive(call("GET", "/v1/pdf/merge?hush-query"))).await.status, 503);
    assert_eq!(proxy.send(secretive(Request::new("GET", "/v1/qr/generate?hush-query"))).await.status, 401);
    let mut client = Client::connect(proxy.listen).await;
    client.write(b"GET /hush-path HTTP/1.1\r\nHost: a\r\nhush hush\r\n\r\n").await;
    assert_eq!(client.response("GET").await.unwrap().status, 400);
    // The output is complete after the exit.
    proxy.signal("TERM");
    assert!(proxy.exited().await.success());
    assert!(proxy.output().matches("\"status\":").count() >= 3);
    let output = proxy.output();
    for secret in [GRANT_SECRET, "hush", &grant, "user-agent"] {
        assert!(!output.contains(secret), "{secret} in {output}");
    }
    let refused = output.lines().find(|line| line.contains(r#""code":"grant-invalid""#)).expect("a refusal");
    let refused: serde_json::Value = serde_json::from_str(refused).unwrap();
    let call = ["method", "tool", "action", "key_id"].map(|key| refused[key].as_str());
    assert_eq!(call, [Some("GET"), Some("qr"), Some("generate"), None], "a refused call is named");
    let is_access = |line: &&str| line.starts_with('{') && line.contains(&request_id);
    let line = output.lines().find(is_access).expect("the line of the call");
    let line: serde_json::Value = serde_json::from_str(line).unwrap();
    assert_eq!((line["tool"].as_str(), line["action"].as_str()), (Some("qr"), Some("generate")));
    assert_eq!((line["status"].as_u64(), line["tier"].as_str()), (Some(200), Some("pro")));
    assert_eq!(line["upstream"].as_str(), Some(tool.address.to_string().as_str()));
    assert!(line["duration_ms"].as_f64().is_some());
}

#[tokio::test]
async fn access_log_off_writes_no_line() {
    let mut proxy = ProxyConfig::new().line("log", "access = \"off\"").ready().await;
    for _ in 0..3 {
        proxy.send(call("GET", "/v1/qr/generate")).await;
    }
    proxy.signal("TERM");
    proxy.exited().await;
    assert!(!proxy.output().contains("request_id"), "{}", proxy.output());
}
