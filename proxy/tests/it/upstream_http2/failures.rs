//! However such a tool fails, the client learns what it would learn of any other.

use std::time::{Duration, Instant};

use bytes::Bytes;
use futures_util::future::join_all;
use h2::Reason;
use shared::tool::Tool;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpListener,
};

use super::{calling, pingora_proxy};
use tests::{
    Client, FakeTool, ToolBehavior,
    grant::{call, post},
    http2_tool::{End, H2ToolBehavior, Http2Tool},
    proxy::Proxy,
    until,
};

const LITTLE_PATIENCE: &str = "answer_timeout = \"400ms\"\npause_timeout = \"400ms\"";

async fn refused(proxy: &Proxy, why: &str, code: &str, error: &str) {
    for request in [call("GET", "/v1/qr/a"), post("/v1/qr/a", "{}")] {
        let response = proxy.send(request).await;
        assert_eq!((response.status, response.problem().as_str()), (503, code), "{why}");
        let status = response.header("proxy-status").expect("Proxy-Status");
        assert_eq!(status, format!("utg-proxy; error={error}"), "{why}");
    }
}

/// A head with so many bytes of headers.
fn head_of(length: usize) -> Vec<(String, String)> {
    let line = |number: usize| (format!("x-{number}"), "a".repeat(8_000));
    (0..length.div_ceil(8_000)).map(line).collect()
}

#[tokio::test]
async fn every_failure_before_the_answer_is_a_503_of_the_right_kind() {
    let many = (0..300).map(|number| (format!("x-{number}"), "b".to_owned())).collect();
    for (why, behavior, code, error) in [
        (
            "resets",
            H2ToolBehavior::Reset(Reason::INTERNAL_ERROR),
            "tool-unavailable",
            "connection_terminated",
        ),
        (
            "refuses for ever",
            H2ToolBehavior::Reset(Reason::REFUSED_STREAM),
            "tool-unavailable",
            "connection_terminated",
        ),
        ("closes", H2ToolBehavior::Close, "tool-unavailable", "connection_terminated"),
        ("silence", H2ToolBehavior::Wait, "tool-timeout", "http_response_timeout"),
        (
            "headers beyond what clients are sent",
            H2ToolBehavior::Respond(head_of(100 << 10), Vec::new(), End::Whole),
            "tool-unavailable",
            "http_response_header_section_size",
        ),
        (
            "headers beyond what is read",
            H2ToolBehavior::Respond(head_of(200 << 10), Vec::new(), End::Whole),
            "tool-unavailable",
            "http_response_header_section_size",
        ),
        (
            "too many headers",
            H2ToolBehavior::Respond(many, Vec::new(), End::Whole),
            "tool-unavailable",
            "http_protocol_error",
        ),
    ] {
        // On a busy machine a head of 200 KiB is later than a short timeout.
        let patience = if code == "tool-timeout" { LITTLE_PATIENCE } else { "" };
        let (_tool, proxy) = calling(behavior, patience).await;
        refused(&proxy, why, code, error).await;
    }
}

#[tokio::test]
async fn an_answer_that_breaks_off_does_not_look_complete() {
    let half = || vec![Bytes::from_static(b"half")];
    let stated = || vec![("content-length".to_owned(), "100".to_owned())];
    for headers in [stated(), Vec::new()] {
        for end in [End::Reset(Reason::INTERNAL_ERROR), End::Reset(Reason::NO_ERROR), End::Close, End::Never]
        {
            let (tool, proxy) =
                calling(H2ToolBehavior::Respond(headers.clone(), half(), end), LITTLE_PATIENCE).await;
            let response = proxy.send(call("GET", "/v1/qr/a")).await;
            assert_eq!(
                (response.status, response.body.as_slice(), response.complete),
                (200, &b"half"[..], false),
                "{headers:?} {end:?}"
            );
            assert_eq!(tool.calls(), 1, "what has begun is not begun again");
        }
    }
}

/// Starts a server that responds with these bytes to the first bytes of each connection, and then
/// closes it if `closes`.
async fn saying(bytes: Vec<u8>, closes: bool) -> (String, tokio::task::JoinHandle<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let task = tokio::spawn(async move {
        let mut open = Vec::new();
        while let Ok((mut stream, _)) = listener.accept().await {
            let _heard = stream.read(&mut [0; 1_024]).await;
            let _said = stream.write_all(&bytes).await;
            if !closes {
                open.push(stream);
            }
        }
    });
    (address, task)
}

#[tokio::test]
async fn a_server_that_does_not_speak_http2_is_a_503_of_the_right_kind() {
    let no = b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n".to_vec();
    for (why, bytes, closes, code, error) in [
        ("HTTP/1.1", no, false, "tool-unavailable", "http_protocol_error"),
        ("garbage", b"SSH-2.0-OpenSSH_9\r\n".to_vec(), false, "tool-unavailable", "http_protocol_error"),
        ("nothing", Vec::new(), true, "tool-unavailable", "connection_terminated"),
        ("silence", Vec::new(), false, "tool-timeout", "http_response_timeout"),
    ] {
        let (address, task) = saying(bytes, closes).await;
        let lines = "http2 = true\nanswer_timeout = \"300ms\"\nprobe.kind = \"tcp\"\nprobe.fall = 100";
        let config = pingora_proxy().upstreams(Tool::Qr, &[&address]).pool_line(Tool::Qr, lines);
        let proxy = config.ready().await;
        refused(&proxy, why, code, error).await;
        task.abort();
    }
}

#[tokio::test]
async fn it_is_not_healthy_unless_it_speaks_http2() {
    let tool = FakeTool::start(ToolBehavior::Describe).await;
    let config = pingora_proxy().tool(Tool::Qr, &[&tool]).pool_line(Tool::Qr, "http2 = true");
    let proxy = config.ready().await;
    assert_eq!(proxy.upstream_health(Tool::Qr).await, ["unhealthy"]);
}

#[tokio::test]
async fn what_the_tool_has_not_looked_at_is_sent_again_whatever_it_is() {
    let (tool, proxy) = calling(H2ToolBehavior::Describe, "").await;
    let large = "a".repeat(60_000);
    for (request, body) in [
        (call("GET", "/v1/qr/a"), ""),
        (post("/v1/qr/a", "{}"), "{}"),
        (post("/v1/qr/a", &large), large.as_str()),
    ] {
        let before = tool.calls();
        tool.set(H2ToolBehavior::ResetFirst(before + 2, Reason::REFUSED_STREAM));
        let response = proxy.send(request).await;
        assert_eq!((response.status, response.json()["body"].as_str()), (200, Some(body)));
        assert_eq!(tool.calls(), before + 3);
    }
    let unprocessed = r#"utg_upstream_retries_total{after="unprocessed",tool="qr"}"#;
    assert_eq!(proxy.metric(unprocessed).await, Some(6.0));
    // One that may have been looked at is not.
    tool.set(H2ToolBehavior::ResetFirst(tool.calls() + 1, Reason::INTERNAL_ERROR));
    assert_eq!(proxy.send(post("/v1/qr/a", "{}")).await.status, 503);
}

#[tokio::test]
async fn who_refuses_for_ever_is_left_for_another_server() {
    let bad = Http2Tool::start(H2ToolBehavior::Reset(Reason::REFUSED_STREAM)).await;
    let good = Http2Tool::start(H2ToolBehavior::Describe).await;
    let servers = [bad.address.to_string(), good.address.to_string()];
    let config =
        pingora_proxy().upstreams(Tool::Qr, &[&servers[0], &servers[1]]).pool_line(Tool::Qr, "http2 = true");
    let proxy = config.ready().await;
    for _ in 0..2 {
        assert_eq!(proxy.send(post("/v1/qr/a", "{}")).await.status, 200);
    }
    // Both of them came to it first.
    assert_eq!((bad.calls(), good.calls()), (8, 2), "three more times each, then another one");
}

#[tokio::test]
async fn a_get_goes_to_another_server_and_a_post_that_was_looked_at_does_not() {
    for behavior in
        [H2ToolBehavior::Reset(Reason::INTERNAL_ERROR), H2ToolBehavior::Close, H2ToolBehavior::Wait]
    {
        let bad = Http2Tool::start(behavior.clone()).await;
        let good = Http2Tool::start(H2ToolBehavior::Describe).await;
        let servers = [bad.address.to_string(), good.address.to_string()];
        let lines = "http2 = true\ntry_timeout = \"200ms\"\nanswer_timeout = \"500ms\"";
        let config =
            pingora_proxy().upstreams(Tool::Qr, &[&servers[0], &servers[1]]).pool_line(Tool::Qr, lines);
        let proxy = config.ready().await;
        for _ in 0..2 {
            assert_eq!(proxy.send(call("GET", "/v1/qr/a")).await.status, 200, "{behavior:?}");
        }
        let mut answers = Vec::new();
        for _ in 0..2 {
            answers.push(proxy.send(post("/v1/qr/a", "{}")).await.status);
        }
        answers.sort_unstable();
        assert_eq!(answers, [200, 503], "{behavior:?}");
    }
}

#[tokio::test]
async fn a_server_that_dies_of_every_call_is_not_asked_again_and_again() {
    let (tool, proxy) = calling(H2ToolBehavior::Close, "eject_after = 100\nprobe.fall = 100").await;
    let answers = join_all((0..10).map(|_| proxy.send(call("GET", "/v1/qr/a")))).await;
    assert!(answers.iter().all(|response| response.status == 503));
    // Each once more at most, over a connection that another one had used.
    assert!(tool.calls() <= 20, "{} calls", tool.calls());
}

#[tokio::test]
async fn a_server_that_dies_with_calls_it_has_taken_has_failed_them() {
    let (tool, good) =
        (Http2Tool::start(H2ToolBehavior::Describe).await, Http2Tool::start(H2ToolBehavior::Describe).await);
    let servers = [tool.address.to_string(), good.address.to_string()];
    let lines = "http2 = true\neject_after = 3\nprobe.interval = \"30s\"";
    let config = pingora_proxy().upstreams(Tool::Qr, &[&servers[0], &servers[1]]).pool_line(Tool::Qr, lines);
    let proxy = config.ready().await;
    let mut clients = join_all((0..6).map(|_| Client::connect(proxy.listen))).await;
    // Every thread's connections to the two have served before.
    for client in &mut clients {
        for _ in 0..4 {
            client.write(&post("/v1/qr/a", "{}").bytes()).await;
            assert_eq!(client.response("POST").await.unwrap().status, 200);
        }
    }
    tool.set(H2ToolBehavior::Wait);
    let before = good.calls();
    for (number, client) in clients.iter_mut().enumerate() {
        client.write(&post("/v1/qr/a", "{}").bytes()).await;
        until("it has come", async || tool.in_flight() + good.calls() - before > number).await;
    }
    assert_eq!(tool.in_flight(), 3);
    let taken = Instant::now();
    // Until then their connection may have ended before they came.
    until("they were taken", async || taken.elapsed() > Duration::from_millis(1_050)).await;
    drop(tool);
    let answers = join_all(clients.iter_mut().map(|client| client.response("POST"))).await;
    let failed =
        answers.iter().filter(|response| response.as_ref().is_some_and(|response| response.status == 503));
    assert_eq!(failed.count(), 3, "{answers:?}");
    assert_eq!(proxy.ejections(&servers[0].to_string()).await, 1.0);
}

#[tokio::test]
async fn a_call_that_its_client_gives_up_is_canceled_and_no_other_is() {
    let (tool, proxy) = calling(H2ToolBehavior::Wait, "").await;
    let mut clients = Vec::new();
    for _ in 0..3 {
        let mut client = Client::connect_abortive(proxy.listen).await;
        client.write(&call("GET", "/v1/qr/a").bytes()).await;
        clients.push(client);
    }
    until("three calls wait", || async { tool.in_flight() == 3 }).await;
    drop(clients.pop());
    until("one was taken back", || async { tool.canceled() == 1 }).await;
    tool.release();
    for client in &mut clients {
        assert_eq!(client.response("GET").await.expect("a response").status, 200);
    }
    assert_eq!(tool.canceled(), 1);
}

#[tokio::test]
async fn an_answer_that_comes_before_the_body_was_read_is_passed_on() {
    let (tool, proxy) = calling(H2ToolBehavior::Early, "").await;
    let mut client = Client::connect(proxy.listen).await;
    let request = call("POST", "/v1/qr/a")
        .header("Content-Type", "application/json")
        .header("Content-Length", "1000000");
    client.write(&request.bytes()).await;
    // Of the body as much as is buffered before the tool is called.
    client.write(&[b'a'; 64 << 10]).await;
    let response = client.response("POST").await.expect("a response");
    assert_eq!((response.status, response.body.as_slice(), response.complete), (200, &b"enough"[..], true));
    tool.set(H2ToolBehavior::Describe);
    assert_eq!(proxy.send(post("/v1/qr/a", "{}")).await.status, 200);
    assert_eq!(tool.connections().min(2), tool.connections(), "the connection is as good as before");
}
