//! Clients that leave before the response begins: their calls end, and what these hold is free immediately.

use std::any::Any;

use bytes::Bytes;
use futures_util::future::{join, join_all};
use serde_json::Value;
use shared::tool::Tool;
use tokio::net::TcpListener;

use tests::{
    Client, FakeTool, Request, ToolBehavior,
    grant::{call, post},
    http2::Http2Client,
    http2_tool::{H2ToolBehavior, Http2Tool},
    proxy::{Proxy, ProxyConfig},
    tls::{Authority, NAME, TempFiles, TlsClient, TlsTerminator, quoted},
    transport::Transport,
    until,
};

const IN_FLIGHT: &str = r#"utg_calls_in_flight{tool="qr"}"#;

/// How a client calls, and how it leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Leave {
    Close,
    Reset,
    /// It ends its half of the connection, and reads on.
    CloseHalf,
    CloseTls,
    /// It ends its half of the connection with a `close_notify`.
    CloseHalfTls,
    /// It resets the stream of the call.
    ResetStream,
    CloseHttp2,
}

const LEAVES: [Leave; 7] = [
    Leave::Close,
    Leave::Reset,
    Leave::CloseHalf,
    Leave::CloseTls,
    Leave::CloseHalfTls,
    Leave::ResetStream,
    Leave::CloseHttp2,
];

impl Leave {
    const fn is_tls(self) -> bool {
        matches!(self, Self::CloseTls | Self::CloseHalfTls)
    }

    const fn is_half(self) -> bool {
        matches!(self, Self::CloseHalf | Self::CloseHalfTls)
    }
}

/// A client of HTTP/1.1 whose call is in flight, or what holds a stream of HTTP/2 open.
enum Caller {
    Http1(Client),
    #[allow(dead_code, reason = "the stream stays open until this is dropped")]
    Http2(Box<dyn Any + Send>),
}

/// A proxy with one tool that keeps its calls waiting.
struct Setup {
    tool: FakeTool,
    proxy: Proxy,
    authority: Authority,
    /// A connection of HTTP/2 that stays open.
    http2: Option<Http2Client>,
    _files: TempFiles,
}

impl Setup {
    async fn start(leave: Leave, lines: &str) -> Self {
        let (authority, files) = (Authority::generate(), TempFiles::create());
        let tool = FakeTool::start(ToolBehavior::Wait).await;
        let mut config = ProxyConfig::new()
            .tool(Tool::Qr, &[&tool])
            .pool_line(Tool::Qr, &format!("answer_timeout = \"60s\"\neject_after = 1\n{lines}"))
            .line("clients", "h2c = true\ncalls_in_flight_per_key = 8");
        if leave.is_tls() {
            config = config.section("server.tls", &files.server(&authority.identity(NAME)));
        }
        let proxy = config.ready().await;
        let is_stream = leave == Leave::ResetStream;
        let http2 = if is_stream { Some(Http2Client::prior_knowledge(proxy.listen).await) } else { None };
        Self { tool, proxy, authority, http2, _files: files }
    }

    async fn begin(&self, leave: Leave, request: &Request) -> Caller {
        let to = self.proxy.listen;
        let mut client = match leave {
            Leave::Close | Leave::CloseHalf => Client::connect(to).await,
            Leave::Reset => Client::connect_abortive(to).await,
            Leave::CloseTls | Leave::CloseHalfTls => TlsClient::new(&self.authority).connect(to).await,
            Leave::ResetStream | Leave::CloseHttp2 => {
                let own = match &self.http2 {
                    Some(_) => None,
                    None => Some(Http2Client::prior_knowledge(to).await),
                };
                let client = own.as_ref().or(self.http2.as_ref()).unwrap();
                let (response, mut body) = client.begin(request).await;
                body.send_data(Bytes::copy_from_slice(&request.body), true).unwrap();
                return Caller::Http2(Box::new((response, body, own)));
            }
        };
        client.write(&request.bytes()).await;
        Caller::Http1(client)
    }

    async fn in_flight(&self, calls: f64) {
        self.proxy.metric_is(IN_FLIGHT, calls).await;
    }

    fn tls(&self) -> TlsClient {
        TlsClient::new(&self.authority)
    }
}

/// Leaves. What is returned is still open.
async fn end(caller: Caller, leave: Leave) -> Option<Client> {
    match caller {
        Caller::Http1(mut client) if leave.is_half() => {
            client.close_half().await;
            Some(client)
        }
        Caller::Http1(_) | Caller::Http2(_) => None,
    }
}

fn lines(proxy: &Proxy, status: u64) -> Vec<Value> {
    let output = proxy.output();
    let lines = output.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    lines.filter(|line| line["tool"] == "qr" && line["status"] == status).collect()
}

/// The tool is silent all the time: nothing but the end of the connection can be noticed.
#[tokio::test]
async fn clients_that_leave_free_the_slots_of_their_key() {
    for leave in LEAVES {
        let setup = Setup::start(leave, "").await;
        let (tool, proxy) = (&setup.tool, &setup.proxy);
        let requests =
            || (0..8).map(|at| if at % 2 == 0 { call("GET", "/v1/qr/a") } else { post("/v1/qr/a", "{}") });
        let mut callers = Vec::new();
        for request in requests() {
            callers.push(setup.begin(leave, &request).await);
        }
        until("all wait", || async { tool.calls() == 8 }).await;
        assert_eq!(tool.aborted(), 0, "{leave:?}");
        let left = join_all(callers.into_iter().map(|caller| end(caller, leave))).await;
        setup.in_flight(0.0).await;
        until("the tool sees it", || async { tool.aborted() == 8 }).await;
        until("each is logged", || async { lines(proxy, 0).len() == 8 }).await;
        let none = r#"utg_calls_total{status="none",tier="pro",tool="qr"}"#;
        assert_eq!(proxy.metric(none).await, Some(8.0), "{leave:?}");
        let ejections = proxy.ejections(&tool.address.to_string()).await;
        assert!(ejections == 0.0, "{leave:?}: it is not the upstream's failure");
        // The next calls of the key have their slots, and nothing is called twice.
        tool.set(ToolBehavior::Describe);
        for request in requests() {
            let status = match leave.is_tls() {
                true => {
                    let mut client = setup.tls().connect(proxy.listen).await;
                    client.write(&request.bytes()).await;
                    client.response(&request.method).await.unwrap().status
                }
                false => proxy.send(request).await.status,
            };
            assert_eq!(status, 200, "{leave:?}");
        }
        assert_eq!(tool.calls(), 16, "{leave:?}");
        for mut client in left.into_iter().flatten() {
            assert!(client.is_closed().await, "{leave:?}");
        }
    }
}

#[tokio::test]
async fn client_that_leaves_has_status_499_in_combined_lines() {
    let tool = FakeTool::start(ToolBehavior::Wait).await;
    let config = ProxyConfig::new().tool(Tool::Qr, &[&tool]).line("log", "format = \"combined\"");
    let proxy = config.ready().await;
    let mut client = Client::connect(proxy.listen).await;
    client.write(&call("GET", "/v1/qr/a").bytes()).await;
    until("it waits", || async { tool.calls() == 1 }).await;
    drop(client);
    until("it is logged", || async { proxy.output().contains("\"GET /v1/qr/a HTTP/1.1\" 499 0 ") }).await;
}

#[tokio::test]
async fn call_that_must_finish_goes_on_without_its_client() {
    for leave in LEAVES {
        let setup = Setup::start(leave, "finish_when_client_leaves = true").await;
        let tool = &setup.tool;
        for (count, request) in (1..).zip([call("GET", "/v1/qr/a"), post("/v1/qr/a", "{}")]) {
            tool.set(ToolBehavior::Wait);
            let caller = setup.begin(leave, &request).await;
            until("it waits", || async { tool.calls() == count }).await;
            let mut left = end(caller, leave).await;
            if !leave.is_tls() {
                // This is served after the end has arrived.
                assert_eq!(setup.proxy.send(Request::new("GET", "/healthz")).await.status, 200);
            }
            assert_eq!((setup.proxy.metric(IN_FLIGHT).await, tool.aborted()), (Some(1.0), 0), "{leave:?}");
            tool.release();
            if let Some(client) = &mut left {
                let response = client.response(&request.method).await.expect("a response");
                assert_eq!((response.status, response.complete), (200, true), "{leave:?}");
                assert!(client.is_closed().await);
            }
            setup.in_flight(0.0).await;
            assert_eq!((tool.calls(), tool.aborted()), (count, 0), "{leave:?}");
        }
    }
}

/// What a client sends while it waits is no end, and no byte of it is lost.
#[tokio::test]
async fn requests_that_arrive_meanwhile_are_served_in_order() {
    let setup = Setup::start(Leave::Close, "").await;
    let mut client = Client::connect(setup.proxy.listen).await;
    client.write(&call("GET", "/v1/qr/0").bytes()).await;
    until("it waits", || async { setup.tool.calls() == 1 }).await;
    // More than is read ahead.
    let body = format!("\"{}\"", "a".repeat(20_000));
    let rest: Vec<u8> = (1..12).flat_map(|at| post(&format!("/v1/qr/{at}"), &body).bytes()).collect();
    let writes = async {
        client.write(&rest).await;
        setup.tool.release();
        for at in 0..12 {
            let response = client.response("POST").await.expect("a response");
            assert_eq!(
                (response.status, response.json()["target"].as_str()),
                (200, Some(&*format!("/{at}")))
            );
        }
    };
    writes.await;
    assert_eq!((setup.tool.calls(), setup.tool.aborted()), (12, 0));
}

/// What they have sent is more than is read ahead, so that the end behind it cannot be read.
#[tokio::test]
async fn end_behind_many_requests_is_noticed() {
    for leave in [Leave::Close, Leave::Reset, Leave::CloseTls, Leave::CloseHalf] {
        let setup = Setup::start(leave, "").await;
        let Caller::Http1(mut client) = setup.begin(leave, &call("GET", "/v1/qr/0")).await else { panic!() };
        until("it waits", || async { setup.tool.calls() == 1 }).await;
        let body = format!("\"{}\"", "a".repeat(150_000));
        client.write(&post("/v1/qr/1", &body).bytes()).await;
        let _open = end(Caller::Http1(client), leave).await;
        setup.in_flight(0.0).await;
        until("the tool sees it", || async { setup.tool.aborted() == 1 }).await;
        assert_eq!(setup.tool.calls(), 1, "{leave:?}");
    }
}

#[tokio::test]
async fn client_that_leaves_frees_its_place_in_the_queue() {
    for leave in LEAVES {
        // The setting is about calls that were sent.
        let lines =
            "calls_in_flight = 1\nqueue = 1\nqueue_timeout = \"30s\"\nfinish_when_client_leaves = true";
        let setup = Setup::start(leave, lines).await;
        let first = setup.begin(leave, &call("GET", "/v1/qr/a")).await;
        until("it is in flight", || async { setup.tool.calls() == 1 }).await;
        let queued = |calls| setup.proxy.metric_is(r#"utg_calls_queued{tool="qr"}"#, calls);
        let second = setup.begin(leave, &post("/v1/qr/a", "{}")).await;
        queued(1.0).await;
        let _open = end(second, leave).await;
        queued(0.0).await;
        setup.tool.release();
        setup.in_flight(0.0).await;
        assert_eq!((setup.tool.calls(), setup.tool.aborted()), (1, 0), "{leave:?}");
        drop(first);
    }
}

/// The server accepts connections, and does not begin TLS.
#[tokio::test]
async fn client_that_leaves_ends_the_connection_attempt() {
    let silent = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let (authority, files) = (Authority::generate(), TempFiles::create());
    let tool = FakeTool::start(ToolBehavior::Describe).await;
    let probed = TlsTerminator::start(&authority.identity("127.0.0.1"), tool.address).await;
    let trusted = quoted(&files.write("ca.pem", &authority.pem));
    let port = probed.address.port();
    let lines = format!("tls = true\ntls_ca = {trusted}\nconnect_timeout = \"60s\"\nprobe.port = {port}");
    let config = ProxyConfig::new().upstreams(Tool::Qr, &[&silent.local_addr().unwrap().to_string()]);
    let proxy = config.pool_line(Tool::Qr, &lines).ready().await;
    for request in [call("GET", "/v1/qr/a"), post("/v1/qr/a", "{}")] {
        let mut client = Client::connect(proxy.listen).await;
        client.write(&request.bytes()).await;
        proxy.metric_is(IN_FLIGHT, 1.0).await;
        drop(client);
        proxy.metric_is(IN_FLIGHT, 0.0).await;
    }
}

#[tokio::test]
async fn call_of_a_client_that_left_is_not_retried() {
    let tools = [FakeTool::start(ToolBehavior::Wait).await, FakeTool::start(ToolBehavior::Wait).await];
    let config = ProxyConfig::new().tool(Tool::Qr, &[&tools[0], &tools[1]]);
    let proxy = config
        .pool_line(Tool::Qr, "try_timeout = \"300ms\"\nretry_percent = 100\neject_after = 1000")
        .ready()
        .await;
    let calls = || tools[0].calls() + tools[1].calls();
    let mut clients = Vec::new();
    for _ in 0..10 {
        let mut client = Client::connect(proxy.listen).await;
        client.write(&call("GET", "/v1/qr/a").bytes()).await;
        clients.push(client);
    }
    until("all wait", || async { calls() >= 10 }).await;
    clients.clear();
    proxy.metric_is(IN_FLIGHT, 0.0).await;
    let before = calls();
    // Longer than an attempt: another one is in time for its retry.
    let (kept, ()) = join(proxy.send(call("GET", "/v1/qr/a")), async {
        until("it is retried", || async { calls() == before + 2 }).await;
        tools.iter().for_each(FakeTool::release);
    })
    .await;
    assert_eq!((kept.status, calls()), (200, before + 2));
}

/// Needs the transport that speaks HTTP/2 to tools.
#[tokio::test]
async fn client_that_leaves_ends_the_stream_of_an_http2_tool() {
    let tool = Http2Tool::start(H2ToolBehavior::Wait).await;
    let config = ProxyConfig::new().transport(Transport::PingoraProxy);
    let config = config.upstreams(Tool::Qr, &[&tool.address.to_string()]).pool_line(Tool::Qr, "http2 = true");
    let proxy = config.ready().await;
    for (count, request) in (1..).zip([call("GET", "/v1/qr/a"), post("/v1/qr/a", "{}")]) {
        let mut client = Client::connect(proxy.listen).await;
        client.write(&request.bytes()).await;
        until("it waits", || async { tool.calls() == count }).await;
        drop(client);
        until("its stream is reset", || async { tool.canceled() == count }).await;
        proxy.metric_is(IN_FLIGHT, 0.0).await;
    }
}
