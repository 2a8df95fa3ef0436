//! Servers to connect to, and the connections to them that wait for their next call.

use std::{
    hash::{DefaultHasher, Hash as _, Hasher as _},
    net::SocketAddr,
    sync::{Arc, OnceLock, atomic::AtomicBool},
    time::Duration,
};

use pingora_core::{
    protocols::Stream,
    upstreams::peer::{HttpPeer, HttpUpstreamRequestPolicy, Peer as _},
};

use crate::{
    clock::Monotonic,
    connection_limit::Semaphore,
    http2::tools::Lines,
    idle::{IdlePool, OwnerThread},
    tls::Connector,
};

/// A server to connect to, and how.
#[derive(Debug)]
pub struct ConnectTarget {
    /// What Pingora connects to.
    pub(crate) peer: HttpPeer,
    /// The `Host` of requests.
    pub(crate) authority: String,
    /// What the connection is encrypted with, or `None` without TLS.
    pub(crate) connector: Option<Connector>,
    /// Whether HTTP/2 is spoken: with TLS if the server chooses it, without TLS unasked.
    pub(crate) http2: bool,
    /// How long a connection may take to be made, with its handshakes.
    pub(crate) timeout: Duration,
    pub(crate) keep_idle: Duration,
    /// Connections of one identity are interchangeable.
    pub(crate) identity: u64,
    /// Whether the server has chosen HTTP/1.1 over HTTP/2.
    pub(crate) prefers_http1: AtomicBool,
    connections: Arc<Connections>,
}

/// How to connect to a server.
#[derive(Clone, Debug)]
pub struct ConnectOptions {
    /// The `Host` of requests.
    pub authority: String,
    /// What connections are encrypted with, or `None` without TLS.
    pub connector: Option<Connector>,
    /// Whether HTTP/2 is spoken.
    pub http2: bool,
    /// How long a connection may take to be made.
    pub timeout: Duration,
    /// How long Pingora may take to write a request.
    pub write_timeout: Duration,
    /// How long a connection may stay idle.
    pub keep_idle: Duration,
}

/// The connections to one server. They outlive the configuration that named it.
#[derive(Debug)]
pub struct Connections {
    /// The name of the server in logs.
    server: String,
    idle: IdlePool,
    /// Those that calls share, if HTTP/2 is spoken.
    lines: OnceLock<Arc<Lines>>,
}

impl Connections {
    /// Returns the connections to a server of this name, of which there are none yet.
    #[must_use]
    pub fn new(server: &str) -> Arc<Self> {
        Arc::new(Self { server: server.to_owned(), idle: IdlePool::default(), lines: OnceLock::new() })
    }

    /// Returns how many connections calls can share.
    #[must_use]
    pub fn shared_count(&self) -> usize {
        self.lines.get().map_or(0, |lines| lines.count())
    }
}

impl ConnectTarget {
    /// Returns the server at `address`.
    #[must_use]
    pub fn new(address: SocketAddr, options: ConnectOptions, connections: &Arc<Connections>) -> Self {
        let ConnectOptions { authority, connector, http2, timeout, write_timeout, keep_idle } = options;
        let mut peer = HttpPeer::new(address, false, String::new());
        peer.options.connection_timeout = Some(timeout);
        peer.options.total_connection_timeout = Some(timeout);
        // Reading has no timeout here: Pingora's begins before the body is sent and restarts with every byte. The
        // exchange keeps the timeouts of responses.
        peer.options.write_timeout = Some(write_timeout);
        peer.options.idle_timeout = Some(Duration::from_secs(60));
        peer.options.http_upstream_request_policy = HttpUpstreamRequestPolicy::deny_upgrades();
        // A server that is not trusted any more must not be called over a connection from before.
        let mut identity = DefaultHasher::new();
        (peer.reuse_hash(), &connector, http2).hash(&mut identity);
        let (identity, connections) = (identity.finish(), Arc::clone(connections));
        let prefers_http1 = AtomicBool::new(false);
        Self { peer, authority, connector, http2, timeout, keep_idle, identity, prefers_http1, connections }
    }

    /// Closes idle connections that must not be used any more.
    pub fn sweep_idle(&self, now: Monotonic) {
        self.connections.idle.sweep(self.identity, now, self.keep_idle);
        if let Some(lines) = self.connections.lines.get() {
            lines.sweep(self.identity, now, self.keep_idle);
        }
    }

    /// Returns an idle connection and its owner, or `None` if there is none.
    pub(crate) fn take_idle(&self, now: Monotonic) -> Option<(Stream, OwnerThread)> {
        self.connections.idle.take(self.identity, now, self.keep_idle)
    }

    /// Keeps a connection over which nothing is in flight, for its owner.
    pub(crate) fn keep_idle(
        &self,
        stream: Stream,
        owner: OwnerThread,
        now: Monotonic,
        semaphore: &Arc<Semaphore>,
    ) {
        self.connections.idle.keep(stream, owner, self.identity, now, semaphore);
    }

    /// Returns the connections that calls share, which of them lead here, and how long they may stay idle.
    pub(crate) fn lines(&self) -> (&Arc<Lines>, u64, Duration) {
        let Connections { server, lines, .. } = &*self.connections;
        let lines = lines.get_or_init(|| Lines::new(server));
        (lines, self.identity, self.keep_idle)
    }
}
