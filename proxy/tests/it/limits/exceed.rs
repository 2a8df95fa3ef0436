//! Clients that exceed a limit.

use std::time::Duration;

use futures_util::future::select_all;
use tests::{
    Client, PATIENCE, Request, ToolBehavior,
    grant::{call, post, upload},
    http2::{
        self,
        frames::{Frames, HEADERS, RST_STREAM, head},
    },
    until,
};
use tokio::{
    net::{TcpSocket, TcpStream},
    time::timeout,
};

use super::Stage;

/// The outcome for a client: the status of a complete response, and its code if it is a problem.
/// `None` if there is no complete response.
pub(super) type Outcome = Option<(u16, String)>;

/// Reads a response. Returns `None` if there is none or it is cut off.
pub(super) async fn outcome(client: &mut Client) -> Outcome {
    let response = client.response("GET").await.filter(|response| response.complete)?;
    let code = if response.status < 400 { String::new() } else { response.problem() };
    Some((response.status, code))
}

async fn send(stage: &Stage, request: Request) -> Outcome {
    write(stage, &request.bytes()).await
}

async fn write(stage: &Stage, bytes: &[u8]) -> Outcome {
    let mut client = Client::connect(stage.proxy.listen).await;
    client.write(bytes).await;
    outcome(&mut client).await
}

pub(super) async fn many_headers(stage: &Stage) -> Outcome {
    let many = |request: Request, number: i32| request.header(&format!("X-Number-{number}"), "1");
    send(stage, (0..128).fold(call("GET", "/v1/qr/a"), many)).await
}

pub(super) async fn long_header(stage: &Stage) -> Outcome {
    send(stage, call("GET", "/v1/qr/a").header("X-Long", &"a".repeat(65_536))).await
}

pub(super) async fn long_target(stage: &Stage) -> Outcome {
    send(stage, Request::new("GET", &format!("/v1/qr/a?{}", "a".repeat(8_192)))).await
}

pub(super) async fn large_body(stage: &Stage) -> Outcome {
    send(stage, post("/v1/qr/a", &"a".repeat(1_025))).await
}

pub(super) async fn unfinished_body(stage: &Stage) -> Outcome {
    let head = upload("/v1/qr/a", 2);
    write(stage, &[&head.bytes()[..], b"{"].concat()).await
}

/// Sends a body without a pause, at about 2 KiB a second.
pub(super) async fn slow_upload(stage: &Stage) -> Outcome {
    let mut client = Client::connect(stage.proxy.listen).await;
    client.write(&upload("/v1/qr/a", 100_000).bytes()).await;
    loop {
        client.try_write(&[b'a'; 100]).await;
        if let Ok(outcome) = timeout(Duration::from_millis(50), outcome(&mut client)).await {
            return outcome;
        }
    }
}

/// Reads a response at about 2 KiB a second: the window of the HTTP/2 stream is a hundred bytes.
pub(super) async fn slow_download(stage: &Stage) -> Outcome {
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
    let mut read = 0;
    while let Some(Ok(data)) = timeout(PATIENCE, body.data()).await.expect("data or an end in time") {
        read += data.len();
        tokio::time::sleep(Duration::from_millis(50)).await;
        body.flow_control().release_capacity(data.len()).unwrap();
    }
    driver.abort();
    assert!(read < 1_000_000, "the whole response was read");
    None
}

pub(super) async fn idle_connection(stage: &Stage) -> Outcome {
    let mut client = Client::connect(stage.proxy.listen).await;
    client.write(&call("GET", "/v1/qr/a").bytes()).await;
    assert_eq!(outcome(&mut client).await, Some((200, String::new())));
    outcome(&mut client).await
}

/// Returns the address of a listener whose accept queue is full.
pub(super) async fn full() -> String {
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let listener: &'static _ = Box::leak(Box::new(socket.listen(1).unwrap()));
    let address = listener.local_addr().unwrap();
    while let Ok(connected) = timeout(Duration::from_millis(300), TcpStream::connect(address)).await {
        std::mem::forget(connected.unwrap());
    }
    address.to_string()
}

pub(super) async fn one_call(stage: &Stage) -> Outcome {
    send(stage, call("GET", "/v1/qr/a")).await
}

pub(super) async fn silent_tool(stage: &Stage) -> Outcome {
    stage.tool.set(ToolBehavior::Wait);
    send(stage, call("GET", "/v1/qr/a")).await
}

pub(super) async fn two_tries(stage: &Stage) -> Outcome {
    stage.tool.set(ToolBehavior::Wait);
    let first = send(stage, call("GET", "/v1/qr/a")).await;
    assert_eq!(
        send(stage, call("GET", "/v1/qr/a")).await,
        first,
        "one of the two calls came to the silent upstream first"
    );
    first
}

pub(super) async fn stalled_response(stage: &Stage) -> Outcome {
    stage.tool.set(ToolBehavior::Respond(b"HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\nhalf".to_vec()));
    send(stage, call("GET", "/v1/qr/a")).await
}

pub(super) async fn third_connection(stage: &Stage) -> Outcome {
    let mut open = Vec::new();
    for _ in 0..2 {
        let mut client = Client::connect(stage.proxy.listen).await;
        client.write(&call("GET", "/v1/qr/a").bytes()).await;
        assert_eq!(outcome(&mut client).await, Some((200, String::new())));
        open.push(client);
    }
    let outcome = call_if_accepted(stage).await;
    drop(open.pop());
    // The end of one connection permits another one.
    until("another connection is served", || async {
        call_if_accepted(stage).await == Some((200, String::new()))
    })
    .await;
    outcome
}

/// Makes a call on a connection that may be closed before the request is written.
async fn call_if_accepted(stage: &Stage) -> Outcome {
    let mut client = Client::connect(stage.proxy.listen).await;
    client.try_write(&call("GET", "/v1/qr/a").bytes()).await;
    outcome(&mut client).await
}

pub(super) async fn second_call(stage: &Stage) -> Outcome {
    stage.tool.set(ToolBehavior::Wait);
    let mut first = Client::connect(stage.proxy.listen).await;
    first.write(&call("GET", "/v1/qr/a").bytes()).await;
    until("the first is in flight", || async { stage.tool.calls() == 1 }).await;
    send(stage, call("GET", "/v1/qr/a")).await
}

/// Makes more calls at the same time than there are files for their upstream, most of them on one HTTP/2
/// connection. Returns the outcome of the first that has one before the tool responds.
pub(super) async fn calls_beyond_the_open_files(stage: &Stage) -> Outcome {
    stage.tool.set(ToolBehavior::Wait);
    let mut shared = Frames::connect(stage.proxy.listen, 65_535).await;
    let calls = (0..60).flat_map(|number| head(1 + 2 * number, &call("GET", "/v1/qr/a"), &[]));
    shared.write(&calls.collect::<Vec<_>>()).await;
    // First, because the limit is to be exceeded by a call whose outcome is awaited.
    until("most streams have a connection", || async { stage.tool.connections() >= 40 }).await;
    let mut clients = Vec::new();
    for _ in 0..40 {
        let mut client = Client::connect(stage.proxy.listen).await;
        client.write(&call("GET", "/v1/qr/a").bytes()).await;
        clients.push(client);
    }
    select_all(clients.iter_mut().map(|client| Box::pin(outcome(client)))).await.0
}

/// Sends requests until one does not have the status `otherwise`.
async fn until_refused(stage: &Stage, request: fn() -> Request, otherwise: u16) -> Outcome {
    for _ in 0..3_000 {
        let outcome = send(stage, request()).await;
        if outcome.as_ref().is_none_or(|(status, _)| *status != otherwise) {
            return outcome;
        }
    }
    None
}

/// Reads no byte of the body of a refusal: the window of the HTTP/2 stream is empty.
pub(super) async fn unread_refusal(stage: &Stage) -> Outcome {
    let mut client = Frames::connect(stage.proxy.listen, 0).await;
    client.write(&head(1, &Request::new("GET", "/v1/qr/a"), &[])).await;
    for kind in [HEADERS, RST_STREAM] {
        assert_eq!(client.next_of_stream().await.map(|frame| frame.kind), Some(kind));
    }
    None
}

/// Causes more refusals than a connection without a grant may leave unread.
pub(super) async fn unread_refusals(stage: &Stage) -> Outcome {
    const ENHANCE_YOUR_CALM: [u8; 4] = [0, 0, 0, 11];
    let get = Request::new("GET", "/v1/qr/a");
    let mut client = Frames::connect(stage.proxy.listen, 0).await;
    client.write(&(0..1_000).flat_map(|number| head(1 + 2 * number, &get, &[])).collect::<Vec<_>>()).await;
    while client.next_of_stream().await.expect("a frame").payload != ENHANCE_YOUR_CALM {}
    None
}

pub(super) async fn failing_calls_until_refused(stage: &Stage) -> Outcome {
    stage.tool.set(ToolBehavior::RespondAndClose(Vec::new()));
    until_refused(stage, || call("GET", "/v1/qr/a"), 200).await
}

pub(super) async fn calls_until_refused(stage: &Stage) -> Outcome {
    until_refused(stage, || call("GET", "/v1/qr/a"), 200).await
}

pub(super) async fn ungranted_calls_until_refused(stage: &Stage) -> Outcome {
    until_refused(stage, || Request::get("/v1/qr/a"), 401).await
}

pub(super) async fn unfinished_header(stage: &Stage) -> Outcome {
    write(stage, b"GET /v1/qr/a HTTP/1.1\r\n").await
}

pub(super) async fn silence(stage: &Stage) -> Outcome {
    write(stage, b"").await
}
