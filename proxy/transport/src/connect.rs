//! The servers that calls connect to, and their idle connections.

use std::{
    hash::{DefaultHasher, Hash as _, Hasher as _},
    net::SocketAddr,
    sync::{Arc, atomic::AtomicBool},
    time::Duration,
};

use pingora_core::{
    protocols::Stream,
    upstreams::peer::{HttpPeer, Peer as _},
};

use crate::{
    clock::Monotonic,
    connection_limit::Semaphore,
    idle::{IdlePool, OwnerThread},
    tls::Connector,
};

/// A server, and the settings of connections to it.
#[derive(Debug)]
pub struct ConnectTarget {
    /// The settings for Pingora.
    pub(crate) peer: HttpPeer,
    /// The `Host` of requests.
    pub(crate) authority: String,
    /// The TLS settings, or `None` without TLS.
    pub(crate) connector: Option<Connector>,
    /// Whether HTTP/2 is used: with TLS if the server selects it, without TLS always. Only
    /// `pingora-proxy` can.
    pub(crate) http2: bool,
    /// Maximum time in which a connection is established, with its handshakes.
    pub(crate) timeout: Duration,
    pub(crate) keep_idle: Duration,
    /// A hash of the settings. Connections of the same identity are interchangeable.
    pub(crate) identity: u64,
    /// Whether the server has selected HTTP/1.1 over HTTP/2.
    pub(crate) prefers_http1: AtomicBool,
    connections: Arc<Connections>,
}

/// The settings of connections to a server.
#[derive(Clone, Debug)]
pub struct ConnectOptions {
    /// The `Host` of requests.
    pub authority: String,
    /// The TLS settings, or `None` without TLS.
    pub connector: Option<Connector>,
    /// Whether HTTP/2 is used.
    pub http2: bool,
    /// Maximum time in which a connection is established.
    pub timeout: Duration,
    /// Maximum idle time of a connection.
    pub keep_idle: Duration,
}

/// The idle connections to one server. They survive a reload of the configuration.
#[derive(Debug, Default)]
pub struct Connections(IdlePool);

impl ConnectTarget {
    /// Returns the server at this address.
    #[must_use]
    pub fn new(address: SocketAddr, options: ConnectOptions, connections: &Arc<Connections>) -> Self {
        let ConnectOptions { authority, connector, http2, timeout, keep_idle } = options;
        let mut peer = HttpPeer::new(address, false, String::new());
        peer.options.connection_timeout = Some(timeout);
        peer.options.total_connection_timeout = Some(timeout);
        // A connection from before a change of the trusted authorities must not be reused.
        let mut identity = DefaultHasher::new();
        (peer.reuse_hash(), &connector, http2).hash(&mut identity);
        let (identity, connections) = (identity.finish(), Arc::clone(connections));
        let prefers_http1 = AtomicBool::new(false);
        Self { peer, authority, connector, http2, timeout, keep_idle, identity, prefers_http1, connections }
    }

    /// Closes idle connections that cannot be used any more.
    pub fn sweep_idle(&self, now: Monotonic) {
        self.connections.0.sweep(self.identity, now, self.keep_idle);
    }

    /// Returns the most recently used idle connection and its owner, or `None` if the pool is
    /// empty.
    pub(crate) fn take_idle(&self, now: Monotonic) -> Option<(Stream, OwnerThread)> {
        self.connections.0.take(self.identity, now, self.keep_idle)
    }

    /// Keeps an idle connection in the list of its owner.
    pub(crate) fn keep_idle(
        &self,
        stream: Stream,
        owner: OwnerThread,
        now: Monotonic,
        semaphore: &Arc<Semaphore>,
    ) {
        self.connections.0.keep(stream, owner, self.identity, now, semaphore);
    }
}
