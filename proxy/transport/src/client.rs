//! A connection from a client: what has come of its requests, and by when something has to happen.

mod arrival;
mod deadline;
mod exchange;
mod known;

use std::{
    io,
    mem::MaybeUninit,
    net::{IpAddr, SocketAddr},
    pin::Pin,
    task::{Context, Poll, ready},
    time::Duration,
};

use pingora_core::protocols::{Stream, UniqueID};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use self::deadline::{Deadline, Pace};
pub use self::{arrival::RequestHead, deadline::Awaited};
use crate::{http2::Http2Stream, limits::ClientOptions};

/// The connection. What was read with a request's head is played back to whoever reads its body.
pub struct ClientStream {
    inner: Stream,
    /// The head of the request and what came with it.
    bytes: Vec<u8>,
    head_length: usize,
    played: usize,
    deadline: Deadline,
    options: ClientOptions,
    /// Whether the connection is encrypted with TLS.
    is_tls: bool,
    /// Whether a request was read on this connection before.
    used: bool,
    /// Whether the client has closed its half of the connection: it sends no more, and may still read.
    half_closed: bool,
}

/// Who is at the other end of a connection.
#[must_use]
pub fn address(stream: &Stream) -> Option<IpAddr> {
    let digest = stream.get_socket_digest()?;
    digest.peer_addr()?.as_inet().map(SocketAddr::ip)
}

impl ClientStream {
    /// Returns a connection that has just been accepted, and whose handshake is over if it `is_tls`.
    #[must_use]
    pub fn new(inner: Stream, is_tls: bool, options: ClientOptions) -> Self {
        Self::begun(inner, Vec::new(), is_tls, options)
    }

    /// Returns a connection of which these bytes were read already.
    #[must_use]
    pub fn begun(inner: Stream, bytes: Vec<u8>, is_tls: bool, options: ClientOptions) -> Self {
        Self {
            inner,
            bytes,
            head_length: 0,
            played: 0,
            deadline: Deadline::new(),
            options,
            is_tls,
            used: false,
            half_closed: false,
        }
    }

    /// Returns true if the connection is encrypted with TLS.
    #[must_use]
    pub const fn is_tls(&self) -> bool {
        self.is_tls
    }

    /// Returns the maximum number of bytes of a body.
    #[must_use]
    pub const fn max_body(&self) -> u64 {
        self.options.max_body
    }

    /// The head of the request as the client sent it, with its empty line.
    #[must_use]
    pub fn head(&self) -> &[u8] {
        self.bytes.get(..self.head_length).unwrap_or_default()
    }

    /// Takes the head of the request. What was read beyond it stays.
    pub fn take_head(&mut self) -> Vec<u8> {
        let rest = match self.bytes.len() > self.head_length {
            true => self.bytes.split_off(self.head_length),
            false => Vec::new(),
        };
        self.played = self.played.saturating_sub(self.head_length);
        self.head_length = 0;
        std::mem::replace(&mut self.bytes, rest)
    }

    /// Notes that the head of the request is not held any more.
    pub fn release_head(&mut self) {
        drop(self.take_head());
        if let Some(stream) = self.http2() {
            stream.release_head();
        }
    }

    /// Whether this is a stream of HTTP/2.
    #[must_use]
    pub fn is_http2_stream(&self) -> bool {
        self.http2().is_some()
    }

    /// The stream of HTTP/2 that this is, if it is one.
    fn http2(&self) -> Option<&Http2Stream> {
        (*self.inner).as_any().downcast_ref()
    }

    /// From now on this is waited for, so long; each call replaces the one before.
    pub fn wait_for(&self, awaited: Awaited, time: Duration) {
        self.deadline.wait_for(awaited, time);
    }

    /// From now on the client is to send more of its request, at the minimum rate.
    pub fn wait_for_more(&self) {
        let pace = Pace { pause: self.options.idle_timeout, rate: self.options.min_upload_rate };
        self.deadline.wait_at_pace(Awaited::Request, pace);
    }

    /// From now on the client is to take what is there for it, at the minimum rate.
    pub fn wait_for_taking(&self) {
        let pace = Pace { pause: self.options.idle_timeout, rate: self.options.min_download_rate };
        self.deadline.wait_at_pace(Awaited::Taking, pace);
    }

    /// From now on the tool is to go on with its response, with pauses of at most this length. A body that is still
    /// coming earns it time at the minimum rate of uploads: the tool may be reading it.
    pub fn wait_for_rest(&self, pause: Duration) {
        let pace = Pace { pause, rate: self.options.min_upload_rate };
        self.deadline.wait_at_pace(Awaited::RestOfResponse, pace);
    }

    /// The minimum rate of uploads, in bytes a second.
    #[must_use]
    pub const fn upload_rate(&self) -> u64 {
        self.options.min_upload_rate
    }

    /// Whether what is overdue came, but more slowly than its minimum rate.
    #[must_use]
    pub fn is_too_slow(&self) -> bool {
        self.deadline.is_too_slow()
    }

    /// What was waited for too long.
    #[must_use]
    pub fn overdue(&self) -> Option<Awaited> {
        self.deadline.overdue()
    }

    /// Sets the limits of the next request.
    pub const fn set_options(&mut self, options: ClientOptions) {
        self.options = options;
    }

    /// Reads once, through a buffer that is gone when there is nothing to read.
    fn poll_more(&mut self, context: &mut Context<'_>) -> Poll<io::Result<usize>> {
        let mut space = [const { MaybeUninit::uninit() }; 4096];
        let mut buffer = ReadBuf::uninit(&mut space);
        ready!(self.poll_inner(context, &mut buffer))?;
        self.bytes.extend_from_slice(buffer.filled());
        Poll::Ready(Ok(buffer.filled().len()))
    }

    /// Reads, or fails when whoever is waited for is overdue.
    fn poll_inner(&mut self, context: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        match Pin::new(&mut self.inner).poll_read(context, buffer) {
            Poll::Pending => self.poll_overdue(context).map(Err),
            read @ Poll::Ready(_) => read,
        }
    }

    fn note_received(&self, bytes: usize) {
        self.deadline.progress(Awaited::Request, bytes);
        self.deadline.progress(Awaited::RestOfResponse, bytes);
    }

    /// Any byte of a response that passes is a sign of life of its tool.
    fn note_sent(&self, bytes: usize) {
        self.deadline.progress(Awaited::Taking, bytes);
        self.deadline.progress(Awaited::RestOfResponse, usize::MAX);
    }

    /// Ready once what is waited for is overdue.
    pub(crate) fn poll_overdue(&mut self, context: &mut Context<'_>) -> Poll<io::Error> {
        self.deadline.poll(context)
    }
}

impl AsyncRead for ClientStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = &mut *self;
        let unplayed = this.bytes.get(this.played..).unwrap_or_default();
        if !unplayed.is_empty() {
            let (now, _) = unplayed.split_at(unplayed.len().min(buffer.remaining()));
            buffer.put_slice(now);
            this.played += now.len();
            return Poll::Ready(Ok(()));
        }
        let before = buffer.filled().len();
        ready!(this.poll_inner(context, buffer))?;
        this.note_received(buffer.filled().len() - before);
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
        self.note_sent(written);
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
        self.note_sent(written);
        Poll::Ready(Ok(written))
    }

    fn is_write_vectored(&self) -> bool {
        self.inner.is_write_vectored()
    }
}

impl std::fmt::Debug for ClientStream {
    /// Without the bytes: they hold keys.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ClientStream").field("id", &self.id()).finish_non_exhaustive()
    }
}
