//! The client connection after the head of a request: its body, responses of the proxy, and the
//! detection of a client that disconnects while it waits.

use std::future::poll_fn;
use std::io;
use std::net::IpAddr;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::BufMut as _;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, sleep};
use tokio_util::io::poll_read_buf;

use super::ClientStream;
use crate::http2::Http2Stream;
use crate::outgoing_head::OutgoingHead;
use crate::response::Response;
use crate::socket::is_ended_by_peer;
use crate::timer::{Countdown, Timer};

/// Maximum number of buffered bytes of pipelined requests.
const MAX_PIPELINED: usize = 64 << 10;
/// Maximum space that is reserved for a body of which less has arrived.
const READ_SIZE: usize = 16 << 10;
/// Maximum length of a buffer that is kept while its call is in flight.
const MAX_KEPT: usize = 4 << 10;
/// Maximum time in which a client receives a refusal.
const REFUSAL_TIMEOUT: Duration = Duration::from_secs(5);
/// Time between two checks whether a client has left from which nothing is read.
const CHECK_INTERVAL: Duration = Duration::from_secs(1);

impl ClientStream {
    /// Returns the address of the client.
    pub(crate) fn address(&self) -> Option<IpAddr> {
        match self.inner.http1() {
            Some(connection) => super::address(connection),
            None => super::address_of(&*self.inner.get_socket_digest()?),
        }
    }

    /// Records that the request is an accepted call. An HTTP/2 connection may buffer more after
    /// that.
    pub(crate) fn accept_request(&self) {
        if let Some(stream) = self.http2() {
            stream.accept();
        }
    }

    /// Starts the body of a request: reads return its bytes from now on.
    pub(crate) fn begin_body(&mut self) {
        self.replayed = self.head_length;
        // A slow upload must not shorten the time of the next request on this connection.
        self.deadline.begin_request();
    }

    /// Returns the buffered bytes of the body.
    pub(crate) fn buffered(&self) -> &[u8] {
        self.buffer.get(self.replayed..).unwrap_or_default()
    }

    /// Takes the buffered bytes of the body, without reading.
    pub(crate) fn take_buffered(&mut self) -> Vec<u8> {
        if self.replayed == 0 {
            return std::mem::take(&mut self.buffer);
        }
        let buffered = self.buffered().to_vec();
        self.buffer.truncate(self.replayed);
        if buffered.len() > MAX_KEPT {
            // A call can take long, and does not need this memory.
            self.buffer.shrink_to_fit();
        }
        buffered
    }

    /// Reads up to `max` more bytes of the body into the buffer. Returns their number, or 0 at the
    /// end of the connection or of the stream.
    pub(crate) async fn buffer_more(&mut self, max: usize) -> io::Result<usize> {
        poll_fn(|context| {
            // All of the rest only for a client that sends. Growing in steps copies a body twice.
            let space = if self.buffer.len() < READ_SIZE { READ_SIZE } else { max };
            self.buffer.reserve(max.min(space));
            let mut space = (&mut self.buffer).limit(max);
            match poll_read_buf(Pin::new(&mut self.inner), context, &mut space) {
                Poll::Pending if self.inner.http2().is_some_and(Http2Stream::has_ended) => Poll::Ready(Ok(0)),
                Poll::Pending => self.poll_timeout(context).map(Err),
                Poll::Ready(read) => {
                    let read = read?;
                    self.record_received(read);
                    Poll::Ready(Ok(read))
                }
            }
        })
        .await
    }

    /// Returns bytes that were read beyond the end of the body to the buffer, for the next request.
    pub(crate) fn unread(&mut self, bytes: &[u8]) {
        let head = self.buffer.len().min(self.head_length);
        let unread = self.buffer.split_off(self.replayed.clamp(head, self.buffer.len()));
        self.buffer.truncate(head);
        self.buffer.extend_from_slice(bytes);
        self.buffer.extend_from_slice(&unread);
        self.replayed = head;
    }

    /// Completes when the client leaves or its deadline expires. Buffers what it sends for the next
    /// request. A call that `must_finish` does not end because its client leaves.
    pub(crate) fn poll_closed(&mut self, context: &mut Context<'_>, must_finish: bool) -> Poll<io::Error> {
        self.has_left = self.has_left || self.poll_left(context).is_ready();
        self.poll_ended(context, must_finish)
    }

    /// Does the same without reading, while what the client has sent waits for the upstream.
    pub(crate) fn poll_closed_unread(
        &mut self,
        context: &mut Context<'_>,
        must_finish: bool,
    ) -> Poll<io::Error> {
        self.has_left = self.has_left || self.poll_left_unread(context).is_ready();
        self.poll_ended(context, must_finish)
    }

    fn poll_ended(&mut self, context: &mut Context<'_>, must_finish: bool) -> Poll<io::Error> {
        if self.has_left && !must_finish {
            return Poll::Ready(io::ErrorKind::ConnectionAborted.into());
        }
        self.poll_timeout(context)
    }

    /// Completes when the client ends its connection, or its half of it: which one it was shows only when
    /// something is written.
    ///
    /// Why: docs/decisions/proxy.md, "A client that ends its connection has left".
    fn poll_left(&mut self, context: &mut Context<'_>) -> Poll<()> {
        // Without a maximum, a client could fill the memory with pipelined requests while its call
        // waits.
        while self.buffer.len().saturating_sub(self.replayed) < MAX_PIPELINED {
            match ready!(self.poll_read_more(context)) {
                // A stream whose response is complete.
                Ok(0) if self.is_http2_stream() => return Poll::Pending,
                Ok(0) | Err(_) => return Poll::Ready(()),
                Ok(_) => {}
            }
        }
        // Behind a full buffer, the end of the connection cannot be read.
        self.poll_left_unread(context)
    }

    /// Does the same without reading: a stream of HTTP/2 is told of its reset, a socket is asked from
    /// time to time.
    fn poll_left_unread(&mut self, context: &mut Context<'_>) -> Poll<()> {
        if self.is_http2_stream() {
            let read = Pin::new(&mut self.inner).poll_read(context, &mut ReadBuf::new(&mut []));
            return if matches!(read, Poll::Ready(Err(_))) { Poll::Ready(()) } else { Poll::Pending };
        }
        let check = self.next_check.get_or_insert_with(|| Box::pin(sleep(CHECK_INTERVAL)));
        while check.as_mut().poll(context).is_ready() {
            if self.inner.http1().is_some_and(is_ended_by_peer) {
                return Poll::Ready(());
            }
            check.as_mut().reset(Instant::now() + CHECK_INTERVAL);
        }
        Poll::Pending
    }

    /// Reads and discards so many bytes of a body. Bytes after them stay.
    pub(crate) async fn discard_body(&mut self, length: usize) -> io::Result<()> {
        let mut left = length;
        poll_fn(|context| {
            while left > 0 {
                let mut space = [0; 4096];
                let (space, _) = space.split_at_mut(left.min(4096));
                let mut buffer = ReadBuf::new(space);
                ready!(Pin::new(&mut *self).poll_read(context, &mut buffer))?;
                match buffer.filled().len() {
                    0 => return Poll::Ready(Err(io::ErrorKind::UnexpectedEof.into())),
                    read => left -= read,
                }
            }
            Poll::Ready(Ok(()))
        })
        .await
    }

    /// Sends `100 Continue`, and arms the deadline of the body.
    pub(crate) async fn send_continue(&mut self) -> io::Result<()> {
        let sent = match self.inner.http2_mut() {
            Some(stream) => stream.send_continue(),
            None => self.send(b"HTTP/1.1 100 Continue\r\n\r\n").await,
        };
        // The body has its own deadline. An upload once kept the short one of this response.
        self.arm_upload();
        sent
    }

    /// Begins the response of an upstream, whose body has this length, or one that
    /// [`Self::end_response`] ends. The text of a head is left in `text`, to be written with the body.
    pub(crate) fn begin_response(
        &mut self,
        head: OutgoingHead,
        length: Option<u64>,
        text: &mut Vec<u8>,
    ) -> io::Result<()> {
        match (head, self.inner.http2_mut()) {
            (OutgoingHead::Text(written), None) if text.is_empty() => *text = written,
            (OutgoingHead::Text(written), None) => text.extend_from_slice(&written),
            (OutgoingHead::Fields(fields), Some(stream)) => stream.send_head(*fields, length)?,
            (OutgoingHead::Text(_), Some(_)) | (OutgoingHead::Fields(_), None) => {
                return Err(io::ErrorKind::InvalidInput.into());
            }
        }
        Ok(())
    }

    /// Ends a response whose body was written. Over HTTP/1.1 its bytes say so.
    pub(crate) fn end_response(&mut self) -> io::Result<()> {
        self.inner.http2_mut().map_or(Ok(()), Http2Stream::finish)
    }

    /// Sends a response of the proxy. Returns the length of its body.
    ///
    /// # Errors
    /// Returns an error if the client does not receive a refusal in time. An HTTP/2 stream buffers it and
    /// is reset if the client does not receive it in time, so that nothing else of the request is held
    /// meanwhile.
    pub(crate) async fn send_response(
        &mut self,
        response: Response,
        close: bool,
        is_head: bool,
    ) -> io::Result<usize> {
        if !response.is_refusal() {
            return self.send_all(response, close, is_head).await;
        }
        if let Some(stream) = self.http2() {
            stream.begin_refusal(REFUSAL_TIMEOUT);
        }
        // Clients without a key that took no refusal could hold its memory for 60 s: 60 connections
        // of HTTP/2 made 2 GiB of 0.8 MiB sent.
        let (mut timer, mut countdown) = (Timer::default(), Countdown::of(REFUSAL_TIMEOUT));
        let mut sending = pin!(self.send_all(response, close, is_head));
        poll_fn(|context| match sending.as_mut().poll(context) {
            Poll::Pending => {
                timer.poll(&mut countdown, context).map(|()| Err(io::ErrorKind::TimedOut.into()))
            }
            sent => sent,
        })
        .await
    }

    async fn send_all(&mut self, response: Response, close: bool, is_head: bool) -> io::Result<usize> {
        let (head, body) = response.into_parts(close);
        // A response to HEAD has no body.
        let length = if is_head { 0 } else { body.bytes().len() };
        let mut bytes = Vec::new();
        self.begin_response(head, Some(length as u64), &mut bytes)?;
        bytes.extend_from_slice(body.bytes().get(..length).unwrap_or_default());
        // The client can take long to receive it, and one copy is enough.
        drop(body);
        self.send(&bytes).await?;
        Ok(length)
    }

    /// Sends all of these bytes. Returns an error if the client receives them too slowly.
    async fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.arm_download();
        let mut sent = 0;
        poll_fn(|context| {
            while let Some(rest) = bytes.get(sent..).filter(|rest| !rest.is_empty()) {
                match Pin::new(&mut *self).poll_write(context, rest) {
                    Poll::Ready(Ok(0)) => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
                    Poll::Ready(Ok(written)) => sent += written,
                    Poll::Ready(Err(error)) => return Poll::Ready(Err(error)),
                    Poll::Pending => return self.poll_timeout(context).map(Err),
                }
            }
            match Pin::new(&mut *self).poll_flush(context) {
                Poll::Pending => self.poll_timeout(context).map(Err),
                flushed @ Poll::Ready(_) => flushed,
            }
        })
        .await
    }
}
