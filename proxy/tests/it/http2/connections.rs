//! Connections: protocol selection, limits, floods and shutdown.

use std::time::Duration;

use futures_util::future::join_all;
use h2::Reason;
use shared::tool::Tool;
use tokio::time::timeout;

use tests::{
    Client, FakeTool, PATIENCE, Request, ToolBehavior,
    grant::{call, post},
    http2::{self, Http2Client},
    proxy::ProxyConfig,
    tls::{Authority, NAME, TempFiles, TlsClient},
    until,
};

use super::*;

#[tokio::test]
async fn http2_without_tls_is_refused_unless_h2c_is_set() {
    let tool = FakeTool::start(ToolBehavior::Describe).await;
    let proxy = ProxyConfig::new().tool(Tool::Qr, &[&tool]).ready().await;
    let mut client = Client::connect(proxy.listen).await;
    client.write(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n").await;
    assert_eq!(client.response("GET").await.expect("a response").problem(), "header-malformed");
    // With h2c, HTTP/1.1 is served too, whatever its first letters are.
    let (_tool, proxy) = h2c(ToolBehavior::Describe, "").await;
    for request in [call("GET", "/v1/qr/a"), post("/v1/qr/a", "{}"), Request::new("PRI", "/v1/qr/a")] {
        let status = if request.method == "PRI" { 405 } else { 200 };
        assert_eq!(proxy.send(request).await.status, status);
    }
}

#[tokio::test]
async fn http2_over_tls_can_be_switched_off() {
    let (authority, folder) = (Authority::generate(), TempFiles::create());
    let section = folder.server(&authority.identity(NAME)) + "http2 = false\n";
    let proxy = ProxyConfig::new().section("server.tls", &section).ready().await;
    assert!(TlsClient::new(&authority).alpn("h2").stream(proxy.listen).await.is_err());
    assert!(TlsClient::new(&authority).alpn("http/1.1").stream(proxy.listen).await.is_ok());
    until("the refused handshake is counted", || async {
        proxy.metric(r#"utg_tls_handshakes_total{outcome="incompatible"}"#).await == Some(1.0)
    })
    .await;
}

#[tokio::test]
async fn connection_has_a_limit_of_streams_and_of_requests() {
    let (tool, proxy) =
        h2c(ToolBehavior::Wait, "streams_per_connection = 3\nrequests_per_connection = 5").await;
    let client = Http2Client::prior_knowledge(proxy.listen).await;
    until("the limit of streams has arrived", || async { client.send.current_max_send_streams() == 3 }).await;
    let calls = join_all((0..5).map(|_| async { client.send(&call("GET", "/v1/qr/a")).await.status }));
    let released = async {
        until("three calls wait", || async { tool.calls() == 3 }).await;
        assert_eq!(proxy.send(get("/healthz")).await.status, 200);
        assert_eq!(tool.calls(), 3, "no further stream is open");
        tool.release();
    };
    assert_eq!(futures_util::future::join(calls, released).await.0, [200; 5]);
    assert!(client.try_send(&call("GET", "/v1/qr/a")).await.is_err(), "the limit of requests is reached");
    closed(&proxy, "done", 1.0).await;
    assert!(client.closed().await.is_ok(), "closed gracefully");
}

#[tokio::test]
async fn rapid_reset_closes_its_connection_and_no_other() {
    let (_tool, proxy) = h2c(ToolBehavior::Wait, "").await;
    let other = Http2Client::prior_knowledge(proxy.listen).await;
    let client = Http2Client::prior_knowledge(proxy.listen).await;
    let mut made = 0;
    while made < 2_000 {
        let Ok(mut sender) = client.send.clone().ready().await else { break };
        let request = http2::head(&call("GET", "/v1/qr/a")).unwrap();
        let Ok((_answer, mut body)) = sender.send_request(request, false) else { break };
        // Let the connection send the head.
        tokio::task::yield_now().await;
        body.send_reset(Reason::CANCEL);
        made += 1;
    }
    assert!(made < 1_500, "{made}");
    // The reason arrives, unless frames that the client still sends cause a reset of the
    // connection.
    let why = client.closed().await.unwrap_err();
    assert!(why.is_io() || why.reason() == Some(Reason::ENHANCE_YOUR_CALM), "{why}");
    closed(&proxy, "flood", 1.0).await;
    assert_eq!(other.send(&Request::new("GET", "/healthz")).await.status, 200);
    let in_flight = r#"utg_calls_in_flight{tool="qr"}"#;
    until("their slots are free", || async { proxy.metric(in_flight).await == Some(0.0) }).await;
}

#[tokio::test]
async fn connection_without_requests_is_closed_despite_pings() {
    let (_tool, proxy) = short_timeouts(ToolBehavior::Describe).await;
    // A preface without SETTINGS.
    let mut silent = Client::connect(proxy.listen).await;
    silent.write(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n").await;
    closed(&proxy, "idle", 1.0).await;

    let stream = tokio::net::TcpStream::connect(proxy.listen).await.unwrap();
    let (send, mut connection) = h2::client::handshake(stream).await.unwrap();
    let mut pings = connection.ping_pong().unwrap();
    let driver = tokio::spawn(connection);
    let client_answer = {
        let mut sender = send.ready().await.unwrap();
        let request = http2::head(&Request::new("GET", "/healthz")).unwrap();
        let (response, _body) = sender.send_request(request, true).unwrap();
        let status = response.await.unwrap().status();
        (sender, status)
    };
    assert_eq!(client_answer.1, 200);
    // Every ping gets its response until the connection is closed.
    let pinging = async { while pings.ping(h2::Ping::opaque()).await.is_ok() {} };
    timeout(PATIENCE, pinging).await.expect("the connection is closed");
    closed(&proxy, "idle", 2.0).await;
    drop((client_answer, driver));
}

#[tokio::test]
async fn frame_flood_does_not_delay_other_connections() {
    let (_tool, proxy) = short_timeouts(ToolBehavior::Describe).await;
    let ping = [&[0, 0, 8, 6, 0, 0, 0, 0, 0][..], &[7; 8]].concat();
    let settings = vec![0, 0, 6, 4, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 100];
    // A header block without an end, one byte per frame.
    let headers = vec![0, 0, 1, 1, 0, 0, 0, 0, 1, 0x82];
    let continuation = vec![0, 0, 1, 9, 0, 0, 0, 0, 1, 0x82];
    let nothing = vec![0, 0, 0, 0, 0, 0, 0, 0, 1];
    for (first, flood) in [(vec![], ping), (vec![], settings), (headers, continuation), (vec![], nothing)] {
        let mut client = Client::connect(proxy.listen).await;
        client.write(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00").await;
        client.try_write(&first).await;
        let flood = flood.repeat(1_000);
        let flooding = async {
            for _ in 0..50 {
                // The client reads no response, so the proxy stops reading at some point.
                let written = timeout(Duration::from_millis(200), client.try_write(&flood));
                if !matches!(written.await, Ok(true)) {
                    break;
                }
            }
        };
        let calls = async {
            for _ in 0..10 {
                assert_eq!(proxy.send(call("GET", "/v1/qr/a")).await.status, 200);
            }
        };
        futures_util::future::join(flooding, calls).await;
    }
    // Each connection is closed: for its frames, or because it makes no request.
    until("all are closed", || async {
        let mut closed = 0.0;
        for end in ["broken", "closed", "flood", "idle"] {
            closed += proxy
                .metric(&format!("utg_http2_connections_closed_total{{reason=\"{end}\"}}"))
                .await
                .unwrap();
        }
        closed == 4.0
    })
    .await;
}

#[tokio::test]
async fn sigterm_finishes_http2_calls_in_flight() {
    let (tool, mut proxy) = h2c(ToolBehavior::Wait, "").await;
    let client = Http2Client::prior_knowledge(proxy.listen).await;
    let idle = Http2Client::prior_knowledge(proxy.listen).await;
    assert_eq!(idle.send(&Request::new("GET", "/healthz")).await.status, 200);
    let request = call("GET", "/v1/qr/a");
    let response = client.send(&request);
    let ending = async {
        until("the call is in flight", || async { tool.calls() == 1 }).await;
        proxy.signal("TERM");
        until("new connections are refused", || async {
            tokio::net::TcpStream::connect(proxy.listen).await.is_err()
        })
        .await;
        let mut large = b"HTTP/1.1 200 OK\r\nContent-Length: 5000000\r\n\r\n".to_vec();
        large.resize(large.len() + 5_000_000, b'a');
        tool.release_with(ToolBehavior::Respond(large));
    };
    let (response, ()) = futures_util::future::join(response, ending).await;
    assert_eq!((response.status, response.complete, response.body.len()), (200, true, 5_000_000));
    assert!(client.closed().await.is_ok() && idle.closed().await.is_ok(), "both were closed gracefully");
    assert!(proxy.exited().await.success());
}

/// One that is opened meanwhile serves a request first, so that its client need not open another.
#[tokio::test]
async fn http2_connections_move_away_during_drain_delay() {
    let tool = FakeTool::start(ToolBehavior::Describe).await;
    let config = ProxyConfig::new().tool(Tool::Qr, &[&tool]).line("clients", "h2c = true");
    let mut proxy = config.line("server", "drain_delay = \"10m\"").ready().await;
    let open = Http2Client::prior_knowledge(proxy.listen).await;
    assert_eq!(open.send(&call("GET", "/v1/qr/a")).await.status, 200);
    proxy.signal("TERM");
    proxy.logs("drain delayed: ").await;
    assert!(open.closed().await.is_ok(), "it was closed gracefully");
    let late = Http2Client::prior_knowledge(proxy.listen).await;
    assert_eq!(late.send(&call("GET", "/v1/qr/b")).await.status, 200);
    assert!(late.closed().await.is_ok(), "it was closed gracefully");
    assert_eq!(proxy.send(call("GET", "/v1/qr/c")).await.status, 200, "the proxy still accepts connections");
    proxy.signal("TERM");
    assert!(proxy.exited().await.success());
}

#[tokio::test]
async fn http2_flood_without_grants_is_429() {
    let (_tool, proxy) = h2c(ToolBehavior::Describe, "refusals_per_second = 20").await;
    let client = Http2Client::prior_knowledge(proxy.listen).await;
    let statuses =
        join_all((0..100).map(|_| async { client.send(&Request::new("GET", "/v1/qr/a")).await.status }))
            .await;
    assert!(statuses.contains(&429) && statuses.contains(&401), "{statuses:?}");
    assert_eq!(client.send(&call("GET", "/v1/qr/a")).await.status, 200);
}

#[tokio::test]
async fn silent_http2_connection_is_closed_after_header_timeout() {
    let (authority, folder) = (Authority::generate(), TempFiles::create());
    let config = ProxyConfig::new()
        .line("clients", "header_timeout = \"300ms\"")
        .section("server.tls", &folder.server(&authority.identity(NAME)));
    let proxy = config.ready().await;
    let mut silent = Client::over(TlsClient::new(&authority).alpn("h2").stream(proxy.listen).await.unwrap());
    // The server sends its SETTINGS, and the client sends nothing.
    while silent.head().await.is_some() {}
    closed(&proxy, "timeout", 1.0).await;
}
