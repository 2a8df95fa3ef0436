//! Every bound is run into: the client gets what the guide says, and the operator sees which bound it was.

use std::{pin::Pin, sync::Arc, time::Duration};

use proxy::observe::metrics::LimitKind;
use shared::tool::Tool;
use tokio::{
    net::{TcpSocket, TcpStream},
    task::JoinSet,
    time::timeout,
};

use tests::{
    Client, FakeTool, PATIENCE, Request, ToolBehavior,
    grant::{call, post},
    http2::{
        self,
        frames::{Frames, HEADERS, RST_STREAM, head},
    },
    proxy::{Proxy, ProxyConfig},
    until,
};

/// What a client gets: an response's status and code, or nothing.
type Got = Option<(u16, String)>;
type Driven = Pin<Box<dyn Future<Output = Got> + Send>>;

/// A bound, how it is made small, how it is run into, and what comes of it.
struct Row {
    bound: LimitKind,
    lines: &'static [(&'static str, &'static str)],
    drive: fn(Stage) -> Driven,
    got: Option<(u16, &'static str)>,
}

/// The proxy, and the tool `qr` behind it.
#[derive(Clone)]
struct Stage {
    proxy: Arc<Proxy>,
    tool: Arc<FakeTool>,
}

macro_rules! row {
    ($bound:ident, $lines:expr, |$stage:ident| $drive:expr, $got:expr) => {
        Row {
            bound: LimitKind::$bound,
            lines: &$lines,
            drive: |$stage| Box::pin(async move { $drive.await }),
            got: $got,
        }
    };
}

const fn refused(status: u16, code: &'static str) -> Option<(u16, &'static str)> {
    Some((status, code))
}

/// What a request may be.
fn bounds_of_size() -> Vec<Row> {
    vec![
        row!(Headers, [], |stage| many_headers(&stage), refused(431, "headers-too-large")),
        row!(Headers, [], |stage| long_header(&stage), refused(431, "headers-too-large")),
        row!(Target, [], |stage| long_target(&stage), refused(414, "target-too-long")),
        row!(
            MaxBody,
            [("defaults", "max_body = \"1KiB\"")],
            |stage| long_body(&stage),
            refused(413, "body-too-large")
        ),
    ]
}

/// What may take how long.
fn bounds_of_time() -> Vec<Row> {
    vec![
        row!(
            HeaderTimeout,
            [("clients", "header_timeout = \"200ms\"")],
            |stage| says(&stage, b"GET /v1/qr/a HTTP/1.1\r\n"),
            refused(408, "request-timeout")
        ),
        row!(HeaderTimeout, [("clients", "header_timeout = \"200ms\"")], |stage| says(&stage, b""), None),
        row!(
            IdleTimeout,
            [("clients", "idle_timeout = \"1s\"")],
            |stage| half_a_body(&stage),
            refused(408, "request-timeout")
        ),
        row!(IdleTimeout, [("clients", "idle_timeout = \"1s\"")], |stage| stays_idle(&stage), None),
        row!(
            MinUploadRate,
            [("clients", "idle_timeout = \"3s\""), ("clients", "min_upload_rate = \"64KiB\"")],
            |stage| drips_a_body(&stage),
            refused(408, "request-timeout")
        ),
        row!(
            MinDownloadRate,
            [
                ("clients", "idle_timeout = \"3s\""),
                ("clients", "min_download_rate = \"64KiB\""),
                ("clients", "h2c = true")
            ],
            |stage| sips_a_response(&stage),
            None
        ),
        row!(
            ConnectTimeout,
            [("defaults", "connect_timeout = \"200ms\"")],
            |stage| to_nobody(&stage),
            refused(503, "tool-unavailable")
        ),
        row!(
            AnswerTimeout,
            [("defaults", "answer_timeout = \"200ms\"")],
            |stage| waits(&stage),
            refused(503, "tool-timeout")
        ),
        row!(
            TryTimeout,
            [("defaults", "try_timeout = \"200ms\"")],
            |stage| tries_another(&stage),
            refused(200, "")
        ),
        row!(PauseTimeout, [("defaults", "pause_timeout = \"200ms\"")], |stage| half_an_answer(&stage), None),
        row!(RefusalTimeout, [("clients", "h2c = true")], |stage| takes_no_refusal(&stage), None),
    ]
}

/// What there may be at once.
fn bounds_of_number() -> Vec<Row> {
    vec![
        row!(Connections, [("clients", "connections = 2")], |stage| third_connection(&stage), None),
        row!(
            ConnectionsPerAddress,
            [("clients", "connections_per_address = 2")],
            |stage| third_connection(&stage),
            refused(429, "too-many-requests")
        ),
        row!(
            CallsInFlight,
            [("defaults", "calls_in_flight = 1")],
            |stage| second_call(&stage),
            refused(503, "tool-overloaded")
        ),
        row!(
            CallsInFlightPerKey,
            [("clients", "calls_in_flight_per_key = 1")],
            |stage| second_call(&stage),
            refused(503, "tool-overloaded")
        ),
        row!(
            ReplayCapacity,
            [],
            |stage| until_refused(&stage, || call("GET", "/v1/qr/a"), 200),
            refused(503, "tool-overloaded")
        ),
        row!(
            RefusalsPerSecond,
            [("clients", "refusals_per_second = 1")],
            |stage| until_refused(&stage, || Request::new("GET", "/v1/qr/a"), 401),
            refused(429, "too-many-requests")
        ),
        row!(
            RetryPercent,
            [("defaults", "retry_percent = 0"), ("defaults", "eject_percent = 0")],
            |stage| breaks_off(&stage),
            refused(503, "tool-unavailable")
        ),
        row!(
            Http2HeldBytes,
            [("clients", "h2c = true"), ("clients", "streams_per_connection = 1000")],
            |stage| takes_no_refusals(&stage),
            None
        ),
    ]
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_bound_is_answered_and_counted() {
    let rows: Vec<_> =
        bounds_of_size().into_iter().chain(bounds_of_time()).chain(bounds_of_number()).collect();
    let never = LimitKind::ALL.into_iter().find(|bound| !rows.iter().any(|row| row.bound == *bound));
    assert_eq!(never, None, "is never run into");
    let mut driven = JoinSet::new();
    for row in rows {
        driven.spawn(run_into(row));
    }
    driven.join_all().await;
}

#[tokio::test]
async fn half_of_the_files_are_for_clients_and_the_log_says_so() {
    let tool = FakeTool::start(ToolBehavior::Describe).await;
    let proxy = ProxyConfig::new().tool(Tool::Qr, &[&tool]).open_files(128).ready().await;
    proxy.logs("open_files=128 connections=64 configured=20000").await;
    let mut open = Vec::new();
    for _ in 0..70 {
        let mut client = Client::connect(proxy.listen).await;
        let _written = client.try_write(&call("GET", "/v1/qr/a").bytes()).await;
        if response(&mut client).await.is_some() {
            open.push(client);
        }
    }
    assert_eq!(open.len(), 64);
    assert_eq!(proxy.metric(r#"utg_limits_exceeded_total{limit="connections"}"#).await, Some(6.0));
}

async fn run_into(row: Row) {
    let tool = FakeTool::start(ToolBehavior::Describe).await;
    let mut config = ProxyConfig::new().tool(Tool::Qr, &[&tool]).replay_capacity(1_000);
    for (section, line) in row.lines {
        config = config.line(section, line);
    }
    let other = FakeTool::start(ToolBehavior::Describe).await;
    // What is tried a second time needs a second server, and what cannot be reached one that is probed elsewhere.
    match row.bound {
        LimitKind::TryTimeout | LimitKind::RetryPercent => config = config.tool(Tool::Qr, &[&tool, &other]),
        LimitKind::ConnectTimeout => {
            let port = other.address.port();
            config = config
                .upstreams(Tool::Qr, &[&full().await])
                .pool_line(Tool::Qr, &format!("probe.port = {port}"));
        }
        _ => {}
    }
    let stage = Stage { proxy: Arc::new(config.ready().await), tool: Arc::new(tool) };
    // All rows start at once: on a busy machine a first probe may have been too slow.
    let healthy =
        || async { stage.proxy.upstream_health(Tool::Qr).await.iter().all(|health| health == "healthy") };
    until("its servers are healthy", healthy).await;
    let series = format!(r#"utg_limits_exceeded_total{{limit="{}"}}"#, row.bound.as_str());
    assert_eq!(stage.proxy.metric(&series).await, Some(0.0), "{series}");
    let got = (row.drive)(stage.clone()).await;
    assert_eq!(got, row.got.map(|(status, code)| (status, code.to_owned())), "{series}");
    until(&series, || async { stage.proxy.metric(&series).await >= Some(1.0) }).await;
}

/// The response to what was written; `None` when there is none, or it breaks off.
async fn response(client: &mut Client) -> Got {
    let response = client.response("GET").await.filter(|response| response.complete)?;
    let code = if response.status < 400 { String::new() } else { response.problem() };
    Some((response.status, code))
}

async fn send(stage: &Stage, request: Request) -> Got {
    says(stage, &request.bytes()).await
}

async fn says(stage: &Stage, bytes: &[u8]) -> Got {
    let mut client = Client::connect(stage.proxy.listen).await;
    client.write(bytes).await;
    response(&mut client).await
}

async fn many_headers(stage: &Stage) -> Got {
    let many = |request: Request, number: i32| request.header(&format!("X-Number-{number}"), "1");
    send(stage, (0..128).fold(call("GET", "/v1/qr/a"), many)).await
}

async fn long_header(stage: &Stage) -> Got {
    send(stage, call("GET", "/v1/qr/a").header("X-Long", &"a".repeat(65_536))).await
}

async fn long_target(stage: &Stage) -> Got {
    send(stage, Request::new("GET", &format!("/v1/qr/a?{}", "a".repeat(8_192)))).await
}

async fn long_body(stage: &Stage) -> Got {
    send(stage, post("/v1/qr/a", &"a".repeat(1_025))).await
}

async fn half_a_body(stage: &Stage) -> Got {
    let head =
        call("POST", "/v1/qr/a").header("Content-Type", "application/json").header("Content-Length", "2");
    says(stage, &[&head.bytes()[..], b"{"].concat()).await
}

/// An upload that goes on without a pause, at about 2 KiB a second.
async fn drips_a_body(stage: &Stage) -> Got {
    let request = call("POST", "/v1/qr/a").header("Content-Type", "application/json");
    let mut client = Client::connect(stage.proxy.listen).await;
    client.write(&request.header("Content-Length", "100000").bytes()).await;
    loop {
        client.try_write(&[b'a'; 100]).await;
        if let Ok(got) = timeout(Duration::from_millis(50), response(&mut client)).await {
            return got;
        }
    }
}

/// A response of which a hundred bytes are taken now and then: the window of an HTTP/2 stream lets no more through.
async fn sips_a_response(stage: &Stage) -> Got {
    let mut large = b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n".to_vec();
    large.resize(large.len() + 1_000_000, b'a');
    stage.tool.set(ToolBehavior::Respond(large));
    let stream = TcpStream::connect(stage.proxy.listen).await.unwrap();
    let (send, connection) = h2::client::Builder::new()
        .initial_window_size(100)
        .handshake::<_, bytes::Bytes>(stream)
        .await
        .unwrap();
    let driver = tokio::spawn(connection);
    let mut send = send.ready().await.unwrap();
    let head = http2::head(&call("GET", "/v1/qr/a")).unwrap();
    let mut body = send.send_request(head, true).unwrap().0.await.unwrap().into_body();
    let mut taken = 0;
    while let Some(Ok(data)) = timeout(PATIENCE, body.data()).await.expect("more, or an end") {
        taken += data.len();
        tokio::time::sleep(Duration::from_millis(50)).await;
        body.flow_control().release_capacity(data.len()).unwrap();
    }
    driver.abort();
    assert!(taken < 1_000_000, "the whole response was taken");
    None
}

async fn stays_idle(stage: &Stage) -> Got {
    let mut client = Client::connect(stage.proxy.listen).await;
    client.write(&call("GET", "/v1/qr/a").bytes()).await;
    assert_eq!(response(&mut client).await, Some((200, String::new())));
    response(&mut client).await
}

/// The address of a server that is listening and takes no more connections.
async fn full() -> String {
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let listener: &'static _ = Box::leak(Box::new(socket.listen(1).unwrap()));
    let address = listener.local_addr().unwrap();
    while let Ok(connected) = timeout(Duration::from_millis(300), TcpStream::connect(address)).await {
        std::mem::forget(connected.unwrap());
    }
    address.to_string()
}

async fn to_nobody(stage: &Stage) -> Got {
    send(stage, call("GET", "/v1/qr/a")).await
}

async fn waits(stage: &Stage) -> Got {
    stage.tool.set(ToolBehavior::Wait);
    send(stage, call("GET", "/v1/qr/a")).await
}

async fn tries_another(stage: &Stage) -> Got {
    stage.tool.set(ToolBehavior::Wait);
    let first = send(stage, call("GET", "/v1/qr/a")).await;
    assert_eq!(send(stage, call("GET", "/v1/qr/a")).await, first, "one of the two met the one that waits");
    first
}

async fn half_an_answer(stage: &Stage) -> Got {
    stage.tool.set(ToolBehavior::Respond(b"HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\nhalf".to_vec()));
    send(stage, call("GET", "/v1/qr/a")).await
}

async fn third_connection(stage: &Stage) -> Got {
    let mut open = Vec::new();
    for _ in 0..2 {
        let mut client = Client::connect(stage.proxy.listen).await;
        client.write(&call("GET", "/v1/qr/a").bytes()).await;
        assert_eq!(response(&mut client).await, Some((200, String::new())));
        open.push(client);
    }
    let got = says_if_it_can(stage).await;
    drop(open.pop());
    // The end of one makes room for another.
    until("there is room", || async { says_if_it_can(stage).await == Some((200, String::new())) }).await;
    got
}

/// As [`says`], of a connection that may be closed before anything was written.
async fn says_if_it_can(stage: &Stage) -> Got {
    let mut client = Client::connect(stage.proxy.listen).await;
    let _written = client.try_write(&call("GET", "/v1/qr/a").bytes()).await;
    response(&mut client).await
}

async fn second_call(stage: &Stage) -> Got {
    stage.tool.set(ToolBehavior::Wait);
    let mut first = Client::connect(stage.proxy.listen).await;
    first.write(&call("GET", "/v1/qr/a").bytes()).await;
    until("the first is in flight", || async { stage.tool.calls() == 1 }).await;
    send(stage, call("GET", "/v1/qr/a")).await
}

async fn until_refused(stage: &Stage, request: fn() -> Request, otherwise: u16) -> Got {
    for _ in 0..3_000 {
        let got = send(stage, request()).await;
        if got.as_ref().is_none_or(|(status, _)| *status != otherwise) {
            return got;
        }
    }
    None
}

/// Over HTTP/2, with a window of nothing: the head comes, and the body does not.
async fn takes_no_refusal(stage: &Stage) -> Got {
    let mut client = Frames::connect(stage.proxy.listen, 0).await;
    client.write(&head(1, &Request::new("GET", "/v1/qr/a"), &[])).await;
    for kind in [HEADERS, RST_STREAM] {
        assert_eq!(client.next_of_stream().await.map(|frame| frame.kind), Some(kind));
    }
    None
}

/// Over HTTP/2, with a window of nothing: more refusals than a connection without a grant may leave untaken.
async fn takes_no_refusals(stage: &Stage) -> Got {
    const ENHANCE_YOUR_CALM: [u8; 4] = [0, 0, 0, 11];
    let get = Request::new("GET", "/v1/qr/a");
    let mut client = Frames::connect(stage.proxy.listen, 0).await;
    client.write(&(0..1_000).flat_map(|number| head(1 + 2 * number, &get, &[])).collect::<Vec<_>>()).await;
    while client.next_of_stream().await.expect("a frame").payload != ENHANCE_YOUR_CALM {}
    None
}

async fn breaks_off(stage: &Stage) -> Got {
    stage.tool.set(ToolBehavior::RespondAndClose(Vec::new()));
    until_refused(stage, || call("GET", "/v1/qr/a"), 200).await
}
