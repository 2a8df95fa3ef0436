//! Timeouts towards clients and tools.

use std::time::Duration;

use shared::tool::Tool;
use tokio::time::timeout;

use tests::{
    Client, FakeTool, Request, ToolBehavior,
    grant::{call, upload},
    proxy::{Proxy, ProxyConfig},
};

async fn short_timeouts(behavior: ToolBehavior) -> (FakeTool, Proxy) {
    let tool = FakeTool::start(behavior).await;
    let config = ProxyConfig::new()
        .tool(Tool::Qr, &[&tool])
        .short_timeouts(Tool::Qr)
        .line("clients", "min_upload_rate = \"0B\"");
    (tool, config.ready().await)
}

#[tokio::test]
async fn slow_request_header_is_408_request_timeout() {
    let (_tool, proxy) = short_timeouts(ToolBehavior::Describe).await;
    let mut client = Client::connect(proxy.listen).await;
    for byte in call("GET", "/v1/qr/generate").bytes().into_iter().take(30) {
        if !client.try_write(&[byte]).await {
            break;
        }
        // Fault timing: no pause is as long as a timeout, and all together are longer than
        // `header_timeout`.
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let response = client.response("GET").await.expect("a response");
    assert_eq!((response.status, response.problem().as_str()), (408, "request-timeout"));
    assert!(client.is_closed().await);
    assert_eq!(proxy.metric(r#"utg_refusals_total{code="request-timeout"}"#).await, Some(1.0));
}

#[tokio::test]
async fn silent_connection_is_closed_without_a_response() {
    let (_tool, proxy) = short_timeouts(ToolBehavior::Describe).await;
    let mut fresh = Client::connect(proxy.listen).await;
    let mut used = Client::connect(proxy.listen).await;
    used.write(&Request::new("GET", "/healthz").bytes()).await;
    assert_eq!(used.response("GET").await.unwrap().status, 200);
    assert!(fresh.is_closed().await && used.is_closed().await);
}

#[tokio::test]
async fn stalled_upload_is_408_request_timeout() {
    let (_tool, proxy) = short_timeouts(ToolBehavior::Describe).await;
    let mut client = Client::connect(proxy.listen).await;
    client.write(&upload("/v1/qr/generate", 10).bytes()).await;
    client.write(b"half").await;
    let response = client.response("POST").await.expect("a response");
    assert_eq!((response.status, response.problem().as_str()), (408, "request-timeout"));
}

#[tokio::test]
async fn slow_upload_does_not_use_up_the_answer_timeout() {
    let (_tool, proxy) = short_timeouts(ToolBehavior::Describe).await;
    let mut client = Client::connect(proxy.listen).await;
    client.write(&upload("/v1/qr/generate", 10).bytes()).await;
    for byte in b"0123456789" {
        // Fault timing: the whole upload takes longer than `answer_timeout`.
        tokio::time::sleep(Duration::from_millis(100)).await;
        client.write(&[*byte]).await;
    }
    let response = client.response("POST").await.expect("a response");
    assert_eq!((response.status, response.json()["body"].as_str()), (200, Some("0123456789")));
}

#[tokio::test]
async fn response_is_cut_after_pause_timeout_and_not_before() {
    let said = |body: &str| format!("HTTP/1.1 200 OK\r\nContent-Length: 12\r\n\r\n{body}").into_bytes();
    let (tool, proxy) = short_timeouts(ToolBehavior::Describe).await;
    // The head arrives at once. The body takes longer than `answer_timeout`, and no pause is as
    // long as `pause_timeout`.
    tool.set(ToolBehavior::RespondAndDrip(said(""), b"abcdefghijkl".to_vec(), Duration::from_millis(60)));
    let response = proxy.send(call("GET", "/v1/qr/generate")).await;
    assert_eq!((response.status, response.complete, response.body.len()), (200, true, 12));
    tool.set(ToolBehavior::Respond(said("half")));
    let response = proxy.send(call("GET", "/v1/qr/generate")).await;
    assert_eq!((response.status, response.complete), (200, false));
}

#[tokio::test]
async fn connections_in_the_accept_queue_are_served() {
    const CONNECTIONS: usize = 500;
    let proxy = ProxyConfig::new().ready().await;
    proxy.signal("STOP");
    let mut waiting = Vec::new();
    for _ in 0..CONNECTIONS {
        // TCP repeats a dropped SYN after a second.
        let connected = timeout(Duration::from_millis(900), Client::connect(proxy.listen)).await;
        waiting.extend(connected);
    }
    proxy.signal("CONT");
    assert_eq!(waiting.len(), CONNECTIONS);
    for client in &mut waiting {
        client.write(&Request::new("GET", "/healthz").bytes()).await;
        assert_eq!(client.response("GET").await.unwrap().status, 200);
    }
}
