//! Who keeps a connection waiting is cut, and nobody else.

use std::time::{Duration, Instant};

use shared::tool::Tool;
use tokio::time::timeout;

use tests::{
    Client, FakeTool, Request, ToolBehavior,
    grant::call,
    proxy::{Proxy, ProxyConfig},
};

async fn short_timeouts(behavior: ToolBehavior) -> (FakeTool, Proxy) {
    let tool = FakeTool::start(behavior).await;
    let config = ProxyConfig::new()
        .tool(Tool::Qr, &[&tool])
        .pool_line(Tool::Qr, "answer_timeout = \"300ms\"\npause_timeout = \"300ms\"")
        .line("clients", "header_timeout = \"300ms\"\nidle_timeout = \"1s\"\nmin_upload_rate = \"0B\"");
    (tool, config.ready().await)
}

#[tokio::test]
async fn a_head_that_drips_is_answered_with_408_and_cut() {
    let (_tool, proxy) = short_timeouts(ToolBehavior::Describe).await;
    let mut client = Client::connect(proxy.listen).await;
    let begun = Instant::now();
    for byte in call("GET", "/v1/qr/generate").bytes() {
        if begun.elapsed() > Duration::from_millis(600) || !client.try_write(&[byte]).await {
            break;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let response = client.response("GET").await.expect("a response");
    assert_eq!((response.status, response.problem().as_str()), (408, "request-timeout"));
    assert!(client.is_closed().await);
    assert_eq!(proxy.metric(r#"utg_refusals_total{code="request-timeout"}"#).await, Some(1.0));
}

#[tokio::test]
async fn a_connection_that_says_nothing_is_closed_without_a_word() {
    let (_tool, proxy) = short_timeouts(ToolBehavior::Describe).await;
    let mut fresh = Client::connect(proxy.listen).await;
    let mut used = Client::connect(proxy.listen).await;
    used.write(&Request::new("GET", "/healthz").bytes()).await;
    assert_eq!(used.response("GET").await.unwrap().status, 200);
    assert!(fresh.is_closed().await && used.is_closed().await);
}

/// The head of a call whose body has ten bytes.
fn upload() -> Request {
    let call = call("POST", "/v1/qr/generate");
    call.header("Content-Type", "application/json").header("Content-Length", "10")
}

#[tokio::test]
async fn a_body_that_stops_in_the_middle_is_answered_with_408() {
    let (_tool, proxy) = short_timeouts(ToolBehavior::Describe).await;
    let mut client = Client::connect(proxy.listen).await;
    client.write(&upload().bytes()).await;
    client.write(b"half").await;
    let response = client.response("POST").await.expect("a response");
    assert_eq!((response.status, response.problem().as_str()), (408, "request-timeout"));
}

#[tokio::test]
async fn a_slow_upload_does_not_use_up_the_time_of_the_tool() {
    let (_tool, proxy) = short_timeouts(ToolBehavior::Describe).await;
    let mut client = Client::connect(proxy.listen).await;
    client.write(&upload().bytes()).await;
    for byte in b"0123456789" {
        tokio::time::sleep(Duration::from_millis(100)).await;
        client.write(&[*byte]).await;
    }
    let response = client.response("POST").await.expect("a response");
    assert_eq!((response.status, response.json()["body"].as_str()), (200, Some("0123456789")));
}

#[tokio::test]
async fn an_answer_that_goes_on_may_take_longer_than_it_took_to_begin_and_one_that_stops_is_cut() {
    let said = |body: &str| format!("HTTP/1.1 200 OK\r\nContent-Length: 12\r\n\r\n{body}").into_bytes();
    let (tool, proxy) = short_timeouts(ToolBehavior::Describe).await;
    // The head is there at once; the body takes longer than the tool had for the head, without ever pausing as long.
    tool.set(ToolBehavior::RespondAndDrip(said(""), b"abcdefghijkl".to_vec(), Duration::from_millis(60)));
    let response = proxy.send(call("GET", "/v1/qr/generate")).await;
    assert_eq!((response.status, response.complete, response.body.len()), (200, true, 12));
    tool.set(ToolBehavior::Respond(said("half")));
    let begun = Instant::now();
    let response = proxy.send(call("GET", "/v1/qr/generate")).await;
    assert_eq!((response.status, response.complete), (200, false));
    assert!(begun.elapsed() < Duration::from_secs(2), "{:?}", begun.elapsed());
}

#[tokio::test]
async fn connections_that_come_while_it_is_busy_wait_and_are_served() {
    const CONNECTIONS: usize = 500;
    let proxy = ProxyConfig::new().ready().await;
    proxy.signal("STOP");
    let mut waiting = Vec::new();
    for _ in 0..CONNECTIONS {
        // One that is not let wait is asked again after a second.
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
