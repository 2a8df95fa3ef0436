//! HTTP/1.1 connections to upstreams, for Pingora. They are those of the relay: the same idle
//! connections, made in the same way. Pingora gets a socket that serves one call, because its own
//! pool closes a connection that is taken while its idle task still holds it.
//!
//! The socket reads responses along with Pingora, by the relay's parsers. Pingora's accept what
//! other parsers read differently, such as a chunk without a size, which it takes for the last one.
//!
//! Why: docs/decisions/proxy.md, "To Pingora an HTTP/1.1 connection is a socket for one call".

use std::pin::Pin;
use std::sync::atomic::Ordering;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll, ready};
use std::{fmt, io};

use async_trait::async_trait;
use pingora::connectors::L4Connect;
use pingora::protocols::Stream;
use pingora::protocols::l4::socket::SocketAddr as PeerAddress;
use pingora::protocols::l4::stream::Stream as L4Stream;
use pingora::protocols::l4::virt::{VirtualSockOpt, VirtualSocket, VirtualSocketStream};
use pingora::protocols::tls::ALPN;
use pingora::{Error, ErrorType, Result};
use thiserror::Error as ThisError;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::response_scan::ResponseScan;
use crate::clock::Monotonic;
use crate::connect::ConnectTarget;
use crate::hooks::Cause;
use crate::record::DialTimes;
use crate::relay::connect::{Connected, UpstreamConnector};

/// The server chose the other version of HTTP.
pub(super) const OTHER_VERSION: ErrorType = ErrorType::Custom("OtherHttpVersion");

/// Returns true if a connection could not be used because the server chose another version of HTTP
/// than before.
pub(super) fn is_other_version(error: &Error) -> bool {
    *error.etype() == OTHER_VERSION
}

/// The connection of one attempt.
pub(super) struct Http1Connection {
    connector: Arc<UpstreamConnector>,
    target: Arc<ConnectTarget>,
    is_idempotent: bool,
    in_flight: usize,
    /// When the connection was made, or `None` if it has served a call before. Empty until there is one.
    dialed: OnceLock<Option<DialTimes>>,
}

impl Http1Connection {
    pub(super) fn new(
        connector: &Arc<UpstreamConnector>,
        target: &Arc<ConnectTarget>,
        is_idempotent: bool,
        in_flight: usize,
    ) -> Self {
        Self {
            connector: Arc::clone(connector),
            target: Arc::clone(target),
            is_idempotent,
            in_flight,
            dialed: OnceLock::new(),
        }
    }

    /// Returns true if the connection has served a call before.
    pub(super) fn was_idle(&self) -> bool {
        self.dialed.get().is_some_and(Option::is_none)
    }

    /// Returns when the connection was made, or `None` if it has served a call before.
    pub(super) fn dialed(&self) -> Option<DialTimes> {
        self.dialed.get().copied().flatten()
    }
}

#[async_trait]
impl L4Connect for Http1Connection {
    async fn connect(&self, _address: &PeerAddress) -> Result<L4Stream> {
        let connected = self.connector.connect(&self.target, self.is_idempotent, self.in_flight).await;
        let connected = connected.map_err(Error::new_up)?;
        if connected.stream.selected_alpn_proto() == Some(ALPN::H2) {
            self.target.prefers_http1.store(false, Ordering::Relaxed);
            return Err(Error::new_up(OTHER_VERSION));
        }
        self.dialed.get_or_init(|| connected.dialed);
        let socket = UpstreamSocket {
            connected: Some(connected),
            connector: Arc::clone(&self.connector),
            target: Arc::clone(&self.target),
            response: ResponseScan::default(),
            fault: None,
            is_offered: false,
        };
        Ok(VirtualSocketStream::new(Box::new(socket)).into())
    }
}

/// The error of reading a response that the relay would refuse.
#[derive(Clone, Copy, Debug, ThisError)]
#[error("the response is refused")]
pub(super) struct ResponseError(pub(super) Cause);

/// A connection while Pingora uses it.
struct UpstreamSocket {
    /// The connection, until it is kept for another call.
    connected: Option<Connected>,
    connector: Arc<UpstreamConnector>,
    target: Arc<ConnectTarget>,
    response: ResponseScan,
    /// The fault of the response, after what came before it was read.
    fault: Option<Cause>,
    /// Whether Pingora would keep the connection.
    is_offered: bool,
}

impl UpstreamSocket {
    fn stream(&mut self) -> io::Result<Pin<&mut Stream>> {
        let closed = || io::Error::from(io::ErrorKind::NotConnected);
        self.connected.as_mut().map(|connected| Pin::new(&mut connected.stream)).ok_or_else(closed)
    }
}

impl AsyncRead for UpstreamSocket {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        if this.response.can_reuse_connection() {
            // Pingora reads once more from a connection that it would keep. It does not keep one
            // that has ended.
            this.is_offered = true;
            return Poll::Ready(Ok(()));
        }
        if this.fault.is_none() {
            let before = buffer.filled().len();
            ready!(this.stream()?.poll_read(context, buffer))?;
            let read = buffer.filled().get(before..).unwrap_or_default();
            let (valid, fault) = this.response.scan(read);
            this.fault = fault;
            buffer.set_filled(before + valid);
            if fault.is_none() || valid > 0 {
                return Poll::Ready(Ok(()));
            }
        }
        let cause = this.fault.unwrap_or(Cause::Malformed);
        Poll::Ready(Err(io::Error::new(io::ErrorKind::InvalidData, ResponseError(cause))))
    }
}

impl AsyncWrite for UpstreamSocket {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.get_mut().stream()?.poll_write(context, bytes)
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.get_mut().stream()?.poll_flush(context)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.get_mut().stream()?.poll_shutdown(context)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        pieces: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.get_mut().stream()?.poll_write_vectored(context, pieces)
    }

    fn is_write_vectored(&self) -> bool {
        self.connected.as_ref().is_some_and(|connected| connected.stream.is_write_vectored())
    }
}

impl VirtualSocket for UpstreamSocket {
    /// Does nothing: the options were set when the connection was made.
    fn set_socket_option(&self, _option: VirtualSockOpt) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for UpstreamSocket {
    fn drop(&mut self) {
        // Only if the response was read to its end. Otherwise the next call would read the rest of
        // this one's response.
        if let Some(Connected { stream, owner, .. }) = self.connected.take().filter(|_| self.is_offered) {
            self.target.keep_idle(stream, owner, Monotonic::now(), self.connector.semaphore());
        }
    }
}

impl fmt::Debug for Http1Connection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Http1Connection").field("target", &self.target).finish_non_exhaustive()
    }
}

impl fmt::Debug for UpstreamSocket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("UpstreamSocket").field("target", &self.target).finish_non_exhaustive()
    }
}
