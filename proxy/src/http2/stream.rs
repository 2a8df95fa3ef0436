//! One stream of a connection that speaks HTTP/2, as Pingora knows connections.

use std::{
    io,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
};

use async_trait::async_trait;
use bytes::Bytes;
use h2::{RecvStream, server::SendResponse};
use http::Method;
use pingora_core::protocols::{
    GetProxyDigest, GetSocketDigest, GetTimingDigest, Peek, Shutdown, SocketDigest, Ssl, Stream,
    TimingDigest, UniqueID, UniqueIDType, raw_connect::ProxyDigest, tls::ALPN,
};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::{answer::Answer, receiving::Receiving, request, streams::Begun};

/// A request and its answer, in HTTP/1.1, for which there is only one of each. Dropped before the answer is complete, it resets the stream.
#[derive(Debug)]
pub struct Http2Stream {
    request: Receiving,
    answer: Answer,
    peer: Arc<Peer>,
    begun: Begun,
}

/// Who is at the other end, which is the same for all streams of a connection.
#[derive(Debug)]
pub(super) struct Peer {
    id: UniqueIDType,
    socket: Option<Arc<SocketDigest>>,
    protocol: Option<ALPN>,
}

impl Peer {
    pub(super) fn of(connection: &Stream) -> Arc<Self> {
        Arc::new(Self {
            id: connection.id(),
            socket: connection.get_socket_digest(),
            protocol: connection.selected_alpn_proto(),
        })
    }
}

impl Http2Stream {
    pub(super) fn new(
        request: http::Request<RecvStream>,
        respond: SendResponse<Bytes>,
        peer: Arc<Peer>,
        begun: Begun,
    ) -> Self {
        let (head, body) = request.into_parts();
        let answer = Answer::new(respond, head.method == Method::HEAD);
        Self { request: request::receiving(&head, body), answer, peer, begun }
    }
}

impl AsyncRead for Http2Stream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = &mut *self;
        if !this.request.is_over() {
            let before = buffer.filled().len();
            if ready!(this.request.poll_read(context, buffer)).is_err() {
                this.begun.taken_back();
                return Poll::Ready(Err(io::ErrorKind::ConnectionReset.into()));
            }
            if buffer.filled().len() > before {
                return Poll::Ready(Ok(()));
            }
        }
        // There is no other request to come: after the answer this is the end, before it only the client's giving up is.
        if this.answer.is_done() {
            return Poll::Ready(Ok(()));
        }
        this.answer.poll_taken_back(context).map(|()| {
            this.begun.taken_back();
            Err(io::ErrorKind::ConnectionReset.into())
        })
    }
}

impl AsyncWrite for Http2Stream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.answer.poll_write(context, bytes)
    }

    /// What was written is sent by the connection, without being asked to.
    fn poll_flush(self: Pin<&mut Self>, _context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, _context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.answer.finish();
        Poll::Ready(Ok(()))
    }
}

#[async_trait]
impl Shutdown for Http2Stream {
    async fn shutdown(&mut self) {
        self.answer.finish();
    }
}

impl UniqueID for Http2Stream {
    fn id(&self) -> UniqueIDType {
        self.peer.id
    }
}

impl Ssl for Http2Stream {
    /// Of a connection without TLS it is none.
    fn selected_alpn_proto(&self) -> Option<ALPN> {
        self.peer.protocol.clone()
    }
}

impl GetTimingDigest for Http2Stream {
    fn get_timing_digest(&self) -> Vec<Option<TimingDigest>> {
        Vec::new()
    }
}

impl GetProxyDigest for Http2Stream {
    fn get_proxy_digest(&self) -> Option<Arc<ProxyDigest>> {
        None
    }
}

impl GetSocketDigest for Http2Stream {
    fn get_socket_digest(&self) -> Option<Arc<SocketDigest>> {
        self.peer.socket.clone()
    }
}

impl Peek for Http2Stream {}
