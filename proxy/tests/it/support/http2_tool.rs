//! A tool that speaks HTTP/2, and answers, fails or misbehaves as it is told.

use std::{
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use bytes::Bytes;
use h2::{
    Reason, RecvStream, SendStream,
    server::{Builder, SendResponse},
};
use http::{HeaderMap, Request, Response, request::Parts};
use parking_lot::Mutex;
use serde_json::json;
use tokio::{
    net::{TcpListener, TcpStream},
    sync::{Notify, watch},
    task::{JoinHandle, JoinSet},
};

use super::{
    client::Io,
    tls::{Identity, acceptor},
};

/// How calls are met. Probes are always met with 200.
#[derive(Clone, Debug)]
pub(crate) enum Conduct {
    /// With 200 and a description of the request in JSON.
    Describe,
    /// Not at all until [`Http2Tool::release`], which describes it.
    Wait,
    /// With a head, pieces of a body, and an end of some kind. `:status` is what it says, `:hints` comes before it.
    Say(Vec<(String, String)>, Vec<Bytes>, End),
    /// With a reset instead of an answer.
    Reset(Reason),
    /// With resets for the first so many, then with a description.
    ResetFirst(usize, Reason),
    /// With the end of the connection.
    Close,
    /// With an answer that is there before the request's body was read, of which the tool wants no more.
    Early,
    /// With so many bytes, as fast as they are taken.
    Much(usize),
    /// With a count of the body's bytes, of which it reads some, then pauses, and so on.
    Sip(Duration),
}

/// How an answer ends.
#[derive(Clone, Copy, Debug)]
pub(crate) enum End {
    Whole,
    Trailers,
    Reset(Reason),
    Close,
    /// It does not.
    Never,
}

/// A server at a port of its own.
pub(crate) struct Http2Tool {
    pub(crate) address: SocketAddr,
    shared: Arc<Shared>,
    task: JoinHandle<()>,
}

struct Shared {
    conduct: Mutex<Conduct>,
    most_streams: Option<u32>,
    calls: AtomicUsize,
    /// Connections that have brought a call: all there were, and those that are open.
    connections: AtomicUsize,
    open: AtomicUsize,
    under_way: AtomicUsize,
    most_under_way: AtomicUsize,
    taken_back: AtomicUsize,
    release: Notify,
    /// Those before this one are to end.
    leave: watch::Sender<usize>,
}

impl Http2Tool {
    /// Without TLS, with prior knowledge.
    pub(crate) async fn start(conduct: Conduct) -> Self {
        Self::serve(conduct, None, None).await
    }

    /// One that takes so many calls at once over a connection.
    pub(crate) async fn of_streams(most: u32) -> Self {
        Self::serve(Conduct::Describe, Some(most), None).await
    }

    /// Over TLS, where it takes HTTP/2 only.
    pub(crate) async fn safe(identity: &Identity) -> Self {
        Self::serve(Conduct::Describe, None, Some(identity)).await
    }

    async fn serve(conduct: Conduct, most_streams: Option<u32>, identity: Option<&Identity>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let shared = Arc::new(Shared {
            conduct: Mutex::new(conduct),
            most_streams,
            calls: AtomicUsize::new(0),
            connections: AtomicUsize::new(0),
            open: AtomicUsize::new(0),
            under_way: AtomicUsize::new(0),
            most_under_way: AtomicUsize::new(0),
            taken_back: AtomicUsize::new(0),
            release: Notify::new(),
            leave: watch::Sender::new(0),
        });
        let address = listener.local_addr().unwrap();
        let acceptor = identity.map(|identity| acceptor(identity, &["h2"]));
        let state = Arc::clone(&shared);
        let task = tokio::spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                let (shared, acceptor) = (Arc::clone(&state), acceptor.clone());
                connections.spawn(async move {
                    match acceptor {
                        None => converse::<TcpStream>(stream, shared).await,
                        Some(acceptor) => {
                            if let Ok(stream) = acceptor.accept(stream).await {
                                converse(stream, shared).await;
                            }
                        }
                    }
                });
            }
        });
        Self { address, shared, task }
    }

    pub(crate) fn set(&self, conduct: Conduct) {
        *self.shared.conduct.lock() = conduct;
    }

    /// Answers the calls that wait.
    pub(crate) fn release(&self) {
        self.set(Conduct::Describe);
        self.shared.release.notify_waiters();
    }

    /// Tells all connections there are that they are to end, and takes no more over them.
    pub(crate) fn leave(&self) {
        self.shared.leave.send_modify(|generation| *generation += 1);
    }

    /// Calls that arrived, without probes.
    pub(crate) fn calls(&self) -> usize {
        self.shared.calls.load(Ordering::SeqCst)
    }

    /// Connections that have brought a call.
    pub(crate) fn connections(&self) -> usize {
        self.shared.connections.load(Ordering::SeqCst)
    }

    /// Those of them that are open.
    pub(crate) fn open(&self) -> usize {
        self.shared.open.load(Ordering::SeqCst)
    }

    /// Calls under way.
    pub(crate) fn under_way(&self) -> usize {
        self.shared.under_way.load(Ordering::SeqCst)
    }

    /// The most calls that were under way over one connection.
    pub(crate) fn most_under_way(&self) -> usize {
        self.shared.most_under_way.load(Ordering::SeqCst)
    }

    /// Calls that the proxy has taken back.
    pub(crate) fn taken_back(&self) -> usize {
        self.shared.taken_back.load(Ordering::SeqCst)
    }
}

impl Drop for Http2Tool {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Counts up until it is dropped.
struct Counted<'a>(&'a AtomicUsize);

impl<'a> Counted<'a> {
    fn new(counter: &'a AtomicUsize) -> Self {
        counter.fetch_add(1, Ordering::SeqCst);
        Self(counter)
    }
}

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

async fn converse<S: Io + 'static>(stream: S, shared: Arc<Shared>) {
    let mut builder = Builder::new();
    builder.initial_window_size(100_000);
    if let Some(most) = shared.most_streams {
        builder.max_concurrent_streams(most);
    }
    let mut leave = shared.leave.subscribe();
    let Ok(mut connection) = builder.handshake::<_, Bytes>(stream).await else { return };
    let (here, mut open, close) = (Arc::new(AtomicUsize::new(0)), None, Arc::new(Notify::new()));
    let mut calls = JoinSet::new();
    loop {
        let accepted = tokio::select! {
            accepted = connection.accept() => accepted,
            _ = leave.changed() => {
                connection.graceful_shutdown();
                continue;
            }
            () = close.notified() => return,
        };
        let Some(Ok((request, respond))) = accepted else { break };
        if request.uri().path() != "/healthz" && open.is_none() {
            shared.connections.fetch_add(1, Ordering::SeqCst);
            open = Some(Counted::new(&shared.open));
        }
        let (shared, here, close) = (Arc::clone(&shared), Arc::clone(&here), Arc::clone(&close));
        calls.spawn(serve(request, respond, shared, here, close));
    }
    drop(open);
    while calls.join_next().await.is_some() {}
}

async fn serve(
    request: Request<RecvStream>,
    mut respond: SendResponse<Bytes>,
    shared: Arc<Shared>,
    here: Arc<AtomicUsize>,
    close: Arc<Notify>,
) {
    let (head, mut body) = request.into_parts();
    if head.uri.path() == "/healthz" {
        respond.send_response(Response::new(()), true).unwrap();
        return;
    }
    let (_here, _all) = (Counted::new(&here), Counted::new(&shared.under_way));
    shared.most_under_way.fetch_max(here.load(Ordering::SeqCst), Ordering::SeqCst);
    let number = shared.calls.fetch_add(1, Ordering::SeqCst);
    let released = shared.release.notified();
    let mut conduct = shared.conduct.lock().clone();
    if matches!(conduct, Conduct::Wait) {
        let whole = read(&mut body, Duration::ZERO).await;
        tokio::select! {
            () = released => {}
            reason = std::future::poll_fn(|context| respond.poll_reset(context)) => {
                assert_eq!(reason.ok(), Some(Reason::CANCEL));
                shared.taken_back.fetch_add(1, Ordering::SeqCst);
                return;
            }
        }
        if let Some(whole) = whole {
            describe(&head, &whole, respond);
        }
        return;
    }
    if let Conduct::ResetFirst(first, reason) = conduct {
        conduct = if number < first { Conduct::Reset(reason) } else { Conduct::Describe };
    }
    match conduct {
        Conduct::Describe => {
            if let Some(body) = read(&mut body, Duration::ZERO).await {
                describe(&head, &body, respond);
            }
        }
        Conduct::Say(headers, pieces, end) => say(respond, &headers, pieces, end, &close).await,
        Conduct::Reset(reason) => respond.send_reset(reason),
        Conduct::Close => close.notify_one(),
        Conduct::Early => {
            let mut send = respond.send_response(Response::new(()), false).unwrap();
            send.send_data(Bytes::from_static(b"enough"), true).unwrap();
            // Time for it to be sent: a reset takes what was not with it.
            tokio::time::sleep(Duration::from_millis(50)).await;
            send.send_reset(Reason::NO_ERROR);
        }
        Conduct::Much(length) => {
            let send = respond.send_response(Response::new(()), false).unwrap();
            if !much(send, length).await {
                shared.taken_back.fetch_add(1, Ordering::SeqCst);
            }
        }
        Conduct::Sip(pause) => {
            let length = read(&mut body, pause).await.map_or(0, |body| body.len());
            let mut send = respond.send_response(Response::new(()), false).unwrap();
            let _sent = send.send_data(length.to_string().into(), true);
        }
        Conduct::Wait | Conduct::ResetFirst(..) => {}
    }
}

/// So much is read at once by who sips.
const SIP: usize = 64 << 10;

/// The whole body, if it comes.
async fn read(body: &mut RecvStream, pause: Duration) -> Option<Vec<u8>> {
    let (mut whole, mut paused_at) = (Vec::new(), 0);
    while let Some(data) = body.data().await {
        let data = data.ok()?;
        body.flow_control().release_capacity(data.len()).unwrap();
        whole.extend_from_slice(&data);
        if !pause.is_zero() && whole.len() >= paused_at + SIP {
            paused_at = whole.len();
            tokio::time::sleep(pause).await;
        }
    }
    Some(whole)
}

fn describe(head: &Parts, body: &[u8], mut respond: SendResponse<Bytes>) {
    let text = json!({
        "method": head.method.as_str(),
        "scheme": head.uri.scheme_str(),
        "authority": head.uri.authority().map(http::uri::Authority::as_str),
        "target": head.uri.path_and_query().map(http::uri::PathAndQuery::as_str),
        "headers": head.headers.iter().map(|(name, value)| {
            (name.as_str().to_owned(), value.to_str().unwrap().into())
        }).collect::<serde_json::Map<_, _>>(),
        "body": String::from_utf8_lossy(body),
        "length": body.len(),
    })
    .to_string();
    let response = Response::builder()
        .header("content-type", "application/json")
        .header("content-length", text.len())
        .header("x-tool", "yes")
        .header("x-request-id", "of-the-tool");
    if let Ok(mut send) = respond.send_response(response.body(()).unwrap(), false) {
        let _sent = send.send_data(text.into(), true);
    }
}

async fn say(
    mut respond: SendResponse<Bytes>,
    headers: &[(String, String)],
    pieces: Vec<Bytes>,
    end: End,
    close: &Notify,
) {
    let response = headers.iter().fold(Response::builder(), |response, (name, value)| match name.as_str() {
        ":status" => response.status(value.as_str()),
        ":hints" => response,
        _ => response.header(name, value),
    });
    for _ in headers.iter().filter(|(name, _)| name == ":hints") {
        respond.send_informational(Response::builder().status(103).body(()).unwrap()).unwrap();
    }
    let bare = pieces.is_empty() && matches!(end, End::Whole);
    let mut send = respond.send_response(response.body(()).unwrap(), bare).unwrap();
    if bare {
        return;
    }
    for piece in pieces {
        send.send_data(piece, false).unwrap();
    }
    match end {
        End::Whole => send.send_data(Bytes::new(), true).unwrap(),
        End::Trailers => {
            let mut trailers = HeaderMap::new();
            trailers.insert("x-sum", "1".parse().unwrap());
            send.send_trailers(trailers).unwrap();
        }
        // Time for what was said to be sent: a reset takes what was not with it.
        End::Reset(reason) => {
            tokio::time::sleep(Duration::from_millis(50)).await;
            send.send_reset(reason);
        }
        End::Close => {
            tokio::time::sleep(Duration::from_millis(50)).await;
            close.notify_one();
        }
        End::Never => std::future::pending().await,
    }
}

/// Whether all of it was taken.
async fn much(mut send: SendStream<Bytes>, length: usize) -> bool {
    let piece = Bytes::from(vec![b'a'; 16 << 10]);
    let mut left = length;
    while left > 0 {
        let wanted = left.min(piece.len());
        send.reserve_capacity(wanted);
        while send.capacity() == 0 {
            match std::future::poll_fn(|context| send.poll_capacity(context)).await {
                Some(Ok(_)) => {}
                _ => return false,
            }
        }
        let now = wanted.min(send.capacity());
        if send.send_data(piece.slice(..now), now == left).is_err() {
            return false;
        }
        left -= now;
    }
    true
}
