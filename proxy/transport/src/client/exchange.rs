//! The connection while a call is relayed: the body is read from it, and it is watched while its client only waits.

use std::{
    io,
    net::IpAddr,
    pin::Pin,
    task::{Context, Poll, ready},
    time::Duration,
};

use bytes::BufMut as _;
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    time::timeout,
};
use tokio_util::io::poll_read_buf;

use super::ClientStream;

/// Of a request that comes before the one at hand is answered, so much is held.
const MAX_AHEAD: usize = 64 << 10;
/// Room that is made at once for a body that is buffered.
const READ_AHEAD: usize = 16 << 10;
/// A buffer of this length is kept while its call is in flight.
const SMALL: usize = 4 << 10;
/// How long a client may take for a refusal.
const REFUSAL_TIMEOUT: Duration = Duration::from_secs(5);

impl ClientStream {
    /// Returns the address of the client.
    #[must_use]
    pub fn address(&self) -> Option<IpAddr> {
        super::address(&self.inner)
    }

    /// Records that the request was recognized as a call: its connection may hold more.
    pub fn accept_request(&self) {
        if let Some(stream) = self.http2() {
            stream.verified();
        }
    }

    /// From here on what is read is the request's body.
    pub fn begin_body(&mut self) {
        self.played = self.head_length;
        self.deadline.begin_request();
    }

    /// The bytes of the body that have been buffered.
    #[must_use]
    pub fn buffered(&self) -> &[u8] {
        self.bytes.get(self.played..).unwrap_or_default()
    }

    /// Takes the bytes that have been buffered, without reading.
    pub fn take_buffered(&mut self) -> Vec<u8> {
        if self.played == 0 {
            return std::mem::take(&mut self.bytes);
        }
        let buffered = self.buffered().to_vec();
        self.bytes.truncate(self.played);
        if buffered.len() > SMALL {
            // A call may take long, and has no use for this room meanwhile.
            self.bytes.shrink_to_fit();
        }
        buffered
    }

    /// Reads up to `most` more bytes of the body into the buffer. Returns how many; 0 at the end of the connection.
    pub async fn buffer_more(&mut self, most: usize) -> io::Result<usize> {
        std::future::poll_fn(|context| {
            self.bytes.reserve(most.min(READ_AHEAD));
            let mut room = (&mut self.bytes).limit(most);
            match poll_read_buf(Pin::new(&mut self.inner), context, &mut room) {
                Poll::Pending => self.poll_overdue(context).map(Err),
                Poll::Ready(read) => {
                    let read = read?;
                    self.note_received(read);
                    Poll::Ready(Ok(read))
                }
            }
        })
        .await
    }

    /// Returns what was read beyond the body's end to the buffer: the next request begins with it.
    pub fn unread(&mut self, bytes: &[u8]) {
        let head = self.bytes.len().min(self.head_length);
        let unread = self.bytes.split_off(self.played.clamp(head, self.bytes.len()));
        self.bytes.truncate(head);
        self.bytes.extend_from_slice(bytes);
        self.bytes.extend_from_slice(&unread);
        self.played = head;
    }

    /// Waits until the client resets the connection or is overdue. Keeps what it sends meanwhile for the next request.
    ///
    /// A client that closes its half of the connection may still read its response (RFC 9293, section 3.6): it is
    /// served. One that has closed both halves looks the same until it is written to.
    pub fn poll_left(&mut self, context: &mut Context<'_>) -> Poll<io::Error> {
        while !self.half_closed && self.bytes.len().saturating_sub(self.played) < MAX_AHEAD {
            match ready!(self.poll_more(context)) {
                Ok(0) => self.half_closed = true,
                Ok(_) => {}
                Err(error) => return Poll::Ready(error),
            }
        }
        self.poll_overdue(context)
    }

    /// Reads and drops so many bytes of a body; what came beyond them stays.
    pub async fn drop_body(&mut self, length: usize) -> io::Result<()> {
        let mut left = length;
        std::future::poll_fn(|context| {
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

    /// Tells a client that waits for it to send its body, and waits for that.
    pub async fn send_continue(&mut self) -> io::Result<()> {
        let told = self.send(b"HTTP/1.1 100 Continue\r\n\r\n").await;
        self.wait_for_more();
        told
    }

    /// Writes a refusal. Returns an error if the client does not take it in time. A stream of HTTP/2 takes it at once and
    /// is then reset if the client does not, so that nothing else of the request is held for it.
    pub async fn send_refusal(&mut self, bytes: &[u8]) -> io::Result<()> {
        if let Some(stream) = self.http2() {
            stream.begin_refusal(REFUSAL_TIMEOUT);
        }
        timeout(REFUSAL_TIMEOUT, self.send(bytes)).await?
    }

    /// Writes all of these bytes, or fails when the client takes nothing for too long.
    pub async fn send(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.wait_for_taking();
        let mut sent = 0;
        std::future::poll_fn(|context| {
            while let Some(rest) = bytes.get(sent..).filter(|rest| !rest.is_empty()) {
                match Pin::new(&mut *self).poll_write(context, rest) {
                    Poll::Ready(Ok(0)) => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
                    Poll::Ready(Ok(written)) => sent += written,
                    Poll::Ready(Err(error)) => return Poll::Ready(Err(error)),
                    Poll::Pending => return self.poll_overdue(context).map(Err),
                }
            }
            match Pin::new(&mut *self).poll_flush(context) {
                Poll::Pending => self.poll_overdue(context).map(Err),
                flushed @ Poll::Ready(_) => flushed,
            }
        })
        .await
    }
}
