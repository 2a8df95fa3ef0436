//! The upstreams as Pingora connects to them. For HTTP/1.1 it is given a connection of the relay's.
//! For HTTP/2 it is given a local socket, whose other end is the connection: encrypted as the relay
//! does, with the authorities that were compiled once and the same errors, and read to its end.

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use async_trait::async_trait;
use pingora::connectors::L4Connect;
use pingora::protocols::Stream;
use pingora::protocols::l4::socket::SocketAddr as PeerAddress;
use pingora::protocols::l4::stream::Stream as L4Stream;
use pingora::protocols::tls::ALPN;
use pingora::upstreams::peer::{HttpPeer, HttpUpstreamRequestPolicy};
use pingora::{Error, ErrorType, OrErr as _, Result};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf, copy_bidirectional_with_sizes};
use tokio::net::UnixStream;

use super::connection::{Http1Connection, OTHER_VERSION};
use crate::connect::{ConnectTarget, ConnectionLimits};
use crate::record::DialTimes;
use crate::relay::connect::UpstreamConnector;
use crate::relay::dial;

/// Maximum number of calls on one HTTP/2 connection.
const STREAMS: u32 = 100;
/// How much of a response the server can send before its client reads. The connection has as much
/// as all its calls, so that a client that does not read stops no other.
const WINDOW: u32 = 128 << 10;
/// How often a server is asked whether its HTTP/2 connection is alive. If it does not say so within
/// five seconds, the connection is closed.
const PING_INTERVAL: Duration = Duration::from_secs(10);
/// How much passes the local socket of a connection at a time.
const COPY: usize = 16 << 10;

/// Makes peers of targets.
pub(super) struct Peers {
    /// The source of HTTP/1.1 connections.
    connector: Arc<UpstreamConnector>,
    /// Whether connections are kept for the next call.
    keeps_idle: bool,
    /// The number of peers whose connections Pingora does not keep.
    unkept: AtomicU64,
}

/// An upstream, as Pingora connects to it.
pub(super) struct Peer {
    pub(super) peer: Box<HttpPeer>,
    pub(super) connection: AttemptConnection,
}

/// The connection of an attempt, once there is one.
pub(super) enum AttemptConnection {
    /// Over HTTP/1.1.
    Http1(Arc<Http1Connection>),
    /// Over HTTP/2: when the connection was made. Empty if it has served a call before.
    Http2(Arc<OnceLock<DialTimes>>),
}

impl AttemptConnection {
    /// Returns when the connection was made, or `None` if it has served a call before.
    pub(super) fn dialed(&self) -> Option<DialTimes> {
        match self {
            Self::Http1(connection) => connection.dialed(),
            Self::Http2(dialed) => dialed.get().copied(),
        }
    }
}

impl Peers {
    /// Returns the source of peers whose connections over HTTP/1.1 keep to these limits.
    pub(super) fn new(limits: ConnectionLimits) -> Self {
        Self {
            connector: Arc::new(UpstreamConnector::new(limits)),
            keeps_idle: limits.idle > 0,
            unkept: AtomicU64::new(0),
        }
    }

    /// Returns the upstream of an attempt. `in_flight` is the number of requests.
    pub(super) fn peer(&self, target: &Arc<ConnectTarget>, is_idempotent: bool, in_flight: usize) -> Peer {
        let is_http2 = target.options.http2 && !target.prefers_http1.load(Ordering::Relaxed);
        let mut peer = if is_http2 { Self::local(target) } else { HttpPeer::clone(&target.peer) };
        // Timeouts are the exchange's, and so is what is forwarded of a head.
        (peer.options.read_timeout, peer.options.write_timeout) = (None, None);
        peer.options.http_upstream_request_policy = HttpUpstreamRequestPolicy::preserve();
        let keeps_idle = is_http2 && self.keeps_idle;
        peer.options.idle_timeout = Some(if keeps_idle { target.options.keep_idle } else { Duration::ZERO });
        peer.group_key = match keeps_idle {
            true => target.pool_identity(),
            // No other call finds the connection in Pingora's pool.
            false => self.unkept.fetch_add(1, Ordering::Relaxed),
        };
        if is_http2 {
            peer.options.alpn = ALPN::H2;
            peer.options.max_h2_streams = STREAMS as usize;
            peer.options.h2_stream_window_size = Some(WINDOW);
            // With a smaller one, clients that do not read would stop the responses to all others.
            peer.options.h2_connection_window_size = Some(STREAMS * WINDOW);
            peer.options.h2_ping_interval = Some(PING_INTERVAL);
            let dialed = Arc::new(OnceLock::new());
            let connector = Http2Connector { target: Arc::clone(target), dialed: Arc::clone(&dialed) };
            peer.options.custom_l4 = Some(Arc::new(connector));
            return Peer { peer: Box::new(peer), connection: AttemptConnection::Http2(dialed) };
        }
        let http1 = Arc::new(Http1Connection::new(&self.connector, target, is_idempotent, in_flight));
        peer.options.custom_l4 = Some(Arc::clone(&http1) as Arc<_>);
        Peer { peer: Box::new(peer), connection: AttemptConnection::Http1(http1) }
    }

    fn local(target: &Arc<ConnectTarget>) -> HttpPeer {
        // Pingora looks whether an idle connection leads to its peer's address, unless that is this
        // one: a local socket leads nowhere. Connections are told apart by the group key.
        let mut peer =
            HttpPeer::new(SocketAddr::new(IpAddr::V4(Ipv4Addr::UNSPECIFIED), 0), false, String::new());
        peer.options.total_connection_timeout = Some(target.options.timeout);
        peer
    }
}

/// Makes the HTTP/2 connection of an attempt, if none can be shared.
#[derive(Debug)]
struct Http2Connector {
    target: Arc<ConnectTarget>,
    dialed: Arc<OnceLock<DialTimes>>,
}

impl Http2Connector {
    async fn dial(&self) -> Result<(Stream, DialTimes)> {
        let (stream, times) = dial::connect(&self.target).await?;
        if self.target.options.connector.is_some() && stream.selected_alpn_proto() != Some(ALPN::H2) {
            // Remembered, so that the next call does not open a connection over HTTP/2 in vain.
            self.target.prefers_http1.store(true, Ordering::Relaxed);
            return Err(Error::new_up(OTHER_VERSION));
        }
        Ok((stream, times))
    }
}

#[async_trait]
impl L4Connect for Http2Connector {
    async fn connect(&self, _address: &PeerAddress) -> Result<L4Stream> {
        let (stream, times) = self.dial().await?;
        let (near, mut far) = UnixStream::pair().or_err(ErrorType::SocketError, "no local socket")?;
        pingora_runtime::current_handle().spawn(async move {
            let mut stream = ReadToEnd::new(stream);
            // However it ends, Pingora sees the end of its socket.
            let _copied = copy_bidirectional_with_sizes(&mut far, &mut stream, COPY, COPY).await;
        });
        self.dialed.get_or_init(|| times);
        Ok(near.into())
    }
}

/// A connection that is read to its end after a write has failed. A server that shuts down sends
/// GOAWAY with the calls that it has processed, and closes. What is written then fails before that
/// frame is read, and h2 would give up the connection: a POST that was not processed could not be
/// sent again (RFC 9113, section 6.8).
struct ReadToEnd<S> {
    stream: S,
    is_writable: bool,
}

impl<S> ReadToEnd<S> {
    const fn new(stream: S) -> Self {
        Self { stream, is_writable: true }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for ReadToEnd<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let read = ready!(Pin::new(&mut self.stream).poll_read(context, buffer));
        // An error is the end: as an error it would stop the copy before what was read is passed on.
        Poll::Ready(read.or(Ok(())))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for ReadToEnd<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        if self.is_writable {
            match ready!(Pin::new(&mut self.stream).poll_write(context, bytes)) {
                Ok(written) => return Poll::Ready(Ok(written)),
                Err(_) => self.is_writable = false,
            }
        }
        Poll::Ready(Ok(bytes.len()))
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.is_writable && ready!(Pin::new(&mut self.stream).poll_flush(context)).is_err() {
            self.is_writable = false;
        }
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.is_writable && ready!(Pin::new(&mut self.stream).poll_shutdown(context)).is_err() {
            self.is_writable = false;
        }
        Poll::Ready(Ok(()))
    }
}

#[cfg(test)]
mod tests {
    use http::Request;

    use super::*;

    /// A server's SETTINGS, and a GOAWAY that says that it has processed no request.
    const LEAVING: &[u8] = b"\0\0\0\x04\0\0\0\0\0\0\0\x08\x07\0\0\0\0\0\0\0\0\0\0\0\0\0";

    /// A connection whose server has written [`LEAVING`] and closed it. It is noticed by a write first.
    struct Closed {
        written: usize,
        unread: &'static [u8],
    }

    impl AsyncRead for Closed {
        fn poll_read(
            mut self: Pin<&mut Self>,
            context: &mut Context<'_>,
            buffer: &mut ReadBuf<'_>,
        ) -> Poll<io::Result<()>> {
            if self.written < 2 {
                context.waker().wake_by_ref();
                return Poll::Pending;
            }
            let (read, unread) = self.unread.split_at(self.unread.len().min(buffer.remaining()));
            buffer.put_slice(read);
            self.unread = unread;
            Poll::Ready(Ok(()))
        }
    }

    impl AsyncWrite for Closed {
        fn poll_write(
            mut self: Pin<&mut Self>,
            _: &mut Context<'_>,
            bytes: &[u8],
        ) -> Poll<io::Result<usize>> {
            self.written += 1;
            // The preface is the first. The request is the second.
            Poll::Ready(if self.written < 2 {
                Ok(bytes.len())
            } else {
                Err(io::ErrorKind::BrokenPipe.into())
            })
        }

        fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Ready(Ok(()))
        }

        fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Ready(Ok(()))
        }
    }

    async fn error_of_a_request<S: AsyncRead + AsyncWrite + Unpin>(stream: S) -> h2::Error {
        let (mut sender, connection) = h2::client::handshake(stream).await.unwrap();
        let request = Request::post("http://localhost/").body(()).unwrap();
        let (response, _body) = sender.send_request(request, false).unwrap();
        let (response, _ended) = tokio::join!(response, connection);
        response.unwrap_err()
    }

    #[tokio::test]
    async fn goaway_behind_a_failed_write_is_read() {
        let closed = || Closed { written: 0, unread: LEAVING };
        let error = error_of_a_request(ReadToEnd::new(closed())).await;
        assert!(error.is_go_away() && error.is_remote(), "{error:?}");
        assert_eq!(error.reason(), Some(h2::Reason::NO_ERROR));
        // If h2 reads it by itself one day, nothing needs to stand between the two.
        assert!(error_of_a_request(closed()).await.is_io());
    }
}
