//! One stream of a connection that speaks HTTP/2, as Pingora knows connections.

use std::{
    io,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    task::{Context, Poll, ready},
    time::Duration,
};

use async_trait::async_trait;
use bytes::Bytes;
use h2::{Reason, RecvStream, server::SendResponse};
use http::Method;
use pingora_core::protocols::{
    GetProxyDigest, GetSocketDigest, GetTimingDigest, Peek, Shutdown, SocketDigest, Ssl, Stream,
    TimingDigest, UniqueID, UniqueIDType, raw_connect::ProxyDigest, tls::ALPN,
};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use super::{
    answer::Answer,
    receiving::{Framing, Receiving},
    request,
    streams::{Begun, Streams},
    waiting,
};

/// The body of a request and its answer, in HTTP/1.1, for which there is only one of each. Dropped before the answer is
/// complete, it resets the stream.
#[derive(Debug)]
pub struct Http2Stream {
    request: Receiving,
    answer: Answer,
    peer: Arc<Peer>,
    begun: Begun,
    /// In how many milliseconds the client must take what is written now. Zero if whoever writes waits for it.
    refusal_timeout: AtomicU32,
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
    /// Begins a request: its head in HTTP/1.1, and all the rest. Returns `None`, after telling the client that the request
    /// was not processed, if the connection must not hold as much.
    pub(super) fn begin(
        request: http::Request<RecvStream>,
        mut respond: SendResponse<Bytes>,
        peer: &Arc<Peer>,
        streams: &Arc<Streams>,
    ) -> Option<(Vec<u8>, Self)> {
        let (head, body) = request.into_parts();
        let Some(begun) = streams.begin(request::length(&head)) else {
            respond.send_reset(Reason::REFUSED_STREAM);
            return None;
        };
        let framing = request::framing(&head, &body);
        let stream = Self {
            request: Receiving::body(body, framing),
            answer: Answer::new(respond, head.method == Method::HEAD),
            peer: Arc::clone(peer),
            begun,
            refusal_timeout: AtomicU32::new(0),
        };
        Some((request::write(&head, framing == Framing::Chunks), stream))
    }

    /// Records that the request has a valid key or grant, so that its connection may hold more.
    pub fn verified(&self) {
        self.begun.verified();
    }

    /// Records that the head of the request is not held any more.
    pub fn release_head(&self) {
        self.begun.release();
    }

    /// Makes the stream take a refusal as soon as it is written. If the client does not take it in this time, the stream is
    /// reset.
    pub fn begin_refusal(&self, timeout: Duration) {
        let timeout = u32::try_from(timeout.as_millis()).unwrap_or(u32::MAX);
        self.refusal_timeout.store(timeout, Ordering::Relaxed);
    }

    /// What becomes of bytes that the client does not take now.
    fn wait(&mut self, bytes: &[u8]) -> Poll<io::Result<usize>> {
        if !self.begun.try_wait(bytes.len()) {
            self.answer.reset(Reason::ENHANCE_YOUR_CALM);
            return Poll::Ready(Err(io::ErrorKind::OutOfMemory.into()));
        }
        let timeout = self.refusal_timeout.load(Ordering::Relaxed);
        if timeout == 0 {
            return Poll::Pending;
        }
        let Some(sending) = self.answer.take_last(bytes.len()) else { return Poll::Pending };
        // In a task of its own, which takes a tenth of what serves the request.
        let rest = Bytes::copy_from_slice(bytes);
        let timeout = Duration::from_millis(timeout.into());
        tokio::spawn(waiting::send(sending, rest, timeout, self.begun.split()));
        Poll::Ready(Ok(bytes.len()))
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
        match self.answer.poll_write(context, bytes) {
            Poll::Pending => self.wait(bytes),
            written @ Poll::Ready(_) => written,
        }
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
