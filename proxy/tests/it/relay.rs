//! Framing: neither side can make the other one read a message differently.

use std::time::Duration;

use shared::tool::Tool;

use tests::{
    Client, FakeTool, Request, ToolBehavior,
    grant::{call, post, upload},
    proxy::{Proxy, ProxyConfig},
};

async fn short_timeouts(behavior: ToolBehavior) -> (FakeTool, Proxy) {
    let tool = FakeTool::start(behavior).await;
    let config = ProxyConfig::new()
        .tool(Tool::Qr, &[&tool])
        .line("clients", "idle_timeout = \"1s\"\nmin_upload_rate = \"0B\"");
    (tool, config.ready().await)
}

#[tokio::test]
async fn slow_upload_after_100_continue_is_not_cut_off() {
    let (_tool, proxy) = short_timeouts(ToolBehavior::Describe).await;
    let mut client = Client::connect(proxy.listen).await;
    let request = upload("/v1/qr/generate", 10).header("Expect", "100-continue");
    client.write(&request.bytes()).await;
    assert!(client.head().await.unwrap().starts_with("HTTP/1.1 100 "));
    for byte in b"0123456789" {
        // Fault timing: the whole upload takes longer than `idle_timeout`.
        tokio::time::sleep(Duration::from_millis(150)).await;
        client.write(&[*byte]).await;
    }
    let response = client.response("POST").await.expect("a response");
    assert_eq!((response.status, response.json()["body"].as_str()), (200, Some("0123456789")));
}

#[tokio::test]
async fn pipelined_requests_are_served_in_order() {
    let (tool, proxy) = short_timeouts(ToolBehavior::Describe).await;
    let mut client = Client::connect(proxy.listen).await;
    let mut together = post("/v1/qr/first", "{\"a\":1}").bytes();
    together.extend_from_slice(&call("GET", "/v1/qr/second").bytes());
    together.extend_from_slice(&Request::new("GET", "/healthz").bytes());
    together.extend_from_slice(&call("GET", "/v1/qr/third").bytes());
    client.write(&together).await;
    let bodies = [Some("{\"a\":1}"), Some(""), None, Some("")];
    for body in bodies {
        let response = client.response("GET").await.expect("a response");
        assert_eq!((response.status, response.json()["body"].as_str()), (200, body));
    }
    assert_eq!(tool.calls(), 3);
}

#[tokio::test]
async fn post_without_a_body_has_content_length_0_at_the_tool() {
    let (tool, proxy) = short_timeouts(ToolBehavior::Describe).await;
    assert_eq!(proxy.send(call("POST", "/v1/qr/generate")).await.status, 200);
    let received = tool.received().join("").to_ascii_lowercase();
    assert!(received.contains("content-length: 0\r\n"), "{received}");
}

#[tokio::test]
async fn tool_cannot_nominate_framing_or_gateway_headers() {
    let said = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: content-length, x-request-id, X-Own\r\nX-Own: 1\r\n\r\nhello";
    let (_tool, proxy) = short_timeouts(ToolBehavior::Respond(said.to_vec())).await;
    let mut client = Client::connect(proxy.listen).await;
    for _ in 0..2 {
        client.write(&call("GET", "/v1/qr/generate").bytes()).await;
        let response = client.response("GET").await.expect("a response");
        assert_eq!(
            (response.status, response.body.as_slice(), response.complete),
            (200, &b"hello"[..], true)
        );
        assert_eq!((response.header("content-length"), response.header("x-own")), (Some("5"), None));
        assert!(response.header("x-request-id").is_some());
    }
}

#[tokio::test]
async fn response_of_every_framing_is_whole_for_http10_and_http11() {
    for (said, body) in [
        (&b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nhel\r\n2;x=y\r\nlo\r\n0\r\nX-Sum: 1\r\n\r\n"[..], &b"hello"[..]),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", b"hello"),
        (b"HTTP/1.0 200 OK\r\n\r\nhello", b"hello"),
        (b"HTTP/1.1 103 Early Hints\r\nLink: a\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", b"hello"),
        (b"HTTP/1.1 204 No Content\r\n\r\n", b""),
        (b"HTTP/1.1 304 Not Modified\r\nContent-Length: 7\r\nETag: \"a\"\r\n\r\n", b""),
    ] {
        let (_tool, proxy) = short_timeouts(ToolBehavior::RespondAndClose(said.to_vec())).await;
        let new = call("GET", "/v1/qr/generate").bytes();
        let old = String::from_utf8(call("GET", "/v1/qr/generate").bytes()).unwrap().replacen("HTTP/1.1", "HTTP/1.0", 1);
        for request in [new, old.into_bytes()] {
            let mut client = Client::connect(proxy.listen).await;
            client.write(&request).await;
            let response = client.response("GET").await.expect("a response");
            assert_eq!((response.body.as_slice(), response.complete), (body, true), "{}", String::from_utf8_lossy(said));
        }
    }
}
