//! A tool that speaks HTTP/2, and answers, fails or misbehaves as it is told.

mod conduct;

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
    net::{TcpListener, TcpStream},
    sync::{Notify, watch},
    task::{JoinHandle, JoinSet},
};

pub(crate) use self::conduct::{Conduct, End};
use super::{
    client::Io,
    tls::{Identity, acceptor},
};

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
        calls.spawn(conduct::serve(request, respond, shared, here, close));
    }
    drop(open);
    while calls.join_next().await.is_some() {}
}
