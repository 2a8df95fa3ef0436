//! A connection that TLS has made safe, as Pingora knows connections.

use std::{
    io,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use async_trait::async_trait;
use pingora_core::protocols::{
    GetProxyDigest, GetSocketDigest, GetTimingDigest, Peek, Shutdown, SocketDigest, Ssl, Stream,
    TimingDigest, UniqueID, UniqueIDType, raw_connect::ProxyDigest, tls::ALPN,
};
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt, ReadBuf};
use tokio_rustls::TlsStream;

/// The connection, after its handshake.
#[derive(Debug)]
pub struct Secured(TlsStream<Stream>);

impl Secured {
    pub(crate) const fn new(stream: TlsStream<Stream>) -> Self {
        Self(stream)
    }

    /// Whether both ends have agreed on HTTP/2.
    #[must_use]
    pub fn speaks_http2(&self) -> bool {
        super::speaks_http2(self.0.get_ref().1)
    }

    fn socket(&self) -> &Stream {
        self.0.get_ref().0
    }
}

impl AsyncRead for Secured {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(context, buffer)
    }
}

impl AsyncWrite for Secured {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(context)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        pieces: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write_vectored(context, pieces)
    }

    fn is_write_vectored(&self) -> bool {
        self.0.is_write_vectored()
    }
}

#[async_trait]
impl Shutdown for Secured {
    async fn shutdown(&mut self) {
        // The client may be gone already.
        let _told = self.0.shutdown().await;
    }
}

impl UniqueID for Secured {
    fn id(&self) -> UniqueIDType {
        self.socket().id()
    }
}

impl Ssl for Secured {
    /// Of a connection without TLS it is none.
    fn selected_alpn_proto(&self) -> Option<ALPN> {
        Some(if self.speaks_http2() { ALPN::H2 } else { ALPN::H1 })
    }
}

impl GetTimingDigest for Secured {
    fn get_timing_digest(&self) -> Vec<Option<TimingDigest>> {
        self.socket().get_timing_digest()
    }
}

impl GetProxyDigest for Secured {
    fn get_proxy_digest(&self) -> Option<Arc<ProxyDigest>> {
        self.socket().get_proxy_digest()
    }
}

impl GetSocketDigest for Secured {
    fn get_socket_digest(&self) -> Option<Arc<SocketDigest>> {
        self.socket().get_socket_digest()
    }
}

impl Peek for Secured {}
