//! A tool that answers, fails or misbehaves as it is told.

use std::{
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

use parking_lot::Mutex;
use serde_json::json;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpSocket, TcpStream},
    sync::Notify,
    task::{JoinHandle, JoinSet},
};

/// How calls are met. Probes are met by [`FakeTool::set_healthy`].
#[derive(Clone, Debug)]
pub(crate) enum Manner {
    /// With 200 and a description of the request in JSON.
    Describe,
    /// With these bytes, then the connection stays open.
    Say(Vec<u8>),
    /// With these bytes, then the connection is closed.
    SayAndClose(Vec<u8>),
    /// With these bytes, then a reset.
    SayAndReset(Vec<u8>),
    /// With the bytes one after the other, with a pause after each.
    Drip(Vec<u8>, Duration),
    /// With the first bytes at once, then with the others as [`Manner::Drip`].
    SayAndDrip(Vec<u8>, Vec<u8>, Duration),
    /// Not at all until [`FakeTool::release`].
    Wait,
}

/// A server at a port of its own.
pub(crate) struct FakeTool {
    pub(crate) address: SocketAddr,
    shared: Arc<Shared>,
    task: Mutex<Option<JoinHandle<()>>>,
}

struct Shared {
    manner: Mutex<Manner>,
    healthy: AtomicBool,
    probe_drip: Mutex<Option<Duration>>,
    calls: AtomicUsize,
    /// Connections that are open and have brought a call.
    callers: AtomicUsize,
    received: Mutex<Vec<String>>,
    release: Notify,
}

impl FakeTool {
    /// A healthy tool.
    pub(crate) async fn start(manner: Manner) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let shared = Arc::new(Shared {
            manner: Mutex::new(manner),
            healthy: AtomicBool::new(true),
            probe_drip: Mutex::default(),
            calls: AtomicUsize::new(0),
            callers: AtomicUsize::new(0),
            received: Mutex::default(),
            release: Notify::new(),
        });
        let address = listener.local_addr().unwrap();
        let task = tokio::spawn(serve(listener, Arc::clone(&shared)));
        Self { address, shared, task: Mutex::new(Some(task)) }
    }

    pub(crate) fn set(&self, manner: Manner) {
        *self.shared.manner.lock() = manner;
    }

    pub(crate) fn set_healthy(&self, healthy: bool) {
        self.shared.healthy.store(healthy, Ordering::SeqCst);
    }

    /// Answers probes byte by byte, with a pause after each.
    pub(crate) fn drip_probes(&self, pause: Duration) {
        *self.shared.probe_drip.lock() = Some(pause);
    }

    /// Calls that arrived, without probes.
    pub(crate) fn calls(&self) -> usize {
        self.shared.calls.load(Ordering::SeqCst)
    }

    /// Connections that are open and have brought a call.
    pub(crate) fn callers(&self) -> usize {
        self.shared.callers.load(Ordering::SeqCst)
    }

    /// The heads of the calls that arrived.
    pub(crate) fn received(&self) -> Vec<String> {
        self.shared.received.lock().clone()
    }

    /// Answers the calls that wait.
    pub(crate) fn release(&self) {
        self.set(Manner::Describe);
        self.shared.release.notify_waiters();
    }

    /// Closes the port and every connection.
    pub(crate) async fn stop(&self) {
        let task = self.task.lock().take();
        if let Some(task) = task {
            task.abort();
            let _ended = task.await;
        }
    }

    /// Listens again at the same port.
    pub(crate) fn restart(&self) {
        let socket = TcpSocket::new_v4().unwrap();
        socket.set_reuseaddr(true).unwrap();
        socket.bind(self.address).unwrap();
        let listener = socket.listen(64).unwrap();
        *self.task.lock() = Some(tokio::spawn(serve(listener, Arc::clone(&self.shared))));
    }
}

/// A connection that has brought a call, until it is closed.
struct Caller(Arc<Shared>);

impl Caller {
    fn new(shared: &Arc<Shared>) -> Self {
        shared.callers.fetch_add(1, Ordering::SeqCst);
        Self(Arc::clone(shared))
    }
}

impl Drop for Caller {
    fn drop(&mut self) {
        self.0.callers.fetch_sub(1, Ordering::SeqCst);
    }
}

async fn serve(listener: TcpListener, shared: Arc<Shared>) {
    // Aborting this task drops the set, and with it every connection.
    let mut connections = JoinSet::new();
    while let Ok((stream, _)) = listener.accept().await {
        connections.spawn(converse(stream, Arc::clone(&shared)));
    }
}

async fn converse(mut stream: TcpStream, shared: Arc<Shared>) {
    let (mut unread, mut caller) = (Vec::new(), None);
    while let Some((head, body)) = read_request(&mut stream, &mut unread).await {
        if head.starts_with("GET /healthz ") {
            let status = if shared.healthy.load(Ordering::SeqCst) { "200 OK" } else { "500 No" };
            let answer = format!("HTTP/1.1 {status}\r\nContent-Length: 0\r\n\r\n");
            let drip = *shared.probe_drip.lock();
            let manner = match drip {
                Some(pause) => Manner::Drip(answer.into_bytes(), pause),
                None => Manner::Say(answer.into_bytes()),
            };
            if !self::answer(&mut stream, manner, &head, &body).await {
                return;
            }
            continue;
        }
        caller.get_or_insert_with(|| Caller::new(&shared));
        shared.calls.fetch_add(1, Ordering::SeqCst);
        shared.received.lock().push(head.clone());
        let released = shared.release.notified();
        let mut manner = shared.manner.lock().clone();
        if matches!(manner, Manner::Wait) {
            released.await;
            manner = shared.manner.lock().clone();
        }
        if !answer(&mut stream, manner, &head, &body).await {
            return;
        }
    }
}

/// Whether the connection goes on.
async fn answer(stream: &mut TcpStream, manner: Manner, head: &str, body: &[u8]) -> bool {
    match manner {
        Manner::Describe | Manner::Wait => stream.write_all(&describe(head, body)).await.is_ok(),
        Manner::Say(bytes) => stream.write_all(&bytes).await.is_ok(),
        Manner::SayAndClose(bytes) => {
            let _written = stream.write_all(&bytes).await;
            let _closed = stream.shutdown().await;
            false
        }
        Manner::SayAndReset(bytes) => {
            let _written = stream.write_all(&bytes).await;
            // Time for the bytes to be read: a reset overtakes what is still in the buffers.
            tokio::time::sleep(Duration::from_millis(50)).await;
            let _set = stream.set_zero_linger();
            false
        }
        Manner::Drip(bytes, pause) => drip(stream, &bytes, pause).await,
        Manner::SayAndDrip(first, then, pause) => {
            stream.write_all(&first).await.is_ok() && drip(stream, &then, pause).await
        }
    }
}

async fn drip(stream: &mut TcpStream, bytes: &[u8], pause: Duration) -> bool {
    for byte in bytes {
        if stream.write_all(&[*byte]).await.is_err() {
            return false;
        }
        tokio::time::sleep(pause).await;
    }
    true
}

fn describe(head: &str, body: &[u8]) -> Vec<u8> {
    let (line, headers) = head.split_once("\r\n").unwrap();
    let mut words = line.split(' ');
    let body = json!({
        "method": words.next(),
        "target": words.next(),
        "headers": headers.split("\r\n").filter_map(|line| line.split_once(": ")).map(|(name, value)| {
            (name.to_ascii_lowercase(), value.into())
        }).collect::<serde_json::Map<_, _>>(),
        "body": String::from_utf8_lossy(body),
        "json": serde_json::from_slice::<serde_json::Value>(body).ok(),
        "length": body.len(),
    })
    .to_string();
    let length = body.len();
    format!("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nX-Request-Id: of-the-tool\r\nX-Gateway-Problem: no\r\nX-Gateway-Proof: of-the-tool\r\nX-Tool: yes\r\nContent-Length: {length}\r\n\r\n{body}").into_bytes()
}

/// A request's head and body; `None` at the end of the connection.
async fn read_request(stream: &mut TcpStream, unread: &mut Vec<u8>) -> Option<(String, Vec<u8>)> {
    let end = fill_until(stream, unread, b"\r\n\r\n").await? + 4;
    let head = String::from_utf8(unread.drain(..end).collect()).ok()?;
    let header = |name: &str| {
        head.split("\r\n")
            .filter_map(|line| line.split_once(": "))
            .find(|(n, _)| n.eq_ignore_ascii_case(name))
    };
    let mut body = Vec::new();
    if let Some((_, length)) = header("content-length") {
        let length: usize = length.parse().ok()?;
        while unread.len() < length {
            read_more(stream, unread).await?;
        }
        body = unread.drain(..length).collect();
    } else if header("transfer-encoding").is_some() {
        loop {
            let end = fill_until(stream, unread, b"\r\n").await?;
            let size = usize::from_str_radix(std::str::from_utf8(&unread[..end]).ok()?, 16).ok()?;
            while unread.len() < end + 2 + size + 2 {
                read_more(stream, unread).await?;
            }
            body.extend_from_slice(&unread[end + 2..end + 2 + size]);
            unread.drain(..end + 2 + size + 2);
            if size == 0 {
                break;
            }
        }
    }
    Some((head, body))
}

async fn fill_until(stream: &mut TcpStream, unread: &mut Vec<u8>, wanted: &[u8]) -> Option<usize> {
    loop {
        if let Some(place) = unread.windows(wanted.len()).position(|window| window == wanted) {
            return Some(place);
        }
        read_more(stream, unread).await?;
    }
}

async fn read_more(stream: &mut TcpStream, unread: &mut Vec<u8>) -> Option<()> {
    let read = stream.read_buf(unread).await.unwrap_or(0);
    (read > 0).then_some(())
}
