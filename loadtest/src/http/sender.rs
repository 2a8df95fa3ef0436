//! Opening of connections and sending of requests, in HTTP/1.1 or HTTP/2.

use std::io;

use bytes::Bytes;
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::client::conn::{http1, http2};
use hyper::{Request, Response};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;

use super::tls::TlsOptions;
use crate::record::CallError;
use crate::target::Target;

/// An open connection.
pub(crate) enum Sender {
    Http1(http1::SendRequest<Full<Bytes>>),
    Http2(http2::SendRequest<Full<Bytes>>),
}

/// A request that has no response. It can be sent again if it never left.
pub(crate) enum SendError {
    Unsent(Box<Request<Full<Bytes>>>),
    Sent,
}

impl Sender {
    /// Opens a connection.
    pub(crate) async fn open(target: &Target, tls: &TlsOptions, http2: bool) -> io::Result<Self> {
        let stream = TcpStream::connect(target.addr).await?;
        // Nagle's algorithm waits for the ACK of the last segment, and delayed ACKs would show as
        // 40 ms of latency.
        stream.set_nodelay(true)?;
        if target.tls {
            Self::handshake(tls.handshake(target, stream, http2).await?, http2).await
        } else {
            Self::handshake(stream, http2).await
        }
    }

    async fn handshake(
        stream: impl AsyncRead + AsyncWrite + Send + Unpin + 'static,
        http2: bool,
    ) -> io::Result<Self> {
        let io = TokioIo::new(stream);
        if http2 {
            let mut builder = http2::Builder::new(TokioExecutor::new());
            // Without a timer, hyper panics as soon as one of its timeouts is used.
            builder.timer(TokioTimer::new());
            let (sender, connection) = builder.handshake(io).await.map_err(io::Error::other)?;
            tokio::spawn(connection);
            Ok(Self::Http2(sender))
        } else {
            let (sender, connection) = http1::handshake(io).await.map_err(io::Error::other)?;
            tokio::spawn(connection);
            Ok(Self::Http1(sender))
        }
    }

    /// Returns another handle of an HTTP/2 connection, or `None` for HTTP/1.1.
    pub(crate) fn another_stream(&self) -> Option<Self> {
        match self {
            Self::Http1(_) => None,
            Self::Http2(sender) => Some(Self::Http2(sender.clone())),
        }
    }

    /// Sends a request and returns the response head.
    pub(crate) async fn send(
        &mut self,
        request: Request<Full<Bytes>>,
    ) -> Result<Response<Incoming>, SendError> {
        let result = match self {
            Self::Http1(sender) => sender.try_send_request(request).await,
            Self::Http2(sender) => sender.try_send_request(request).await,
        };
        result.map_err(|mut error| match error.take_message() {
            Some(request) => SendError::Unsent(Box::new(request)),
            // hyper hands the request back only if none of it was written.
            None => SendError::Sent,
        })
    }

    /// Sends a request on a connection that was opened for it.
    pub(crate) async fn send_first(
        &mut self,
        request: Request<Full<Bytes>>,
    ) -> Result<Response<Incoming>, CallError> {
        self.send(request).await.map_err(|_ended| CallError::NoResponse)
    }
}
