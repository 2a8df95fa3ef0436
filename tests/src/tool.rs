//! A fake HTTP/1.1 tool that responds, fails or misbehaves as a test says.

use std::{
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use parking_lot::Mutex;
use serde_json::json;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpSocket, TcpStream},
    sync::Notify,
    task::{JoinHandle, JoinSet},
};

use crate::runtime::{RUNTIME, keep_port, listen_at};

/// The behavior of a tool towards calls. [`FakeTool::set_healthy`] sets the response to probes.
#[derive(Clone, Debug)]
pub enum ToolBehavior {
    /// Responds with 200 and a description of the request in JSON.
    Describe,
    /// Responds with these bytes and keeps the connection open.
    Respond(Vec<u8>),
    /// Responds with these bytes and closes the connection.
    RespondAndClose(Vec<u8>),
    /// Responds with these bytes and resets the connection.
    RespondAndReset(Vec<u8>),
    /// Responds with these bytes as soon as the head has come, and reads the body afterwards.
    RespondEarly(Vec<u8>),
    /// Responds byte by byte, with a pause after each.
    Drip(Vec<u8>, Duration),
    /// Responds with the first bytes immediately and then with the others as [`ToolBehavior::Drip`].
    RespondAndDrip(Vec<u8>, Vec<u8>, Duration),
    /// Waits for [`FakeTool::release`].
    Wait,
}

/// A tool on its own port. It serves to the end of the test process, even after this handle is
/// dropped.
pub struct FakeTool {
    pub address: SocketAddr,
    shared: Arc<Shared>,
    task: Mutex<Option<JoinHandle<()>>>,
    /// Keeps the port while the tool is stopped.
    _port: TcpSocket,
}

struct Shared {
    behavior: Mutex<ToolBehavior>,
    healthy: AtomicBool,
    probe_drip: Mutex<Option<Duration>>,
    calls: AtomicUsize,
    /// The number of calls whose connection ended while they waited.
    aborted: AtomicUsize,
    arrivals: Mutex<Vec<Instant>>,
    /// The number of open connections that have carried a call.
    connections: AtomicUsize,
    /// The number of all connections that have carried a call.
    opened: AtomicUsize,
    received: Mutex<Vec<String>>,
    release: Notify,
    stop: Notify,
}

impl FakeTool {
    /// Starts a healthy tool.
    pub async fn start(behavior: ToolBehavior) -> Self {
        Self::start_at("127.0.0.1:0".parse().unwrap(), behavior)
    }

    /// Does the same at this address.
    pub fn start_at(address: SocketAddr, behavior: ToolBehavior) -> Self {
        let (port, address) = keep_port(address);
        let listener = listen_at(address);
        let shared = Arc::new(Shared {
            behavior: Mutex::new(behavior),
            healthy: AtomicBool::new(true),
            probe_drip: Mutex::default(),
            calls: AtomicUsize::new(0),
            aborted: AtomicUsize::new(0),
            arrivals: Mutex::default(),
            connections: AtomicUsize::new(0),
            opened: AtomicUsize::new(0),
            received: Mutex::default(),
            release: Notify::new(),
            stop: Notify::new(),
        });
        let task = RUNTIME.spawn(serve(listener, Arc::clone(&shared)));
        Self { address, shared, task: Mutex::new(Some(task)), _port: port }
    }

    pub fn set(&self, behavior: ToolBehavior) {
        *self.shared.behavior.lock() = behavior;
    }

    pub fn set_healthy(&self, healthy: bool) {
        self.shared.healthy.store(healthy, Ordering::SeqCst);
    }

    /// Responds to probes byte by byte, with a pause after each.
    pub fn drip_probes(&self, pause: Duration) {
        *self.shared.probe_drip.lock() = Some(pause);
    }

    /// Responds to probes immediately again.
    pub fn thaw(&self) {
        *self.shared.probe_drip.lock() = None;
    }

    /// Returns the number of calls so far, without probes.
    pub fn calls(&self) -> usize {
        self.shared.calls.load(Ordering::SeqCst)
    }

    /// Returns the number of calls so far whose connection ended while they waited.
    pub fn aborted(&self) -> usize {
        self.shared.aborted.load(Ordering::SeqCst)
    }

    /// Returns the moments at which calls have arrived so far.
    pub fn arrivals(&self) -> Vec<Instant> {
        self.shared.arrivals.lock().clone()
    }

    /// Returns the number of open connections that have carried a call.
    pub fn connections(&self) -> usize {
        self.shared.connections.load(Ordering::SeqCst)
    }

    /// Returns the number of connections so far that have carried a call.
    pub fn opened(&self) -> usize {
        self.shared.opened.load(Ordering::SeqCst)
    }

    /// Returns the heads of all calls so far.
    pub fn received(&self) -> Vec<String> {
        self.shared.received.lock().clone()
    }

    /// Responds to the calls that wait.
    pub fn release(&self) {
        self.release_with(ToolBehavior::Describe);
    }

    /// Sets the behavior and responds with it to the calls that wait.
    pub fn release_with(&self, behavior: ToolBehavior) {
        self.set(behavior);
        self.shared.release.notify_waiters();
    }

    /// Closes the port and every connection.
    pub async fn stop(&self) {
        let task = self.task.lock().take();
        if let Some(task) = task {
            self.shared.stop.notify_one();
            task.await.unwrap();
        }
    }

    /// Listens again at the same port.
    pub fn restart(&self) {
        let listener = listen_at(self.address);
        *self.task.lock() = Some(RUNTIME.spawn(serve(listener, Arc::clone(&self.shared))));
    }
}

/// Counts a connection that has carried a call. Dropping it counts the end of the connection.
struct OpenConnection(Arc<Shared>);

impl OpenConnection {
    fn new(shared: &Arc<Shared>) -> Self {
        shared.connections.fetch_add(1, Ordering::SeqCst);
        shared.opened.fetch_add(1, Ordering::SeqCst);
        Self(Arc::clone(shared))
    }
}

impl Drop for OpenConnection {
    fn drop(&mut self) {
        self.0.connections.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Serves until [`FakeTool::stop`], and returns when no connection is served any more.
async fn serve(listener: TcpListener, shared: Arc<Shared>) {
    let mut connections = JoinSet::new();
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = shared.stop.notified() => break,
        };
        let Ok((stream, _)) = accepted else { break };
        connections.spawn(serve_connection(stream, Arc::clone(&shared)));
    }
    drop(listener);
    connections.shutdown().await;
}

async fn serve_connection(mut stream: TcpStream, shared: Arc<Shared>) {
    let (mut unread, mut open) = (Vec::new(), None);
    while let Some(head) = read_head(&mut stream, &mut unread).await {
        let early = match &*shared.behavior.lock() {
            ToolBehavior::RespondEarly(bytes) if !head.starts_with("GET /healthz ") => Some(bytes.clone()),
            _ => None,
        };
        if let Some(bytes) = &early {
            // Before the response: whoever has that looks immediately.
            shared.received.lock().push(head.clone());
            if stream.write_all(bytes).await.is_err() {
                return;
            }
        }
        let Some(body) = read_body(&mut stream, &mut unread, &head).await else { return };
        if early.is_some() {
            continue;
        }
        if head.starts_with("GET /healthz ") {
            let status = if shared.healthy.load(Ordering::SeqCst) { "200 OK" } else { "500 No" };
            let response = format!("HTTP/1.1 {status}\r\nContent-Length: 0\r\n\r\n");
            let drip = *shared.probe_drip.lock();
            let behavior = match drip {
                Some(pause) => ToolBehavior::Drip(response.into_bytes(), pause),
                None => ToolBehavior::Respond(response.into_bytes()),
            };
            if !respond(&mut stream, behavior, &head, &body).await {
                return;
            }
            continue;
        }
        open.get_or_insert_with(|| OpenConnection::new(&shared));
        // A test may release the call as soon as it is counted.
        let released = shared.release.notified();
        shared.received.lock().push(head.clone());
        shared.calls.fetch_add(1, Ordering::SeqCst);
        shared.arrivals.lock().push(Instant::now());
        let mut behavior = shared.behavior.lock().clone();
        if matches!(behavior, ToolBehavior::Wait) {
            tokio::select! {
                () = released => {}
                () = ended(&mut stream, &mut unread) => {
                    shared.aborted.fetch_add(1, Ordering::SeqCst);
                    return;
                }
            }
            behavior = shared.behavior.lock().clone();
        }
        if !respond(&mut stream, behavior, &head, &body).await {
            return;
        }
    }
}

/// Responds to a request. Returns true if the connection stays open.
async fn respond(stream: &mut TcpStream, behavior: ToolBehavior, head: &str, body: &[u8]) -> bool {
    match behavior {
        ToolBehavior::Describe | ToolBehavior::Wait => stream.write_all(&describe(head, body)).await.is_ok(),
        ToolBehavior::Respond(bytes) | ToolBehavior::RespondEarly(bytes) => {
            stream.write_all(&bytes).await.is_ok()
        }
        ToolBehavior::RespondAndClose(bytes) => {
            let _written = stream.write_all(&bytes).await;
            let _closed = stream.shutdown().await;
            false
        }
        ToolBehavior::RespondAndReset(bytes) => {
            let _written = stream.write_all(&bytes).await;
            // Fault timing: a reset discards bytes that the peer has not read yet.
            tokio::time::sleep(Duration::from_millis(50)).await;
            let _set = stream.set_zero_linger();
            false
        }
        ToolBehavior::Drip(bytes, pause) => drip(stream, &bytes, pause).await,
        ToolBehavior::RespondAndDrip(first, then, pause) => {
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

/// Reads the head of the next request. Returns `None` at the end of the connection.
async fn read_head(stream: &mut TcpStream, unread: &mut Vec<u8>) -> Option<String> {
    let end = fill_until(stream, unread, b"\r\n\r\n").await? + 4;
    String::from_utf8(unread.drain(..end).collect()).ok()
}

/// Reads the body of the request with this head. Returns `None` if the connection ends before.
async fn read_body(stream: &mut TcpStream, unread: &mut Vec<u8>, head: &str) -> Option<Vec<u8>> {
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
    Some(body)
}

async fn fill_until(stream: &mut TcpStream, unread: &mut Vec<u8>, wanted: &[u8]) -> Option<usize> {
    loop {
        if let Some(place) = unread.windows(wanted.len()).position(|window| window == wanted) {
            return Some(place);
        }
        read_more(stream, unread).await?;
    }
}

/// Waits for the end of the connection.
async fn ended(stream: &mut TcpStream, unread: &mut Vec<u8>) {
    while read_more(stream, unread).await.is_some() {}
}

async fn read_more(stream: &mut TcpStream, unread: &mut Vec<u8>) -> Option<()> {
    let read = stream.read_buf(unread).await.unwrap_or(0);
    (read > 0).then_some(())
}
