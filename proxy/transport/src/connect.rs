//! The servers that calls connect to, and their idle connections.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use pingora::protocols::Stream;
use pingora::upstreams::peer::{HttpPeer, Peer as _};

use crate::clock::Monotonic;
use crate::connection_limit::Semaphore;
use crate::failure_watch::{FailureListener, FailureWatch};
use crate::idle::{IdlePool, OwnerThread};
use crate::tls::Connector;

/// A server, and the settings of connections to it.
#[derive(Debug)]
pub struct ConnectTarget {
    pub(crate) address: SocketAddr,
    /// The settings for Pingora.
    pub(crate) peer: HttpPeer,
    pub(crate) options: ConnectOptions,
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
    /// Whether HTTP/2 is used: with TLS if the server selects it, without TLS always. Only
    /// `pingora-proxy` can.
    pub http2: bool,
    /// Maximum time in which a connection is established, with its handshakes.
    pub timeout: Duration,
    /// Maximum idle time of a connection.
    pub keep_idle: Duration,
}

/// Limits on the connections to all servers together.
#[derive(Clone, Copy, Debug)]
pub struct ConnectionLimits {
    /// Maximum number of idle connections.
    pub idle: usize,
    /// Maximum number of connections, idle ones included, that file descriptors allow.
    pub open: usize,
    /// Maximum number of pipes, each of which is two file descriptors.
    pub pipes: usize,
}

/// The connections to one server: the idle ones, and the calls that wait for the server. They survive
/// a reload of the configuration.
#[derive(Debug, Default)]
pub struct Connections {
    idle: IdlePool,
    failures: Arc<FailureWatch>,
}

impl Connections {
    /// Closes the oldest idle connection of a thread. Returns false if there is none.
    pub fn close_idle(&self) -> bool {
        self.idle.close_oldest()
    }

    /// Closes every connection, because the server has stopped responding. Calls that wait for it
    /// fail.
    pub fn close_all(&self) {
        self.failures.record_failure();
        while self.idle.close_oldest() {}
    }
}

impl ConnectTarget {
    /// Returns the server at this address.
    pub fn new(address: SocketAddr, options: ConnectOptions, connections: &Arc<Connections>) -> Self {
        let mut peer = HttpPeer::new(address, false, String::new());
        peer.options.connection_timeout = Some(options.timeout);
        peer.options.total_connection_timeout = Some(options.timeout);
        // A connection from before a change of the trusted authorities must not be reused.
        let mut identity = DefaultHasher::new();
        (peer.reuse_hash(), &options.connector, options.http2).hash(&mut identity);
        Self {
            address,
            peer,
            options,
            identity: identity.finish(),
            prefers_http1: AtomicBool::new(false),
            connections: Arc::clone(connections),
        }
    }

    /// Closes idle connections that cannot be used any more.
    pub fn sweep_idle(&self, now: Monotonic) {
        self.connections.idle.sweep(self.identity, now, self.options.keep_idle);
    }

    /// Returns a listener for the failure of the server.
    pub(crate) fn listen(&self) -> FailureListener {
        self.connections.failures.listen()
    }

    /// Returns the identity for Pingora's pool of connections: those from before a failure of the
    /// server must not be reused.
    pub(crate) fn pool_identity(&self) -> u64 {
        self.identity.wrapping_add(self.connections.failures.count())
    }

    /// Returns the most recently used idle connection and its owner, or `None` if the pool is
    /// empty.
    pub(crate) fn take_idle(&self, now: Monotonic) -> Option<(Stream, OwnerThread)> {
        self.connections.idle.take(self.identity, now, self.options.keep_idle)
    }

    /// Keeps an idle connection in the list of its owner.
    pub(crate) fn keep_idle(
        &self,
        stream: Stream,
        owner: OwnerThread,
        now: Monotonic,
        semaphore: &Arc<Semaphore>,
    ) {
        self.connections.idle.keep(stream, owner, self.identity, now, semaphore);
    }
}
