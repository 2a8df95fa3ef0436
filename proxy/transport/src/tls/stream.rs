//! A TLS connection as Pingora's connection.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

use async_trait::async_trait;
use pingora::protocols::tls::ALPN;
use pingora::protocols::{Shutdown, Ssl, Stream};
use tokio::io::{AsyncRead, AsyncWriteExt, ReadBuf};
use tokio_rustls::TlsStream;
use tokio_rustls::rustls::CommonState;

use super::protocol::HTTP2;
use crate::delegate::{delegate_connection, delegate_write};

/// A TLS connection whose handshake is complete.
#[derive(Debug)]
pub(crate) struct SecureStream(TlsStream<Stream>);

impl SecureStream {
    pub(crate) const fn new(stream: TlsStream<Stream>) -> Self {
        Self(stream)
    }

    /// Returns true if both ends have agreed on HTTP/2.
    pub(crate) fn speaks_http2(&self) -> bool {
        speaks_http2(self.0.get_ref().1)
    }
}

/// Returns true if both ends of a connection have agreed on HTTP/2.
pub fn speaks_http2(connection: &CommonState) -> bool {
    connection.alpn_protocol() == Some(HTTP2)
}

impl AsyncRead for SecureStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(context, buffer)
    }
}

#[async_trait]
impl Shutdown for SecureStream {
    async fn shutdown(&mut self) {
        // The peer may be gone already.
        let _sent = self.0.shutdown().await;
    }
}

impl Ssl for SecureStream {
    /// Returns a protocol even if none was agreed on, which distinguishes the connection from one
    /// without TLS.
    fn selected_alpn_proto(&self) -> Option<ALPN> {
        Some(if self.speaks_http2() { ALPN::H2 } else { ALPN::H1 })
    }
}

delegate_write!(SecureStream, 0);
delegate_connection!(SecureStream, |this| this.0.get_ref().0);
