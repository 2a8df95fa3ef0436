//! Requests that are refused before they are routed, and the headers that tools receive.

use shared::tool::Tool;

use tests::{
    Client, FakeTool, Request, Signer, ToolBehavior,
    grant::call,
    proxy::{Proxy, ProxyConfig},
};

async fn raw(proxy: &Proxy, text: &str) -> (u16, String) {
    let mut client = Client::connect(proxy.listen).await;
    client.write(text.as_bytes()).await;
    match client.response(text.split(' ').next().unwrap()).await {
        Some(response) if response.header("content-type") == Some("application/problem+json") => {
            (response.status, response.problem())
        }
        Some(response) => (response.status, String::new()),
        None => (0, String::new()),
    }
}

#[tokio::test]
async fn request_that_is_not_a_tool_call_is_refused_with_its_code() {
    let proxy = ProxyConfig::new().ready().await;
    for (method, target, status, code) in [
        ("GET", "/", 404, "route-unknown"),
        ("GET", "/v1/qr", 404, "route-unknown"),
        ("GET", "/v1/qr/a/b", 404, "route-unknown"),
        ("GET", "/v1/keys/me", 404, "route-unknown"),
        ("POST", "/v1/keys/issue", 404, "route-unknown"),
        ("GET", "/openapi.json", 404, "route-unknown"),
        ("GET", "/metrics", 404, "route-unknown"),
        ("GET", "/v1/qrcode/generate", 404, "tool-unknown"),
        ("GET", "/v1/QR/generate", 404, "tool-unknown"),
        ("DELETE", "/v1/qr/generate", 405, "method-not-allowed"),
        ("HEAD", "/v1/qr/generate", 405, ""),
        ("TRACE", "/v1/qr/generate", 405, "method-not-allowed"),
        ("GET", "//v1/qr/generate", 400, "path-malformed"),
        ("GET", "/v1/qr/", 400, "path-malformed"),
        ("GET", "/v1/qr/..", 400, "path-malformed"),
        ("GET", "/v1/qr/%67enerate", 400, "path-malformed"),
        ("GET", "/v1/qr/a%2Fb", 400, "path-malformed"),
        ("GET", "/v1/qr/a\\b", 400, "path-malformed"),
        ("GET", "http://gateway.test/v1/qr/../generate", 400, "path-malformed"),
        ("GET", "http://user@gateway.test/v1/qr/generate", 400, "path-malformed"),
        ("GET", "http:///v1/qr/generate", 400, "path-malformed"),
        ("GET", "ftp://gateway.test/v1/qr/generate", 400, "path-malformed"),
        ("GET", "http://gateway.test", 404, "route-unknown"),
        ("GET", "http://gateway.test/v1/qr", 404, "route-unknown"),
    ] {
        let response = proxy.send(Request::new(method, target)).await;
        assert_eq!(response.status, status, "{method} {target}: {response:?}");
        if !code.is_empty() {
            assert_eq!(response.problem(), code, "{method} {target}");
        }
        if status == 405 {
            assert_eq!(response.header("allow"), Some("GET, POST, OPTIONS"));
        }
    }
    let long = format!("/v1/qr/generate?{}", "a".repeat(8_192));
    assert_eq!(proxy.send(Request::new("GET", &long)).await.problem(), "target-too-long");
}

/// A server must accept what clients send to proxies (RFC 9112, section 3.2.2).
#[tokio::test]
async fn absolute_form_is_served_like_origin_form() {
    let tool = FakeTool::start(ToolBehavior::Describe).await;
    let proxy = ProxyConfig::new().tool(Tool::Qr, &[&tool]).ready().await;
    for base in ["http://gateway.test", "https://other.test:8443", "HTTP://[::1]"] {
        let response = proxy.send(call("GET", &format!("{base}/v1/qr/generate?a=http://b/?c"))).await;
        assert_eq!(response.status, 200, "{base}: {response:?}");
        let said = response.json();
        assert_eq!(said["target"], "/generate?a=http://b/?c", "{base}");
        assert_eq!(said["headers"]["host"], tool.address.to_string(), "{base}");
        assert_eq!(proxy.send(Request::new("GET", &format!("{base}/healthz"))).await.status, 200);
    }
    // The grant is for path and query. Host is still required, once and well-formed.
    let other = Signer::default().grant(&Request::new("GET", "/v1/qr/other"));
    let refused = Request::new("GET", "http://gateway.test/v1/qr/generate").header("X-Gateway-Grant", &other);
    assert_eq!(proxy.send(refused).await.status, 401);
    for host in ["", "Host: a\r\nHost: a\r\n", "Host: a b\r\n"] {
        let text = format!("GET http://gateway.test/healthz HTTP/1.1\r\n{host}\r\n");
        assert_eq!(raw(&proxy, &text).await, (400, "header-malformed".to_owned()), "{host:?}");
    }
}

#[tokio::test]
async fn ambiguous_head_is_400_header_malformed() {
    let tool = FakeTool::start(ToolBehavior::Describe).await;
    let proxy = ProxyConfig::new().tool(Tool::Qr, &[&tool]).ready().await;
    let line = "POST /v1/qr/generate HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n";
    for head in [
        "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n",
        "Transfer-Encoding: chunked\r\nContent-Length: 3\r\n",
        "Transfer-Encoding: gzip, chunked\r\n",
        "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n",
        "X_Api_Key: k\r\n",
        "X-Api-Key: a\r\nX-API-Key: b\r\n",
        "X-Api-Key: a,b\r\n",
        "A: b\nC: d\r\n",
    ] {
        let grant = Signer::default().grant(&Request::new("POST", "/v1/qr/generate"));
        let (status, code) = raw(&proxy, &format!("{line}{head}X-Gateway-Grant: {grant}\r\n\r\n")).await;
        assert_eq!((status, code.as_str()), (400, "header-malformed"), "{head:?}");
    }
    for text in [
        "GET /v1/qr/generate HTTP/1.1\r\n\r\n",
        "GET /v1/qr/generate HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
        "GET /v1/qr/generate HTTP/1.1\r\nHost: a\r\n folded: b\r\n\r\n",
        "GET /v1/qr/generate HTTP/1.1\r\nHost: a\r\nName : b\r\n\r\n",
        "GET /v1/qr/a b HTTP/1.1\r\nHost: a\r\n\r\n",
        "POST /v1/qr/generate HTTP/1.1\r\nHost: a\r\nContent-Length: +3\r\n\r\nabc",
        "POST /v1/qr/generate HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabcd",
        "POST /v1/qr/generate HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: xchunked\r\n\r\n",
        "POST /v1/qr/generate HTTP/1.0\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        "total rubbish\r\n\r\n",
    ] {
        let (status, code) = raw(&proxy, text).await;
        assert_eq!((status, code.as_str()), (400, "header-malformed"), "{text:?}");
    }
    assert_eq!(tool.calls(), 0);
}

#[tokio::test]
async fn unknown_expectation_and_large_headers_are_refused() {
    let proxy = ProxyConfig::new().ready().await;
    let expecting = Request::new("POST", "/v1/qr/generate").header("Expect", "sorcery");
    assert_eq!(proxy.send(expecting).await.problem(), "expectation-failed");
    let many = (0..200).fold(Request::new("GET", "/v1/qr/generate"), |r, n| r.header(&format!("X-{n}"), "a"));
    assert_eq!(proxy.send(many).await.problem(), "headers-too-large");
    let long = Request::new("GET", "/v1/qr/generate").header("X-Long", &"a".repeat(70_000));
    assert_eq!(proxy.send(long).await.problem(), "headers-too-large");
}

#[tokio::test]
async fn credentials_and_gateway_headers_do_not_reach_the_tool() {
    let tool = FakeTool::start(ToolBehavior::Describe).await;
    let proxy = ProxyConfig::new().tool(Tool::Qr, &[&tool]).ready().await;
    let request = call("GET", "/v1/qr/generate")
        .header("X-API-Key", "utg_live_hush")
        .header("Authorization", "Bearer hush")
        .header("Cookie", "hush=1")
        .header("X-Gateway-Tier", "enterprise")
        .header("X-Gateway-Key-Id", "key_hush")
        .header("X-Gateway-Anything", "hush")
        .header("X-Request-Id", "hush")
        .header("X-Forwarded-For", "10.9.9.9")
        .header("Upgrade", "h2c")
        .header("Connection", "X-Gateway-Tier, X-Mine, Upgrade")
        .header("X-Mine", "nominated")
        .header("Accept", "text/plain")
        .header("Traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01");
    let response = proxy.send(request).await;
    assert_eq!(response.status, 200, "{response:?}");
    let head = tool.received().remove(0);
    assert!(!head.contains("hush") && !head.contains("10.9.9.9") && !head.contains("enterprise"), "{head}");
    assert!(!head.to_ascii_lowercase().contains("x-gateway-grant"), "{head}");
    assert!(!head.contains("nominated") && !head.to_ascii_lowercase().contains("upgrade"), "{head}");
    let headers = &response.json()["headers"];
    assert_eq!(headers["x-gateway-tier"], "pro", "a client cannot nominate headers of the gateway");
    assert_eq!(headers["host"], tool.address.to_string());
    assert_eq!(headers["accept"], "text/plain");
    assert_eq!(headers["traceparent"], "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01");
}

/// Applications behind a proxy trust these headers.
#[tokio::test]
async fn header_that_applications_trust_does_not_reach_the_tool() {
    let tool = FakeTool::start(ToolBehavior::Describe).await;
    let proxy = ProxyConfig::new().tool(Tool::Qr, &[&tool]).ready().await;
    let trusted = [
        "X-Forwarded-Client-Cert",
        "X-Forwarded-User",
        "X-Forwarded-Email",
        "X-Forwarded-Prefix",
        "X-Forwarded-Proto",
        "Proxy",
        "X-Original-URL",
        "X-Rewrite-URL",
        "X-HTTP-Method-Override",
        "X-HTTP-Method",
        "X-Method-Override",
        "X-User-Id",
        "X-Remote-User",
        "X-SSL-Client-Verify",
        "X-Envoy-Original-Path",
        "X-Middleware-Subrequest",
        "HTTP2-Settings",
    ];
    let request =
        trusted.iter().fold(call("GET", "/v1/qr/generate"), |request, name| request.header(name, "hush"));
    let response = proxy.send(request.header("X-Requested-With", "tests")).await;
    assert_eq!(response.status, 200, "{response:?}");
    let head = tool.received().remove(0);
    assert!(!head.contains("hush"), "{head}");
    assert_eq!(response.json()["headers"]["x-requested-with"], "tests");
}

#[tokio::test]
async fn pool_path_is_the_prefix_of_the_target() {
    let tool = FakeTool::start(ToolBehavior::Describe).await;
    let proxy =
        ProxyConfig::new().tool(Tool::Pdf, &[&tool]).pool_line(Tool::Pdf, "path = \"/api/v2\"").ready().await;
    let response = proxy.send(call("GET", "/v1/pdf/merge?a=1")).await;
    assert_eq!(response.json()["target"], "/api/v2/merge?a=1");
}

#[tokio::test]
async fn health_check_and_preflight_need_no_grant() {
    let proxy = ProxyConfig::new().start();
    let alive = proxy.send(Request::new("GET", "/healthz")).await;
    assert_eq!((alive.status, alive.json()["status"].as_str()), (200, Some("ok")));
    assert_eq!(proxy.send(Request::new("HEAD", "/healthz")).await.status, 200);
    // On any target and for any method, so that a browser can read the refusal of its request.
    for target in ["/v1/qr/generate", "/v1/qrcode/generate", "/v1/qr/..", "*"] {
        let preflight = proxy.send(Request::new("OPTIONS", target)).await;
        assert_eq!(preflight.status, 204, "{target}");
        let methods = preflight.header("access-control-allow-methods");
        assert_eq!(methods, Some("GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS"), "{target}");
        assert_eq!(preflight.header("access-control-allow-origin"), Some("*"), "{target}");
    }
}

#[tokio::test]
async fn connection_stays_open_after_a_refusal() {
    let tool = FakeTool::start(ToolBehavior::Describe).await;
    let proxy = ProxyConfig::new().tool(Tool::Qr, &[&tool]).ready().await;
    let mut client = Client::connect(proxy.listen).await;
    for _ in 0..5 {
        client.write(&call("GET", "/v1/qr/generate").bytes()).await;
        assert_eq!(client.response("GET").await.unwrap().status, 200);
        client.write(&Request::new("POST", "/v1/qr/generate").json("{}").bytes()).await;
        assert_eq!(client.response("POST").await.unwrap().status, 401);
    }
}
