//! The two sides that a client can have: a connection with HTTP/1.1, or a stream of HTTP/2.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use pingora::protocols::raw_connect::ProxyDigest;
use pingora::protocols::{SocketDigest, Stream, TimingDigest, UniqueIDType};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::http2::Http2Stream;

/// A connection with HTTP/1.1, or a stream of HTTP/2. What is written to a stream is the body of its
/// response.
pub(super) enum Side {
    /// A connection.
    Http1(Stream),
    /// A stream.
    Http2(Box<Http2Stream>),
}

impl Side {
    /// Returns the connection of HTTP/1.1.
    pub(super) const fn http1(&self) -> Option<&Stream> {
        match self {
            Self::Http1(connection) => Some(connection),
            Self::Http2(_) => None,
        }
    }

    /// Returns the stream of HTTP/2.
    pub(super) fn http2(&self) -> Option<&Http2Stream> {
        match self {
            Self::Http1(_) => None,
            Self::Http2(stream) => Some(stream),
        }
    }

    /// Returns the stream of HTTP/2.
    pub(super) fn http2_mut(&mut self) -> Option<&mut Http2Stream> {
        match self {
            Self::Http1(_) => None,
            Self::Http2(stream) => Some(stream),
        }
    }

    pub(super) fn id(&self) -> UniqueIDType {
        match self {
            Self::Http1(connection) => connection.id(),
            Self::Http2(stream) => stream.id(),
        }
    }

    pub(super) fn get_timing_digest(&self) -> Vec<Option<TimingDigest>> {
        self.http1().map_or_else(Vec::new, |connection| connection.get_timing_digest())
    }

    pub(super) fn get_proxy_digest(&self) -> Option<Arc<ProxyDigest>> {
        self.http1()?.get_proxy_digest()
    }

    pub(super) fn get_socket_digest(&self) -> Option<Arc<SocketDigest>> {
        match self {
            Self::Http1(connection) => connection.get_socket_digest(),
            Self::Http2(stream) => stream.socket(),
        }
    }
}

impl AsyncRead for Side {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match &mut *self {
            Self::Http1(connection) => Pin::new(connection).poll_read(context, buffer),
            Self::Http2(stream) => stream.poll_read(context, buffer),
        }
    }
}

impl AsyncWrite for Side {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        match &mut *self {
            Self::Http1(connection) => Pin::new(connection).poll_write(context, bytes),
            Self::Http2(stream) => stream.poll_write(context, bytes),
        }
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut *self {
            Self::Http1(connection) => Pin::new(connection).poll_flush(context),
            // The connection sends what was written.
            Self::Http2(_) => Poll::Ready(Ok(())),
        }
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        match &mut *self {
            Self::Http1(connection) => Pin::new(connection).poll_shutdown(context),
            // A response says itself where it ends.
            Self::Http2(_) => Poll::Ready(Ok(())),
        }
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        pieces: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        match &mut *self {
            Self::Http1(connection) => Pin::new(connection).poll_write_vectored(context, pieces),
            Self::Http2(stream) => {
                let first = pieces.iter().find(|piece| !piece.is_empty());
                first.map_or(Poll::Ready(Ok(0)), |piece| stream.poll_write(context, piece))
            }
        }
    }

    fn is_write_vectored(&self) -> bool {
        self.http1().is_some_and(AsyncWrite::is_write_vectored)
    }
}
