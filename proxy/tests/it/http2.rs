//! HTTP/2 towards clients: the same answers as in HTTP/1.1, and bounds for what only HTTP/2 has.

use std::time::{Duration, Instant};

use bytes::Bytes;
use futures_util::future::join_all;
use h2::Reason;
use shared::tool::Tool;

use tests::{
    Client, FakeTool, PATIENCE, Request, ToolBehavior,
    grant::{call, post},
    http2::{self, Http2Client},
    proxy::{Proxy, ProxyConfig},
    tls::{Authority, NAME, TempFiles, TlsClient},
    until,
};

/// A proxy that takes HTTP/2 without TLS, with little patience.
async fn short_timeouts(behavior: ToolBehavior) -> (FakeTool, Proxy) {
    let tool = FakeTool::start(behavior).await;
    let config = ProxyConfig::new()
        .tool(Tool::Qr, &[&tool])
        .pool_line(Tool::Qr, "answer_timeout = \"300ms\"\npause_timeout = \"300ms\"")
        .line("clients", "h2c = true\nheader_timeout = \"300ms\"\nidle_timeout = \"1s\"");
    (tool, config.ready().await)
}

/// A proxy that takes HTTP/2 without TLS; `lines` are further ones of `[clients]`.
async fn patient(behavior: ToolBehavior, lines: &str) -> (FakeTool, Proxy) {
    let tool = FakeTool::start(behavior).await;
    let config = ProxyConfig::new().tool(Tool::Qr, &[&tool]).line("clients", &format!("h2c = true\n{lines}"));
    (tool, config.ready().await)
}

/// Waits until so many connections have ended like this.
async fn ended(proxy: &Proxy, end: &str, count: f64) {
    let series = format!("utg_http2_connections_closed_total{{reason=\"{end}\"}}");
    until(&format!("{count} connections have ended as {end}"), || async {
        proxy.metric(&series).await == Some(count)
    })
    .await;
}

#[tokio::test]
async fn calls_over_http2_are_as_calls_over_http1() {
    let (authority, folder) = (Authority::new(), TempFiles::new());
    let tool = FakeTool::start(ToolBehavior::Describe).await;
    let config = ProxyConfig::new()
        .tool(Tool::Qr, &[&tool])
        .section("server.tls", &folder.server(&authority.identity(NAME)));
    let proxy = config.ready().await;
    let client = Http2Client::over_tls(TlsClient::new(&authority), proxy.listen).await;
    let response = client.send(&call("GET", "/v1/qr/generate?a=b%20c").header("X-Mine", "yes")).await;
    let said = response.json();
    assert_eq!((response.status, said["target"].as_str()), (200, Some("/generate?a=b%20c")));
    assert_eq!(said["headers"]["host"], tool.address.to_string());
    assert_eq!(said["headers"]["x-mine"], "yes");
    assert_eq!(said["headers"]["x-gateway-grant"], serde_json::Value::Null);
    assert_eq!(said["headers"]["x-request-id"].as_str(), response.header("x-request-id"));
    assert!(response.header("connection").is_none() && response.header("x-tool") == Some("yes"));
    for length in [0, 1, 5_000, 70_000, 1_000_000] {
        let body = format!("\"{}\"", "a".repeat(length));
        let response = client.send(&post("/v1/qr/generate", &body)).await;
        assert_eq!((response.status, response.json()["body"].as_str()), (200, Some(body.as_str())));
    }
    let many = join_all((0..50).map(|_| async { client.send(&post("/v1/qr/generate", "{}")).await.status }));
    assert_eq!(many.await, [200; 50]);
    assert!(proxy.metric(r#"utg_calls_total{status="2xx",tier="pro",tool="qr"}"#).await == Some(56.0));
    until("each has its line", || async { proxy.output().matches("\"tool\":\"qr\"").count() == 56 }).await;
    // The other protocol is there as well, for who does not ask for this one.
    let mut other = TlsClient::new(&authority).connect(proxy.listen).await;
    other.write(&call("GET", "/v1/qr/generate").bytes()).await;
    assert_eq!(other.response("GET").await.expect("a response").status, 200);
}

#[tokio::test]
async fn a_body_of_unstated_length_reaches_the_tool_whole_and_an_answer_of_unstated_length_the_client() {
    let (tool, proxy) = patient(ToolBehavior::Describe, "").await;
    let client = Http2Client::prior_knowledge(proxy.listen).await;
    let request = call("POST", "/v1/qr/generate").header("Content-Type", "application/json");
    let (response, mut body) = client.begin(&request).await;
    for piece in ["\"one ", "two ", "", "three\""] {
        body.send_data(Bytes::from(piece), false).unwrap();
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    body.send_data(Bytes::new(), true).unwrap();
    let response = http2::read(response, false).await.unwrap();
    assert_eq!(response.json()["body"], "\"one two three\"");
    for said in [
        &b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\none \r\n3;a=1\r\ntwo\r\n0\r\n\r\n"[..],
        b"HTTP/1.0 200 OK\r\n\r\none two",
    ] {
        tool.set(ToolBehavior::RespondAndClose(said.to_vec()));
        let response = client.send(&call("GET", "/v1/qr/generate")).await;
        assert_eq!((response.body.as_slice(), response.complete), (&b"one two"[..], true));
    }
    for said in [
        &b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n"[..],
        b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf",
    ] {
        tool.set(ToolBehavior::RespondAndClose(said.to_vec()));
        let response = client.send(&call("GET", "/v1/qr/generate")).await;
        assert_eq!(
            (response.status, response.complete),
            (200, false),
            "what breaks off does not look complete"
        );
    }
    tool.set(ToolBehavior::Respond(b"HTTP/1.1 204 No Content\r\n\r\n".to_vec()));
    assert_eq!(client.send(&call("GET", "/v1/qr/generate")).await.status, 204);
}

fn get(target: &str) -> Request {
    Request::new("GET", target)
}

/// Requests that are refused, each with a grant of its own where it has one.
fn refused() -> Vec<(&'static str, Request)> {
    let filled =
        |lines: usize| (0..lines).fold(get("/v1/qr/a"), |request, n| request.header(&format!("x-{n}"), "b"));
    vec![
        ("no grant", get("/v1/qr/a")),
        ("no such tool", get("/v1/qrcode/a")),
        ("another method", Request::new("DELETE", "/v1/qr/a")),
        ("an underscore", call("GET", "/v1/qr/a").header("a_b", "c")),
        ("two keys", call("GET", "/v1/qr/a").header("x-api-key", "a").header("x-api-key", "b")),
        ("a comma in the key", call("GET", "/v1/qr/a").header("x-api-key", "a,b")),
        ("a second host", call("GET", "/v1/qr/a").header("host", "other.test")),
        ("two grants", call("GET", "/v1/qr/a").header("x-gateway-grant", "a")),
        ("another expectation", call("GET", "/v1/qr/a").header("expect", "a")),
        ("a dot segment", get("/v1/qr/..")),
        ("an encoded slash", get("/v1/qr/a%2Fb")),
        ("two slashes", get("//v1/qr/a")),
        ("a long target", get(&format!("/v1/qr/a?{}", "a".repeat(8_192)))),
        ("many lines", filled(140)),
        ("large headers", get("/v1/qr/a").header("x-a", &"b".repeat(66_000))),
        ("another type", call("POST", "/v1/qr/a").header("Content-Type", "text/plain").body(b"a")),
        ("two types", post("/v1/qr/a", "{}").header("content-type", "a/b")),
        (
            "a stated body that is too large",
            call("POST", "/v1/qr/a")
                .header("content-type", "application/json")
                .header("content-length", "99999999999"),
        ),
        ("a body for a route that has none", Request::new("POST", "/healthz").json("{}")),
    ]
}

#[tokio::test]
async fn what_is_refused_is_refused_with_the_same_words() {
    let (_tool, proxy) = patient(ToolBehavior::Describe, "").await;
    let client = Http2Client::prior_knowledge(proxy.listen).await;
    for ((why, request), (_, again)) in refused().into_iter().zip(refused()) {
        let old = proxy.send(again).await;
        let new = match why {
            "a stated body that is too large" => {
                http2::read(client.begin(&request).await.0, false).await.unwrap()
            }
            _ => client.send(&request).await,
        };
        assert_eq!((new.status, new.problem()), (old.status, old.problem()), "{why}");
        assert!(!client.is_closed(), "{why}: it ends the request and not the connection");
    }
    assert_eq!(client.send(&get("/healthz")).await.status, 200);
    // The library refuses by itself what is beyond all bounds.
    let beyond = get("/v1/qr/a").header("x-a", &"b".repeat(50_000)).header("x-c", &"b".repeat(50_000));
    assert_eq!(client.send(&beyond).await.status, 431);
}

#[tokio::test]
async fn a_body_that_is_too_large_is_refused_while_it_comes() {
    let (_tool, proxy) = patient(ToolBehavior::Describe, "").await;
    let client = Http2Client::prior_knowledge(proxy.listen).await;
    let request = call("POST", "/v1/qr/a").header("content-type", "application/json");
    let (response, mut body) = client.begin(&request).await;
    body.send_data(vec![b'a'; 11 << 20].into(), true).unwrap();
    let response = http2::read(response, false).await.unwrap();
    assert_eq!((response.status, response.problem().as_str()), (413, "body-too-large"));
}

#[tokio::test]
async fn a_body_that_stops_in_the_middle_is_answered_with_408() {
    let (_tool, proxy) = short_timeouts(ToolBehavior::Describe).await;
    let client = Http2Client::prior_knowledge(proxy.listen).await;
    let request = || call("POST", "/v1/qr/generate").header("content-type", "application/json");
    for request in [request(), request().header("content-length", "10")] {
        let (response, mut body) = client.begin(&request).await;
        body.send_data(Bytes::from_static(b"half"), false).unwrap();
        let response = http2::read(response, false).await.unwrap();
        assert_eq!((response.status, response.problem().as_str()), (408, "request-timeout"));
    }
}

#[tokio::test]
async fn a_slow_upload_does_not_use_up_the_time_of_the_tool() {
    let (_tool, proxy) = short_timeouts(ToolBehavior::Describe).await;
    let client = Http2Client::prior_knowledge(proxy.listen).await;
    let request = call("POST", "/v1/qr/generate").header("content-type", "application/json");
    let (response, mut body) = client.begin(&request).await;
    for _ in 0..10 {
        tokio::time::sleep(Duration::from_millis(100)).await;
        body.send_data(Bytes::from_static(b"1"), false).unwrap();
    }
    body.send_data(Bytes::new(), true).unwrap();
    assert_eq!(http2::read(response, false).await.unwrap().json()["body"], "1111111111");
}

#[tokio::test]
async fn a_tool_that_says_nothing_or_stops_in_the_middle_is_not_waited_for() {
    let (tool, proxy) = short_timeouts(ToolBehavior::Wait).await;
    let client = Http2Client::prior_knowledge(proxy.listen).await;
    for request in [call("GET", "/v1/qr/generate"), post("/v1/qr/generate", "{}")] {
        let begun = Instant::now();
        let response = client.send(&request).await;
        assert_eq!((response.status, response.problem().as_str()), (503, "tool-timeout"));
        assert_eq!(response.header("proxy-status"), Some("utg-proxy; error=http_response_timeout"));
        assert!(begun.elapsed() < Duration::from_secs(2), "{:?}", begun.elapsed());
    }
    tool.set(ToolBehavior::Respond(b"HTTP/1.1 200 OK\r\nContent-Length: 12\r\n\r\nhalf".to_vec()));
    let begun = Instant::now();
    let response = client.send(&call("GET", "/v1/qr/generate")).await;
    assert_eq!((response.status, response.complete), (200, false));
    assert!(begun.elapsed() < Duration::from_secs(2), "{:?}", begun.elapsed());
    let said = b"HTTP/1.1 200 OK\r\nContent-Length: 12\r\n\r\n".to_vec();
    tool.set(ToolBehavior::RespondAndDrip(said, b"abcdefghijkl".to_vec(), Duration::from_millis(60)));
    let response = client.send(&call("GET", "/v1/qr/generate")).await;
    assert_eq!((response.complete, response.body.len()), (true, 12), "one that goes on may take its time");
}

#[tokio::test]
async fn a_client_that_takes_nothing_of_its_answer_is_cut_and_others_on_its_connection_are_not() {
    let (tool, proxy) = patient(ToolBehavior::Describe, "idle_timeout = \"1s\"").await;
    let mut large = b"HTTP/1.1 200 OK\r\nContent-Length: 5000000\r\n\r\n".to_vec();
    large.resize(large.len() + 5_000_000, b'a');
    tool.set(ToolBehavior::Respond(large));
    let client = Http2Client::prior_knowledge(proxy.listen).await;
    let (response, mut body) = client.begin(&call("GET", "/v1/qr/generate")).await;
    body.send_data(Bytes::new(), true).unwrap();
    let begun = Instant::now();
    let response = response.await.unwrap();
    assert_eq!(response.status(), 200);
    let mut stream = response.into_body();
    let in_flight = r#"utg_calls_in_flight{tool="qr"}"#;
    until("its call is in flight", || async { proxy.metric(in_flight).await == Some(1.0) }).await;
    until("its call is given up", || async { proxy.metric(in_flight).await == Some(0.0) }).await;
    assert!(begun.elapsed() < Duration::from_secs(4), "{:?}", begun.elapsed());
    let mut end = None;
    while let Some(data) = tokio::time::timeout(PATIENCE, stream.data()).await.expect("an end in time") {
        match data {
            Ok(data) => stream.flow_control().release_capacity(data.len()).unwrap(),
            Err(error) => {
                end = Some(error);
                break;
            }
        }
    }
    let end = end.expect("no whole response");
    assert_eq!(end.reason(), Some(Reason::INTERNAL_ERROR), "{end:?}");
    tool.set(ToolBehavior::Describe);
    assert_eq!(client.send(&call("GET", "/v1/qr/generate")).await.status, 200);
}

#[tokio::test]
async fn a_client_that_takes_its_request_back_frees_its_place() {
    let (tool, proxy) = patient(ToolBehavior::Wait, "").await;
    let in_flight = r#"utg_calls_in_flight{tool="qr"}"#;
    let client = Http2Client::prior_knowledge(proxy.listen).await;
    for over in [true, false] {
        let (response, mut body) =
            client.begin(&call("POST", "/v1/qr/a").header("content-type", "application/json")).await;
        // More than is buffered before a slot is taken.
        body.send_data(vec![b'a'; 80 << 10].into(), over).unwrap();
        until("the call is in flight", || async { proxy.metric(in_flight).await == Some(1.0) }).await;
        body.send_reset(Reason::CANCEL);
        drop(response);
        until("its place is free", || async { proxy.metric(in_flight).await == Some(0.0) }).await;
    }
    let (response, mut body) = client.begin(&call("GET", "/v1/qr/a")).await;
    body.send_data(Bytes::new(), true).unwrap();
    until("the call is in flight", || async { proxy.metric(in_flight).await == Some(1.0) }).await;
    drop((response, body, client));
    until("its place is free", || async { proxy.metric(in_flight).await == Some(0.0) }).await;
    tool.release();
}

#[tokio::test]
async fn a_client_is_told_to_send_its_body_when_the_tool_is_there() {
    let (_tool, proxy) = patient(ToolBehavior::Describe, "").await;
    let client = Http2Client::prior_knowledge(proxy.listen).await;
    let request =
        call("POST", "/v1/qr/a").header("content-type", "application/json").header("expect", "100-continue");
    let (mut response, mut body) = client.begin(&request).await;
    let told = std::future::poll_fn(|context| response.poll_informational(context)).await;
    assert_eq!(told.expect("an interim response").unwrap().status().as_u16(), 100);
    body.send_data(Bytes::from_static(b"{}"), true).unwrap();
    assert_eq!(http2::read(response, false).await.unwrap().json()["body"], "{}");
}

#[tokio::test]
async fn without_being_asked_for_it_is_refused_on_plain_connections() {
    let tool = FakeTool::start(ToolBehavior::Describe).await;
    let proxy = ProxyConfig::new().tool(Tool::Qr, &[&tool]).ready().await;
    let mut client = Client::connect(proxy.listen).await;
    client.write(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n").await;
    assert_eq!(client.response("GET").await.expect("a response").problem(), "header-malformed");
    // Where it is asked for, HTTP/1.1 is there all the same, whatever its first letters.
    let (_tool, proxy) = patient(ToolBehavior::Describe, "").await;
    for request in [call("GET", "/v1/qr/a"), post("/v1/qr/a", "{}"), Request::new("PRI", "/v1/qr/a")] {
        let status = if request.method == "PRI" { 405 } else { 200 };
        assert_eq!(proxy.send(request).await.status, status);
    }
}

#[tokio::test]
async fn over_tls_it_can_be_switched_off() {
    let (authority, folder) = (Authority::new(), TempFiles::new());
    let section = folder.server(&authority.identity(NAME)) + "http2 = false\n";
    let proxy = ProxyConfig::new().section("server.tls", &section).ready().await;
    assert!(TlsClient::new(&authority).alpn("h2").stream(proxy.listen).await.is_err());
    assert!(TlsClient::new(&authority).alpn("http/1.1").stream(proxy.listen).await.is_ok());
    assert_eq!(proxy.metric(r#"utg_tls_handshakes_total{outcome="incompatible"}"#).await, Some(1.0));
}

#[tokio::test]
async fn a_connection_has_so_many_requests_at_once_and_in_all() {
    let (tool, proxy) =
        patient(ToolBehavior::Wait, "streams_per_connection = 3\nrequests_per_connection = 5").await;
    let client = Http2Client::prior_knowledge(proxy.listen).await;
    until("the proxy's bounds are known", || async { client.send.current_max_send_streams() == 3 }).await;
    let calls = join_all((0..5).map(|_| async { client.send(&call("GET", "/v1/qr/a")).await.status }));
    let released = async {
        until("three calls wait", || async { tool.calls() == 3 }).await;
        tokio::time::sleep(Duration::from_millis(100)).await;
        assert_eq!(tool.calls(), 3, "and not more");
        tool.release();
    };
    assert_eq!(futures_util::future::join(calls, released).await.0, [200; 5]);
    assert!(client.try_send(&call("GET", "/v1/qr/a")).await.is_err(), "it is used up");
    ended(&proxy, "done", 1.0).await;
    assert!(client.closed().await.is_ok(), "it was told so beforehand");
}

#[tokio::test]
async fn requests_that_are_made_to_be_taken_back_end_the_connection_and_no_other() {
    let (_tool, proxy) = patient(ToolBehavior::Wait, "").await;
    let other = Http2Client::prior_knowledge(proxy.listen).await;
    let client = Http2Client::prior_knowledge(proxy.listen).await;
    let mut made = 0;
    while made < 2_000 {
        let Ok(mut sender) = client.send.clone().ready().await else { break };
        let request = http2::head(&call("GET", "/v1/qr/a")).unwrap();
        let Ok((_answer, mut body)) = sender.send_request(request, false) else { break };
        // So that it is not only made in the client's memory.
        tokio::task::yield_now().await;
        body.send_reset(Reason::CANCEL);
        made += 1;
    }
    assert!(made < 1_500, "{made}");
    // It is told why, unless what it goes on sending is in the way.
    let why = client.closed().await.unwrap_err();
    assert!(why.is_io() || why.reason() == Some(Reason::ENHANCE_YOUR_CALM), "{why}");
    ended(&proxy, "flood", 1.0).await;
    assert_eq!(other.send(&Request::new("GET", "/healthz")).await.status, 200);
    let in_flight = r#"utg_calls_in_flight{tool="qr"}"#;
    until("nothing is left of them", || async { proxy.metric(in_flight).await == Some(0.0) }).await;
}

#[tokio::test]
async fn a_connection_without_requests_is_closed_however_lively_it_is() {
    let (_tool, proxy) = short_timeouts(ToolBehavior::Describe).await;
    // A greeting that does not come, and one after which nothing does.
    let mut silent = Client::connect(proxy.listen).await;
    let since = Instant::now();
    silent.write(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n").await;
    until("it is closed", || async {
        proxy.metric(r#"utg_http2_connections_closed_total{reason="idle"}"#).await == Some(1.0)
    })
    .await;
    assert!(since.elapsed() < Duration::from_secs(4), "{:?}", since.elapsed());

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
    let since = Instant::now();
    while pings.ping(h2::Ping::opaque()).await.is_ok() {
        assert!(since.elapsed() < Duration::from_secs(5));
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert!(since.elapsed() >= Duration::from_millis(900), "{:?}", since.elapsed());
    ended(&proxy, "idle", 2.0).await;
    drop((client_answer, driver));
}

#[tokio::test]
async fn frames_without_end_keep_nobody_else_waiting() {
    let (_tool, proxy) = short_timeouts(ToolBehavior::Describe).await;
    let ping = [&[0, 0, 8, 6, 0, 0, 0, 0, 0][..], &[7; 8]].concat();
    let settings = vec![0, 0, 6, 4, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 100];
    // A head that never ends, in frames that each hold a byte of it.
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
                // Nobody reads what is answered: once that is too much, no more is taken.
                let written = tokio::time::timeout(Duration::from_millis(200), client.try_write(&flood));
                if !matches!(written.await, Ok(true)) {
                    break;
                }
            }
        };
        let calls = async {
            for _ in 0..10 {
                let begun = Instant::now();
                assert_eq!(proxy.send(call("GET", "/v1/qr/a")).await.status, 200);
                assert!(begun.elapsed() < Duration::from_secs(1), "{:?}", begun.elapsed());
            }
        };
        futures_util::future::join(flooding, calls).await;
    }
    // Each is closed: for what it did, or because it makes no request.
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
async fn at_the_end_of_the_process_what_is_under_way_is_finished() {
    let (tool, mut proxy) = patient(ToolBehavior::Wait, "").await;
    let client = Http2Client::prior_knowledge(proxy.listen).await;
    let idle = Http2Client::prior_knowledge(proxy.listen).await;
    assert_eq!(idle.send(&Request::new("GET", "/healthz")).await.status, 200);
    let request = call("GET", "/v1/qr/a");
    let response = client.send(&request);
    let ending = async {
        until("the call is in flight", || async { tool.calls() == 1 }).await;
        proxy.signal("TERM");
        until("no new connection is taken", || async {
            tokio::net::TcpStream::connect(proxy.listen).await.is_err()
        })
        .await;
        let mut large = b"HTTP/1.1 200 OK\r\nContent-Length: 5000000\r\n\r\n".to_vec();
        large.resize(large.len() + 5_000_000, b'a');
        tool.release_with(ToolBehavior::Respond(large));
    };
    let (response, ()) = futures_util::future::join(response, ending).await;
    assert_eq!((response.status, response.complete, response.body.len()), (200, true, 5_000_000));
    assert!(client.closed().await.is_ok() && idle.closed().await.is_ok(), "both were told");
    assert!(proxy.exited().await.success());
}

#[tokio::test]
async fn an_address_that_sends_a_flood_without_grants_is_told_to_stop() {
    let (_tool, proxy) = patient(ToolBehavior::Describe, "refusals_per_second = 20").await;
    let client = Http2Client::prior_knowledge(proxy.listen).await;
    let statuses =
        join_all((0..100).map(|_| async { client.send(&Request::new("GET", "/v1/qr/a")).await.status }))
            .await;
    assert!(statuses.contains(&429) && statuses.contains(&401), "{statuses:?}");
    assert_eq!(client.send(&call("GET", "/v1/qr/a")).await.status, 200);
}

#[tokio::test]
async fn a_connection_that_agreed_on_it_and_says_nothing_is_cut_within_the_time_for_headers() {
    let (authority, folder) = (Authority::new(), TempFiles::new());
    let config = ProxyConfig::new()
        .line("clients", "header_timeout = \"300ms\"")
        .section("server.tls", &folder.server(&authority.identity(NAME)));
    let proxy = config.ready().await;
    let since = Instant::now();
    let mut silent = Client::over(TlsClient::new(&authority).alpn("h2").stream(proxy.listen).await.unwrap());
    // It greets, and hears nothing back.
    while silent.head().await.is_some() {}
    assert!(since.elapsed() < Duration::from_secs(2), "{:?}", since.elapsed());
    ended(&proxy, "timeout", 1.0).await;
}
