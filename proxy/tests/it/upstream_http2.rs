//! Tools that are called over HTTP/2: as those over HTTP/1.1, with fewer connections. That needs
//! the transport `pingora-proxy`, so these tests run on it whatever the transport under test is.

mod failures;
mod frozen;
mod sharing;

use bytes::Bytes;
use futures_util::future::join_all;
use shared::tool::Tool;

use tests::{
    Client, FakeTool, ToolBehavior,
    grant::{call, post},
    http2::Http2Client,
    http2_tool::{End, H2ToolBehavior, Http2Tool},
    keys::GRANT_SECRET,
    load::Load,
    proxy::{Proxy, ProxyConfig},
    tls::{Authority, NAME, TempFiles, TlsTerminator, quoted},
    transport::Transport,
    until,
};

/// A configuration with the transport that speaks HTTP/2 to tools.
fn pingora_proxy() -> ProxyConfig {
    ProxyConfig::new().transport(Transport::PingoraProxy)
}

/// One tool in HTTP/2; `lines` are further ones of its pool.
fn config(tool: &Http2Tool, lines: &str) -> ProxyConfig {
    pingora_proxy()
        .upstreams(Tool::Qr, &[&tool.address.to_string()])
        .pool_line(Tool::Qr, &format!("http2 = true\n{lines}"))
}

async fn calling(behavior: H2ToolBehavior, lines: &str) -> (Http2Tool, Proxy) {
    let tool = Http2Tool::start(behavior).await;
    let proxy = config(&tool, lines).ready().await;
    (tool, proxy)
}

/// A request whose body's length is not stated.
fn chunked(body: &str) -> Vec<u8> {
    let request = call("POST", "/v1/qr/a")
        .header("Content-Type", "application/json")
        .header("Transfer-Encoding", "chunked");
    let mut bytes = request.bytes();
    for chunk in body.as_bytes().chunks(10_000) {
        bytes.extend_from_slice(format!("{:x}\r\n", chunk.len()).as_bytes());
        bytes.extend_from_slice(chunk);
        bytes.extend_from_slice(b"\r\n");
    }
    bytes.extend_from_slice(b"0\r\nX-Trailer: dropped\r\n\r\n");
    bytes
}

#[tokio::test]
async fn calls_of_such_a_tool_are_as_calls_of_any_other() {
    let (tool, proxy) = calling(H2ToolBehavior::Describe, "path = \"/api\"").await;
    assert_eq!(proxy.upstream_health(Tool::Qr).await, ["healthy"], "it is probed in HTTP/2 too");
    let request = call("GET", "/v1/qr/a?b=c%20d").header("X-Mine", "yes").header("TE", "trailers");
    let response = proxy.send(request.header("X-Hop", "no").header("Connection", "X-Hop")).await;
    let said = response.json();
    assert_eq!((response.status, said["target"].as_str()), (200, Some("/api/a?b=c%20d")));
    assert_eq!(said["authority"], tool.address.to_string());
    assert_eq!((&said["scheme"], &said["headers"]["x-mine"]), (&"http".into(), &"yes".into()));
    for name in
        ["te", "x-hop", "host", "connection", "transfer-encoding", "x-gateway-grant", "content-length"]
    {
        assert_eq!(said["headers"][name], serde_json::Value::Null, "{name}");
    }
    assert_eq!(said["headers"]["x-request-id"].as_str(), response.header("x-request-id"));
    assert_eq!((response.header("x-tool"), response.header("connection")), (Some("yes"), None));
    for length in [0, 1, 5_000, 70_000, 1_000_000] {
        let body = "a".repeat(length);
        let said = proxy.send(post("/v1/qr/a", &body)).await.json();
        assert_eq!(said["body"].as_str(), Some(body.as_str()));
        assert_eq!(said["headers"]["content-length"], length.to_string());
        let mut client = Client::connect(proxy.listen).await;
        client.write(&chunked(&body)).await;
        let said = client.response("POST").await.unwrap().json();
        assert_eq!(said["body"].as_str(), Some(body.as_str()));
        assert_eq!(said["headers"]["content-length"], serde_json::Value::Null);
    }
    // What no URI may have is told by its number.
    let said = proxy.send(call("GET", "/v1/qr/a?q={\"b\"}")).await.json();
    assert_eq!(said["target"], "/api/a?q=%7B%22b%22%7D");
}

#[tokio::test]
async fn answers_pass_however_their_end_is_told() {
    let (tool, proxy) = calling(H2ToolBehavior::Describe, "").await;
    let headers = |lines: &[(&str, &str)]| {
        lines.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect::<Vec<_>>()
    };
    let pieces = || vec![Bytes::from_static(b"one "), Bytes::new(), Bytes::from_static(b"two")];
    let mut client = Client::connect(proxy.listen).await;
    for (lines, said, end, status, body) in [
        (headers(&[("content-length", "7")]), pieces(), End::Whole, 200, "one two"),
        (headers(&[]), pieces(), End::Whole, 200, "one two"),
        (headers(&[]), pieces(), End::Trailers, 200, "one two"),
        (headers(&[("content-length", "7")]), pieces(), End::Trailers, 200, "one two"),
        // The tool wants nothing more of the request: it has read all there is.
        (headers(&[("content-length", "7")]), pieces(), End::Reset(h2::Reason::NO_ERROR), 200, "one two"),
        (headers(&[(":hints", ""), (":hints", "")]), pieces(), End::Whole, 200, "one two"),
        (headers(&[(":status", "204")]), vec![], End::Whole, 204, ""),
        (headers(&[(":status", "204")]), vec![Bytes::new()], End::Trailers, 204, ""),
        (headers(&[(":status", "304"), ("etag", "a")]), vec![], End::Whole, 304, ""),
        (headers(&[(":status", "503"), ("retry-after", "77")]), vec![], End::Whole, 503, ""),
        (headers(&[(":status", "418"), ("x-a", "b")]), pieces(), End::Whole, 418, "one two"),
    ] {
        tool.set(H2ToolBehavior::Respond(lines.clone(), said, end));
        client.write(&call("GET", "/v1/qr/a").bytes()).await;
        let response =
            client.response("GET").await.unwrap_or_else(|| panic!("no response: {lines:?} {end:?}"));
        assert_eq!(
            (response.status, response.body.as_slice()),
            (status, body.as_bytes()),
            "{lines:?} {end:?}"
        );
        assert!(response.complete && response.header("connection").is_none(), "{response:?}");
        assert_eq!(response.header("x-sum"), None);
        for (name, value) in lines.iter().filter(|(name, _)| !name.starts_with(':')) {
            assert_eq!(response.header(name), Some(value.as_str()));
        }
    }
    let large = vec![Bytes::from(vec![b'a'; 1 << 20])];
    tool.set(H2ToolBehavior::Respond(headers(&[]), large, End::Whole));
    assert_eq!(proxy.send(call("GET", "/v1/qr/a")).await.body.len(), 1 << 20);
    tool.set(H2ToolBehavior::Respond(headers(&[]), pieces(), End::Never));
    client.write(&call("GET", "/v1/qr/a").bytes()).await;
    assert!(client.head().await.unwrap().starts_with("HTTP/1.1 200 "), "what is there is passed on at once");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn calls_of_one_connection_in_http2_go_over_few_others() {
    let tool = Http2Tool::start(H2ToolBehavior::Describe).await;
    let proxy = config(&tool, "").line("clients", "h2c = true").ready().await;
    let client = Http2Client::prior_knowledge(proxy.listen).await;
    let body = format!("\"{}\"", "a".repeat(300_000));
    let calls = (0..40).map(|number| {
        let request = match number % 2 {
            0 => call("GET", "/v1/qr/a"),
            _ => post("/v1/qr/a", &body),
        };
        let client = &client;
        async move { client.send(&request).await }
    });
    for (number, response) in join_all(calls).await.iter().enumerate() {
        assert_eq!((response.status, response.complete), (200, true));
        assert_eq!(response.json()["body"].as_str(), Some(if number % 2 == 0 { "" } else { &body }));
    }
    assert!(tool.connections() < 40, "{}", tool.connections());
}

/// Lines of a pool that trusts an authority, and what its server shows.
fn safe(authority: &Authority, folder: &TempFiles) -> String {
    let ca = quoted(&folder.write("ca.pem", &authority.pem));
    format!("tls = true\ntls_name = \"{NAME}\"\ntls_ca = {ca}")
}

#[tokio::test]
async fn over_tls_the_server_chooses() {
    let (authority, folder) = (Authority::generate(), TempFiles::create());
    let identity = authority.identity(NAME);
    let (new, old) = (Http2Tool::over_tls(&identity).await, FakeTool::start(ToolBehavior::Describe).await);
    let front = TlsTerminator::start(&identity, old.address).await;
    let lines = format!("http2 = true\n{}", safe(&authority, &folder));
    let config = pingora_proxy()
        .upstreams(Tool::Qr, &[&new.address.to_string()])
        .pool_line(Tool::Qr, &lines)
        .upstreams(Tool::Pdf, &[&front.address.to_string()])
        .pool_line(Tool::Pdf, &lines);
    let proxy = config.ready().await;
    for length in [0, 300_000] {
        let body = "a".repeat(length);
        for tool in [Tool::Qr, Tool::Pdf] {
            assert_eq!(proxy.upstream_health(tool).await, ["healthy"]);
            let said = proxy.send(post(&format!("/v1/{tool}/a"), &body)).await.json();
            assert_eq!(said["body"].as_str(), Some(body.as_str()));
            assert_eq!(said["scheme"].as_str(), (tool == Tool::Qr).then_some("https"));
        }
    }
    let (new, old) = (new.connections(), old.connections());
    assert!(new <= 2 && old <= 2, "connections are kept in either version: {new} {old}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reload_that_turns_it_on_or_off_fails_no_call() {
    let (authority, folder) = (Authority::generate(), TempFiles::create());
    let identity = authority.identity(NAME);
    let (new, old) =
        (Http2Tool::start(H2ToolBehavior::Describe).await, FakeTool::start(ToolBehavior::Describe).await);
    let front = TlsTerminator::with_alpn(&identity, new.address, old.address).await;
    let config = |http2: bool| {
        let lines = format!("http2 = {http2}\n{}", safe(&authority, &folder));
        [Tool::Qr, Tool::Pdf, Tool::Yt].into_iter().fold(pingora_proxy(), |config, tool| {
            config.upstreams(tool, &[&front.address.to_string()]).pool_line(tool, &lines)
        })
    };
    let mut generation = 1;
    let proxy = config(false).ready().await;
    let load = Load::start(proxy.listen, GRANT_SECRET);
    for http2 in [true, false, true, true, false, true] {
        let (calls_new, calls_old) = (new.calls(), old.calls());
        proxy.reload(&config(http2));
        generation = proxy.generation_after(generation).await;
        load.progress().await;
        let (more_new, more_old) = (new.calls() > calls_new, old.calls() > calls_old);
        assert!(if http2 { more_new } else { more_old });
    }
    assert!(load.assert_no_failure().await > 0);
    until("no connection of before is left", || async { old.connections() == 0 }).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_upgrade_under_load_loses_no_call() {
    let (tool, slow) =
        (Http2Tool::start(H2ToolBehavior::Describe).await, Http2Tool::start(H2ToolBehavior::Wait).await);
    let place = tempfile::tempdir().unwrap();
    let socket = format!("upgrade_socket = {:?}\ngrace = \"8s\"", place.path().join("upgrade.sock"));
    let config =
        [Tool::Qr, Tool::Pdf, Tool::Yt, Tool::Idea].into_iter().fold(pingora_proxy(), |config, name| {
            let server = if name == Tool::Idea { &slow } else { &tool };
            config.upstreams(name, &[&server.address.to_string()]).pool_line(name, "http2 = true")
        });
    let config = config.line("server", &socket);
    let mut old = config.ready().await;
    let load = Load::start(old.listen, GRANT_SECRET);
    for upgrade in 0..2 {
        slow.set(H2ToolBehavior::Wait);
        let before = slow.calls();
        let mut long = Client::connect(old.listen).await;
        long.write(&post("/v1/idea/a", "{}").bytes()).await;
        until("the long call is in flight", || async { slow.calls() > before }).await;
        let new = config.upgrade();
        new.upgraded().await;
        load.progress().await;
        slow.release();
        assert_eq!(long.response("POST").await.unwrap().status, 200, "upgrade {upgrade}");
        assert!(old.exited().await.success());
        old = new;
    }
    assert!(load.assert_no_failure().await > 50);
}

#[tokio::test]
async fn who_waits_at_the_end_of_the_process_is_served_to_the_end() {
    let (tool, mut proxy) = calling(H2ToolBehavior::Wait, "").await;
    let mut clients = Vec::new();
    for _ in 0..3 {
        let mut client = Client::connect(proxy.listen).await;
        client.write(&post("/v1/qr/a", "{}").bytes()).await;
        clients.push(client);
    }
    until("three calls wait", || async { tool.in_flight() == 3 }).await;
    proxy.signal("TERM");
    until("no new connection is taken", || async {
        tokio::net::TcpStream::connect(proxy.listen).await.is_err()
    })
    .await;
    tool.release();
    for client in &mut clients {
        assert_eq!(client.response("POST").await.expect("a response").json()["body"], "{}");
    }
    assert!(proxy.exited().await.success());
}
