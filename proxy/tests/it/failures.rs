//! Failures of tools. A failure before the response is a 503 with its cause.

use std::time::Duration;

use shared::tool::Tool;

use tests::{
    Client, FakeTool, Request, Signer, ToolBehavior,
    grant::{call, post},
    proxy::{Proxy, ProxyConfig},
    until,
};

async fn failing(behavior: ToolBehavior) -> (FakeTool, Proxy) {
    let tool = FakeTool::start(behavior).await;
    let config =
        ProxyConfig::new().tool(Tool::Qr, &[&tool]).pool_line(Tool::Qr, "answer_timeout = \"400ms\"");
    (tool, config.ready().await)
}

#[tokio::test]
async fn failure_before_the_response_is_503_with_its_code() {
    for (why, behavior, code, error) in [
        ("closes", ToolBehavior::RespondAndClose(Vec::new()), "tool-unavailable", "connection_terminated"),
        ("resets", ToolBehavior::RespondAndReset(Vec::new()), "tool-unavailable", "connection_terminated"),
        (
            "half a head",
            ToolBehavior::RespondAndClose(b"HTTP/1.1 200 OK\r\nA: b".to_vec()),
            "tool-unavailable",
            "connection_terminated",
        ),
        (
            "garbage",
            ToolBehavior::RespondAndClose(b"SSH-2.0-OpenSSH_9\r\n\r\n".to_vec()),
            "tool-unavailable",
            "http_protocol_error",
        ),
        (
            "two lengths",
            ToolBehavior::Respond(
                b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab".to_vec(),
            ),
            "tool-unavailable",
            "http_protocol_error",
        ),
        (
            "TLS, which nobody asked for",
            ToolBehavior::RespondAndClose(b"\x15\x03\x01\x00\x02\x02\x46\r\n\r\n".to_vec()),
            "tool-unavailable",
            "http_protocol_error",
        ),
        (
            "headers beyond what clients are sent",
            ToolBehavior::Respond(with_header_of(100 << 10)),
            "tool-unavailable",
            "http_response_header_section_size",
        ),
        (
            "headers without an end",
            ToolBehavior::Respond(with_header_of(3 << 20)),
            "tool-unavailable",
            "http_response_header_section_size",
        ),
        (
            "too many headers",
            ToolBehavior::Respond(format!("HTTP/1.1 200 OK\r\n{}\r\n", "A: b\r\n".repeat(300)).into_bytes()),
            "tool-unavailable",
            "http_protocol_error",
        ),
        ("silence", ToolBehavior::Wait, "tool-timeout", "http_response_timeout"),
        (
            "half a head, then silence",
            ToolBehavior::Respond(b"HTTP/1.1 200 OK\r\nA: b".to_vec()),
            "tool-timeout",
            "http_response_timeout",
        ),
    ] {
        let (_tool, proxy) = failing(behavior).await;
        for request in [call("GET", "/v1/qr/generate"), post("/v1/qr/generate", "{}")] {
            let response = proxy.send(request).await;
            assert_eq!((response.status, response.problem().as_str()), (503, code), "{why}");
            let status = response.header("proxy-status").expect("Proxy-Status");
            assert_eq!(status, format!("utg-proxy; error={error}"), "{why}");
            // The upstream is still healthy, so the next call may succeed.
            assert_eq!(response.header("retry-after"), Some("1"), "{why}");
        }
    }
}

fn with_header_of(length: usize) -> Vec<u8> {
    format!("HTTP/1.1 200 OK\r\nContent-Length: 0\r\nA: {}\r\n\r\n", "b".repeat(length)).into_bytes()
}

#[tokio::test]
async fn response_head_without_end_is_503() {
    let head = format!("HTTP/1.1 200 OK\r\nX-Long: {}", "a".repeat(200_000));
    let (_tool, proxy) = failing(ToolBehavior::Respond(head.into_bytes())).await;
    let response = proxy.send(call("GET", "/v1/qr/a")).await;
    assert_eq!(response.status, 503);
    let error = "utg-proxy; error=http_response_header_section_size";
    assert_eq!(response.header("proxy-status"), Some(error));
}

#[tokio::test]
async fn refused_connection_is_503_tool_unavailable() {
    let (tool, proxy) = failing(ToolBehavior::Describe).await;
    tool.stop().await;
    let response = proxy.send(post("/v1/qr/generate", "{}")).await;
    assert_eq!((response.status, response.problem().as_str()), (503, "tool-unavailable"));
    assert!(
        proxy
            .metric(&format!(
                r#"utg_upstream_connect_failures_total{{tool="qr",upstream="{}"}}"#,
                tool.address
            ))
            .await
            >= Some(1.0)
    );
}

#[tokio::test]
async fn tool_5xx_and_retry_after_pass_unchanged() {
    for status in [400, 401, 404, 418, 429, 500, 502, 503, 504] {
        let said = format!(
            "HTTP/1.1 {status} Of Its Own\r\nContent-Length: 5\r\nRetry-After: 77\r\nContent-Type: text/x\r\n\r\nhello"
        );
        let (_tool, proxy) = failing(ToolBehavior::Respond(said.into_bytes())).await;
        let response = proxy.send(post("/v1/qr/generate", "{}")).await;
        assert_eq!((response.status, response.body.as_slice()), (status, &b"hello"[..]));
        assert_eq!(response.header("retry-after"), Some("77"));
        assert_eq!(response.header("content-type"), Some("text/x"));
        assert_eq!(response.header("x-gateway-problem"), None, "the edge charges for it");
    }
}

#[tokio::test]
async fn broken_response_does_not_look_complete() {
    for said in [
        &b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf"[..],
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n",
    ] {
        for behavior in
            [ToolBehavior::RespondAndClose(said.to_vec()), ToolBehavior::RespondAndReset(said.to_vec())]
        {
            let (tool, proxy) = failing(behavior).await;
            let response = proxy.send(call("GET", "/v1/qr/generate")).await;
            assert_eq!(
                (response.status, response.body.as_slice(), response.complete),
                (200, &b"half"[..], false)
            );
            assert_eq!(tool.calls(), 1, "not retried after its response has started");
        }
    }
}

#[tokio::test]
async fn get_on_a_stale_connection_is_retried() {
    let (tool, proxy) = failing(ToolBehavior::Describe).await;
    assert_eq!(proxy.send(call("GET", "/v1/qr/generate")).await.status, 200);
    tool.stop().await;
    tool.restart();
    until("the tool is healthy", || async { proxy.upstream_health(Tool::Qr).await == ["healthy"] }).await;
    assert_eq!(proxy.send(call("GET", "/v1/qr/generate")).await.status, 200);
}

#[tokio::test]
async fn full_pool_is_503_tool_overloaded_and_others_serve() {
    let (slow, quick) =
        (FakeTool::start(ToolBehavior::Wait).await, FakeTool::start(ToolBehavior::Describe).await);
    let config = ProxyConfig::new().tool(Tool::Qr, &[&slow]).tool(Tool::Pdf, &[&quick]);
    let proxy = config.pool_line(Tool::Qr, "calls_in_flight = 3").ready().await;
    let mut waiting = Vec::new();
    for _ in 0..3 {
        let mut client = Client::connect(proxy.listen).await;
        client.write(&call("GET", "/v1/qr/generate").bytes()).await;
        waiting.push(client);
    }
    until("three calls wait", || async { slow.calls() == 3 }).await;
    let refused = proxy.send(call("GET", "/v1/qr/generate")).await;
    assert_eq!((refused.status, refused.problem().as_str()), (503, "tool-overloaded"));
    assert_eq!(refused.header("proxy-status"), Some("utg-proxy; error=connection_limit_reached"));
    assert_eq!(proxy.send(call("GET", "/v1/pdf/merge")).await.status, 200);
    slow.release();
    for client in &mut waiting {
        assert_eq!(client.response("GET").await.unwrap().status, 200);
    }
    until("there is room again", || async { proxy.send(call("GET", "/v1/qr/generate")).await.status == 200 })
        .await;
}

#[tokio::test]
async fn calls_of_one_key_are_limited_per_key() {
    let tool = FakeTool::start(ToolBehavior::Wait).await;
    let config = ProxyConfig::new().tool(Tool::Qr, &[&tool]).line("clients", "calls_in_flight_per_key = 2");
    let proxy = config.ready().await;
    let mut waiting = Vec::new();
    for _ in 0..2 {
        let mut client = Client::connect(proxy.listen).await;
        client.write(&call("GET", "/v1/qr/generate").bytes()).await;
        waiting.push(client);
    }
    until("two calls wait", || async { tool.calls() == 2 }).await;
    assert_eq!(proxy.send(call("GET", "/v1/qr/generate")).await.problem(), "tool-overloaded");
    let other = Signer { key_id: shared::key::KeyId::new([6; 12]), ..Signer::default() };
    let mut client = Client::connect(proxy.listen).await;
    client.write(&other.granted(Request::new("GET", "/v1/qr/generate")).bytes()).await;
    until("another key's call gets through", || async { tool.calls() == 3 }).await;
    tool.release();
}

#[tokio::test]
async fn slow_response_header_is_503_tool_timeout() {
    let head = b"HTTP/1.1 200 OK\r\nX-Long-Header: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\r\n\r\n";
    let (_tool, proxy) = failing(ToolBehavior::Drip(head.to_vec(), Duration::from_millis(50))).await;
    let response = proxy.send(call("GET", "/v1/qr/generate")).await;
    assert_eq!((response.status, response.problem().as_str()), (503, "tool-timeout"));
}
