//! A fake tool over HTTP/2 that responds, fails or misbehaves as a test says.

mod behavior;

use std::{
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use bytes::Bytes;
use h2::server::Builder;
use parking_lot::Mutex;
use tokio::{
    net::TcpStream,
    sync::{Notify, watch},
    task::{JoinHandle, JoinSet},
};

pub use self::behavior::{End, H2ToolBehavior};
use crate::{
    http::Io,
    runtime::{RUNTIME, listen},
    tls::{Identity, acceptor},
};

/// An HTTP/2 tool on its own port.
pub struct Http2Tool {
    pub address: SocketAddr,
    shared: Arc<Shared>,
    task: JoinHandle<()>,
}

struct Shared {
    behavior: Mutex<H2ToolBehavior>,
    max_streams: Option<u32>,
    calls: AtomicUsize,
    /// Connections that have carried a call: all so far, and those that are open.
    connections: AtomicUsize,
    open: AtomicUsize,
    in_flight: AtomicUsize,
    most_under_way: AtomicUsize,
    canceled: AtomicUsize,
    release: Notify,
    /// The generation of connections that stays open. Older ones shut down gracefully.
    leave: watch::Sender<usize>,
    frozen: watch::Sender<bool>,
}

impl Http2Tool {
    /// Starts a tool without TLS, for clients with prior knowledge.
    pub async fn start(behavior: H2ToolBehavior) -> Self {
        Self::serve(behavior, None, None).await
    }

    /// Starts a tool that accepts this number of concurrent streams per connection.
    pub async fn with_max_streams(max: u32) -> Self {
        Self::serve(H2ToolBehavior::Describe, Some(max), None).await
    }

    /// Starts a tool over TLS that offers only HTTP/2.
    pub async fn over_tls(identity: &Identity) -> Self {
        Self::serve(H2ToolBehavior::Describe, None, Some(identity)).await
    }

    async fn serve(behavior: H2ToolBehavior, max_streams: Option<u32>, identity: Option<&Identity>) -> Self {
        let (listener, address) = listen();
        let shared = Arc::new(Shared {
            behavior: Mutex::new(behavior),
            max_streams,
            calls: AtomicUsize::new(0),
            connections: AtomicUsize::new(0),
            open: AtomicUsize::new(0),
            in_flight: AtomicUsize::new(0),
            most_under_way: AtomicUsize::new(0),
            canceled: AtomicUsize::new(0),
            release: Notify::new(),
            leave: watch::Sender::new(0),
            frozen: watch::Sender::new(false),
        });
        let acceptor = identity.map(|identity| acceptor(identity, &["h2"]));
        let state = Arc::clone(&shared);
        let task = RUNTIME.spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                let (shared, acceptor) = (Arc::clone(&state), acceptor.clone());
                connections.spawn(async move {
                    match acceptor {
                        None => serve_connection::<TcpStream>(stream, shared).await,
                        Some(acceptor) => {
                            if let Ok(stream) = acceptor.accept(stream).await {
                                serve_connection(stream, shared).await;
                            }
                        }
                    }
                });
            }
        });
        Self { address, shared, task }
    }

    pub fn set(&self, behavior: H2ToolBehavior) {
        *self.shared.behavior.lock() = behavior;
    }

    /// Responds to the calls that wait.
    pub fn release(&self) {
        self.set(H2ToolBehavior::Describe);
        self.shared.release.notify_waiters();
    }

    /// Shuts all open connections down gracefully (GOAWAY).
    pub fn leave(&self) {
        self.shared.leave.send_modify(|generation| *generation += 1);
    }

    /// Stops reading and writing, as a stopped process does: the system still accepts connections.
    pub fn freeze(&self) {
        self.shared.frozen.send_replace(true);
    }

    /// Continues after [`Http2Tool::freeze`].
    pub fn thaw(&self) {
        self.shared.frozen.send_replace(false);
    }

    /// Returns the number of calls so far, without probes.
    pub fn calls(&self) -> usize {
        self.shared.calls.load(Ordering::SeqCst)
    }

    /// Returns the number of connections so far that have carried a call.
    pub fn connections(&self) -> usize {
        self.shared.connections.load(Ordering::SeqCst)
    }

    /// Returns the number of open connections that have carried a call.
    pub fn open(&self) -> usize {
        self.shared.open.load(Ordering::SeqCst)
    }

    /// Returns the number of calls in flight.
    pub fn in_flight(&self) -> usize {
        self.shared.in_flight.load(Ordering::SeqCst)
    }

    /// Returns the maximum number of calls in flight on one connection so far.
    pub fn most_under_way(&self) -> usize {
        self.shared.most_under_way.load(Ordering::SeqCst)
    }

    /// Returns the number of calls that the proxy has canceled.
    pub fn canceled(&self) -> usize {
        self.shared.canceled.load(Ordering::SeqCst)
    }
}

impl Drop for Http2Tool {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// A counter guard: it increments the counter, and dropping it decrements the counter.
struct CounterGuard<'a>(&'a AtomicUsize);

impl<'a> CounterGuard<'a> {
    fn new(counter: &'a AtomicUsize) -> Self {
        counter.fetch_add(1, Ordering::SeqCst);
        Self(counter)
    }
}

impl Drop for CounterGuard<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

async fn serve_connection<S: Io + 'static>(stream: S, shared: Arc<Shared>) {
    let mut builder = Builder::new();
    builder.initial_window_size(100_000);
    if let Some(most) = shared.max_streams {
        builder.max_concurrent_streams(most);
    }
    let (mut leave, mut frozen) = (shared.leave.subscribe(), shared.frozen.subscribe());
    reaches(&mut frozen, false).await;
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
            () = reaches(&mut frozen, true) => {
                reaches(&mut frozen, false).await;
                continue;
            }
            () = close.notified() => return,
        };
        let Some(Ok((request, respond))) = accepted else { break };
        if request.uri().path() != "/healthz" && open.is_none() {
            shared.connections.fetch_add(1, Ordering::SeqCst);
            open = Some(CounterGuard::new(&shared.open));
        }
        let (shared, here, close) = (Arc::clone(&shared), Arc::clone(&here), Arc::clone(&close));
        calls.spawn(behavior::serve(request, respond, shared, here, close));
    }
    drop(open);
    while calls.join_next().await.is_some() {}
}

/// Waits until the state has this value.
async fn reaches(state: &mut watch::Receiver<bool>, value: bool) {
    drop(state.wait_for(|current| *current == value).await);
}
