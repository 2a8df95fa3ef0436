//! Connections of Pingora to upstreams. With TLS it is given a local socket, whose other end is the
//! connection that was encrypted as the relay does: with the authorities that were compiled once,
//! and the same errors.

use std::{
    fmt, io,
    net::{IpAddr, Ipv4Addr, SocketAddr},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use pingora_core::{
    Error, ErrorType, OrErr as _, Result,
    connectors::L4Connect,
    protocols::{
        l4::{socket::SocketAddr as PeerAddress, stream::Stream as L4Stream},
        tls::ALPN,
    },
    server::configuration::ServerConf,
    upstreams::peer::{HttpPeer, HttpUpstreamRequestPolicy},
};
use tokio::{io::copy_bidirectional_with_sizes, net::UnixStream};

use crate::{connect::ConnectTarget, relay::dial::Dialer};

/// Maximum number of calls on one HTTP/2 connection.
const STREAMS: u32 = 100;
/// How much of a response the server can send before its client reads. The connection has as much
/// as all its calls, so that a client that does not read stops no other.
const WINDOW: u32 = 128 << 10;
/// How often a server is asked whether its HTTP/2 connection is alive. If it does not say so within
/// five seconds, the connection is closed.
const PING_INTERVAL: Duration = Duration::from_secs(10);
/// The server chose the other version of HTTP.
const OTHER_VERSION: ErrorType = ErrorType::Custom("OtherHttpVersion");
/// How much passes the local socket of a connection with TLS at once.
const COPY: usize = 16 << 10;

/// Makes peers of targets.
pub(super) struct Peers {
    dialer: Arc<Dialer>,
    /// Whether connections are kept for the next call.
    keeps_idle: bool,
    /// The number of peers whose connections are not kept.
    unkept: AtomicU64,
}

impl Peers {
    pub(super) fn new(conf: &ServerConf, keeps_idle: bool) -> Self {
        Self { dialer: Arc::new(Dialer::new(conf)), keeps_idle, unkept: AtomicU64::new(0) }
    }

    /// Returns how Pingora connects to a target, and whether it speaks HTTP/2 there.
    pub(super) fn peer(&self, target: &Arc<ConnectTarget>) -> (Box<HttpPeer>, bool) {
        let is_http2 = target.http2 && !target.prefers_http1.load(Ordering::Relaxed);
        let mut peer = match &target.connector {
            None => HttpPeer::clone(&target.peer),
            Some(_) => self.encrypted(target, is_http2),
        };
        // Timeouts are the exchange's, and so is what is forwarded of a head.
        (peer.options.read_timeout, peer.options.write_timeout) = (None, None);
        peer.options.http_upstream_request_policy = HttpUpstreamRequestPolicy::preserve();
        peer.options.idle_timeout = Some(if self.keeps_idle { target.keep_idle } else { Duration::ZERO });
        peer.group_key = match self.keeps_idle {
            true => target.identity,
            // No other call finds the connection before it is closed.
            false => self.unkept.fetch_add(1, Ordering::Relaxed),
        };
        if is_http2 {
            peer.options.alpn = ALPN::H2;
            peer.options.max_h2_streams = STREAMS as usize;
            peer.options.h2_stream_window_size = Some(WINDOW);
            peer.options.h2_connection_window_size = Some(STREAMS * WINDOW);
            peer.options.h2_ping_interval = Some(PING_INTERVAL);
        }
        (Box::new(peer), is_http2)
    }

    fn encrypted(&self, target: &Arc<ConnectTarget>, is_http2: bool) -> HttpPeer {
        // Pingora looks whether an idle connection leads to its peer's address, unless that is this
        // one: a local socket leads nowhere. Connections are told apart by the group key.
        let mut peer =
            HttpPeer::new(SocketAddr::new(IpAddr::V4(Ipv4Addr::UNSPECIFIED), 0), false, String::new());
        peer.options.total_connection_timeout = Some(target.timeout);
        peer.options.custom_l4 = Some(Arc::new(Encrypted {
            dialer: Arc::clone(&self.dialer),
            target: Arc::clone(target),
            is_http2,
        }));
        peer
    }
}

/// Returns true if a connection could not be used because the server chose another version of HTTP
/// than before.
pub(super) fn is_other_version(error: &Error) -> bool {
    *error.etype() == OTHER_VERSION
}

/// Makes connections with TLS to one target.
struct Encrypted {
    dialer: Arc<Dialer>,
    target: Arc<ConnectTarget>,
    /// Whether Pingora will speak HTTP/2.
    is_http2: bool,
}

#[async_trait]
impl L4Connect for Encrypted {
    async fn connect(&self, _address: &PeerAddress) -> Result<L4Stream> {
        let mut stream = self.dialer.make(&self.target).await?;
        let is_http2 = stream.selected_alpn_proto() == Some(ALPN::H2);
        if is_http2 != self.is_http2 {
            self.target.prefers_http1.store(!is_http2, Ordering::Relaxed);
            return Err(Error::new_up(OTHER_VERSION));
        }
        let (near, mut far) = pair().or_err(ErrorType::SocketError, "no local socket")?;
        pingora_runtime::current_handle().spawn(async move {
            // However it ends, Pingora sees the end of its socket.
            let _copied = copy_bidirectional_with_sizes(&mut far, &mut stream, COPY, COPY).await;
        });
        Ok(near.into())
    }
}

fn pair() -> io::Result<(UnixStream, UnixStream)> {
    UnixStream::pair()
}

impl fmt::Debug for Encrypted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Encrypted").field("target", &self.target).finish_non_exhaustive()
    }
}
