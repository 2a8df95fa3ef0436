//! The connection from a client: its buffered bytes, and the deadline of the client.

mod deadline;
mod head;
mod relayed;
mod side;

use std::io;
use std::mem::MaybeUninit;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use async_trait::async_trait;
use pingora::protocols::tls::{ALPN, SslDigest};
use pingora::protocols::{Shutdown, SocketDigest, Ssl, Stream};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::Sleep;

use self::deadline::ClientDeadline;
pub(crate) use self::deadline::{ClientTimeout, Direction};
pub(crate) use self::head::HeadRead;
use self::side::Side;
use crate::delegate::delegate_connection;
use crate::http2::{Http2Stream, RequestFields};
use crate::limits::ClientOptions;
use crate::received_head::ReceivedHead;
use crate::socket::{peer, reset_on_close, splice_end};
use crate::splice_end::SpliceEnd;
use crate::timer::{Pace, Timer};

/// A client connection, or one HTTP/2 stream. Bytes that were read with the head of a request are
/// replayed to the reader of its body.
pub(crate) struct ClientStream {
    inner: Side,
    /// The head of the request of an HTTP/2 stream.
    fields: Option<Arc<RequestFields>>,
    /// The head of the request of a connection, and the bytes that were read with it.
    buffer: Vec<u8>,
    head_length: usize,
    /// The number of buffered bytes that were replayed.
    replayed: usize,
    deadline: ClientDeadline,
    options: ClientOptions,
    /// Whether the connection is encrypted with TLS.
    is_tls: bool,
    /// Whether a request was read on this connection before.
    is_reused: bool,
    /// Whether the client has ended its connection while a call was in flight.
    has_left: bool,
    /// The time of the next check whether it has, while nothing is read from it.
    next_check: Option<Pin<Box<Sleep>>>,
}

/// Returns the address of the peer of a connection.
pub(crate) fn address(stream: &Stream) -> Option<IpAddr> {
    // Pingora's description of a socket is a large allocation.
    peer(stream).or_else(|| address_of(&*stream.get_socket_digest()?))
}

fn address_of(socket: &SocketDigest) -> Option<IpAddr> {
    socket.peer_addr()?.as_inet().map(SocketAddr::ip)
}

impl ClientStream {
    /// Returns a connection that was just accepted. `is_tls` means that its TLS handshake is
    /// complete.
    pub(crate) fn new(inner: Stream, is_tls: bool, options: ClientOptions) -> Self {
        Self::with_side(Side::Http1(inner), None, is_tls, options)
    }

    /// Returns a stream of an HTTP/2 connection, whose request has this head.
    pub(crate) fn of_stream(
        stream: Box<Http2Stream>,
        head: Arc<RequestFields>,
        is_tls: bool,
        options: ClientOptions,
    ) -> Self {
        let mut client = Self::with_side(Side::Http2(stream), Some(head), is_tls, options);
        client.arm(options.idle_timeout);
        client
    }

    fn with_side(
        inner: Side,
        fields: Option<Arc<RequestFields>>,
        is_tls: bool,
        options: ClientOptions,
    ) -> Self {
        Self {
            inner,
            fields,
            buffer: Vec::new(),
            head_length: 0,
            replayed: 0,
            deadline: ClientDeadline::new(),
            options,
            is_tls,
            is_reused: false,
            has_left: false,
            next_check: None,
        }
    }

    /// Returns true if the connection is encrypted with TLS.
    pub(crate) const fn is_tls(&self) -> bool {
        self.is_tls
    }

    /// Returns the maximum number of bytes of a body.
    pub(crate) const fn max_body(&self) -> u64 {
        self.options.max_body
    }

    /// Returns the minimum rate of uploads in bytes a second, or 0 without a minimum.
    pub(crate) const fn min_upload_rate(&self) -> u64 {
        self.options.min_upload_rate
    }

    /// Sets the limits of the next request.
    pub(crate) const fn set_options(&mut self, options: ClientOptions) {
        self.options = options;
    }

    /// Returns the connection if the kernel can move bytes to it: neither with TLS nor with HTTP/2.
    pub(crate) fn splice_end(&self) -> Option<&dyn SpliceEnd> {
        splice_end(self.inner.http1()?)
    }

    /// Returns the same if the kernel can move the next bytes of the body, because none is buffered.
    pub(crate) fn splice_end_of_body(&self) -> Option<&dyn SpliceEnd> {
        self.splice_end().filter(|_| self.buffered().is_empty())
    }

    /// Makes the end of the connection a reset, because a response that only its end delimits is
    /// broken. A stream of HTTP/2 is reset in any case.
    pub(crate) fn reset_on_close(&self) {
        if let Some(connection) = self.inner.http1() {
            reset_on_close(connection);
        }
    }

    /// Returns true if this is a stream of an HTTP/2 connection.
    pub(crate) fn is_http2_stream(&self) -> bool {
        self.http2().is_some()
    }

    fn http2(&self) -> Option<&Http2Stream> {
        self.inner.http2()
    }

    /// Takes the head of the request. The bytes after it stay buffered.
    pub(crate) fn take_head(&mut self) -> ReceivedHead {
        if let Some(fields) = self.fields.take() {
            return ReceivedHead::Fields(fields);
        }
        let rest = match self.buffer.len() > self.head_length {
            true => self.buffer.split_off(self.head_length),
            false => Vec::new(),
        };
        self.replayed = self.replayed.saturating_sub(self.head_length);
        self.head_length = 0;
        ReceivedHead::Text(std::mem::replace(&mut self.buffer, rest))
    }

    /// Frees the head of the request.
    pub(crate) fn release_head(&mut self) {
        drop(self.take_head());
        if let Some(stream) = self.http2() {
            stream.release_head();
        }
    }

    /// Arms the deadline of a client that sends anything, which any byte restarts.
    pub(crate) fn arm(&mut self, time: Duration) {
        self.deadline.arm(time);
    }

    /// Arms the deadline of a client that sends its body at the minimum rate.
    pub(crate) fn arm_upload(&mut self) {
        let pace = Pace { pause: self.options.idle_timeout, rate: self.options.min_upload_rate };
        self.deadline.arm_paced(Direction::Upload, pace);
    }

    /// Arms the deadline of a client that receives a response at the minimum rate.
    pub(crate) fn arm_download(&mut self) {
        let pace = Pace { pause: self.options.idle_timeout, rate: self.options.min_download_rate };
        self.deadline.arm_paced(Direction::Download, pace);
    }

    /// Disarms the deadline while the client is not awaited.
    pub(crate) fn disarm(&mut self) {
        self.deadline.disarm();
    }

    /// Returns the timeout of the client, if its deadline has expired.
    pub(crate) const fn timeout(&self) -> Option<ClientTimeout> {
        self.deadline.timeout()
    }

    /// Returns the timer of the connection. Only a countdown that replaces the disarmed deadline
    /// may use it.
    pub(crate) const fn timer(&mut self) -> &mut Timer {
        self.deadline.timer()
    }

    /// Completes once when the deadline of the client expires.
    pub(crate) fn poll_timeout(&mut self, context: &mut Context<'_>) -> Poll<io::Error> {
        self.deadline.poll(context)
    }

    /// Reads once. Fails if the deadline expires.
    fn poll_more(&mut self, context: &mut Context<'_>) -> Poll<io::Result<usize>> {
        match self.poll_read_more(context) {
            // The deadline counts only if nothing can be read: bytes that arrived in time must not
            // be lost because a busy machine polls the task late.
            Poll::Pending => self.poll_timeout(context).map(Err),
            read @ Poll::Ready(_) => read,
        }
    }

    /// Reads once. The space for it is on the stack, so that a waiting connection holds none.
    fn poll_read_more(&mut self, context: &mut Context<'_>) -> Poll<io::Result<usize>> {
        let mut space = [const { MaybeUninit::uninit() }; 4096];
        let mut buffer = ReadBuf::uninit(&mut space);
        ready!(Pin::new(&mut self.inner).poll_read(context, &mut buffer))?;
        self.buffer.extend_from_slice(buffer.filled());
        Poll::Ready(Ok(buffer.filled().len()))
    }

    /// Reads from the connection. Fails if the deadline expires.
    fn poll_inner(&mut self, context: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        match Pin::new(&mut self.inner).poll_read(context, buffer) {
            Poll::Pending if self.has_ended() => Poll::Ready(Ok(())),
            Poll::Pending => self.poll_timeout(context).map(Err),
            read @ Poll::Ready(_) => read,
        }
    }

    /// Returns true if the body of a stream has ended and all of it was read.
    pub(crate) fn has_ended(&self) -> bool {
        self.buffered().is_empty() && self.http2().is_some_and(Http2Stream::has_ended)
    }

    /// Records bytes that the client has sent. They extend its deadline.
    pub(crate) fn record_received(&mut self, bytes: usize) {
        self.deadline.record_progress(Direction::Upload, bytes);
    }

    /// Records bytes that the client was sent. They extend its deadline.
    pub(crate) fn record_sent(&mut self, bytes: usize) {
        self.deadline.record_progress(Direction::Download, bytes);
    }
}

impl AsyncRead for ClientStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = &mut *self;
        let buffered = this.buffer.get(this.replayed..).unwrap_or_default();
        if !buffered.is_empty() {
            let (now, _) = buffered.split_at(buffered.len().min(buffer.remaining()));
            buffer.put_slice(now);
            this.replayed += now.len();
            return Poll::Ready(Ok(()));
        }
        let before = buffer.filled().len();
        ready!(this.poll_inner(context, buffer))?;
        this.record_received(buffer.filled().len() - before);
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for ClientStream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = ready!(Pin::new(&mut self.inner).poll_write(context, bytes))?;
        self.record_sent(written);
        Poll::Ready(Ok(written))
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_shutdown(context)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        pieces: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = ready!(Pin::new(&mut self.inner).poll_write_vectored(context, pieces))?;
        self.record_sent(written);
        Poll::Ready(Ok(written))
    }

    fn is_write_vectored(&self) -> bool {
        self.inner.is_write_vectored()
    }
}

#[async_trait]
impl Shutdown for ClientStream {
    async fn shutdown(&mut self) {
        if let Side::Http1(connection) = &mut self.inner {
            Shutdown::shutdown(&mut **connection).await;
        }
    }
}

impl Ssl for ClientStream {
    fn get_ssl_digest(&self) -> Option<Arc<SslDigest>> {
        self.inner.http1()?.get_ssl_digest()
    }

    fn selected_alpn_proto(&self) -> Option<ALPN> {
        self.inner.http1()?.selected_alpn_proto()
    }
}

delegate_connection!(ClientStream, |this| this.inner);

impl std::fmt::Debug for ClientStream {
    /// Omits the buffered bytes, because they contain keys.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ClientStream").field("id", &self.inner.id()).finish_non_exhaustive()
    }
}
