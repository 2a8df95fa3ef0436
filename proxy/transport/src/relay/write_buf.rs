//! A write buffer.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::{Buf as _, BytesMut};
use tokio::io::AsyncWrite;

use crate::framing;

/// A buffer of bytes that are written to a connection.
#[derive(Debug, Default)]
pub(crate) struct WriteBuf {
    /// The bytes to be written. Those before `sent` were written.
    pub(crate) bytes: Vec<u8>,
    sent: usize,
    /// The bytes after them that are not written yet. They were moved here, not copied.
    tail: BytesMut,
    /// The place where the head ends that is among the bytes, or 0.
    body_at: usize,
    /// Whether the connection may still hold bytes that were written to it.
    unflushed: bool,
    /// Whether the connection has received bytes since the last check.
    has_progressed: bool,
}

/// Minimum length of bytes that are moved. A write of two pieces costs more than the copy of fewer.
const MIN_MOVED: usize = 8 << 10;

impl WriteBuf {
    pub(crate) fn new(bytes: Vec<u8>) -> Self {
        Self { bytes, ..Self::default() }
    }

    /// Moves the first bytes of a read buffer, a body without chunks, to the end.
    pub(crate) fn append(&mut self, length: usize, from: &mut BytesMut) {
        if self.tail.is_empty() && length >= MIN_MOVED {
            self.tail = from.split_to(length);
            return;
        }
        let bytes = from.get(..length).unwrap_or_default();
        match self.tail.is_empty() {
            true => self.bytes.extend_from_slice(bytes),
            // Before the tail they would overtake it.
            false => self.tail.extend_from_slice(bytes),
        }
        from.advance(length);
    }

    /// Completes when everything is written and flushed. The buffer is empty then.
    pub(crate) fn poll_flush_to<W: AsyncWrite + Unpin>(
        &mut self,
        to: &mut W,
        context: &mut Context<'_>,
    ) -> Poll<io::Result<()>> {
        loop {
            let first = self.bytes.get(self.sent..).unwrap_or_default();
            let to = Pin::new(&mut *to);
            let polled = match (first.is_empty(), self.tail.is_empty()) {
                (true, true) => break,
                (false, true) => to.poll_write(context, first),
                (true, false) => to.poll_write(context, &self.tail),
                (false, false) => {
                    to.poll_write_vectored(context, &[IoSlice::new(first), IoSlice::new(&self.tail)])
                }
            };
            let of_first = first.len();
            self.unflushed = true;
            match ready!(polled)? {
                0 => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
                written => {
                    self.sent += written.min(of_first);
                    self.tail.advance(written.saturating_sub(of_first));
                }
            }
            self.has_progressed = true;
        }
        if self.unflushed {
            ready!(Pin::new(to).poll_flush(context))?;
            self.unflushed = false;
        }
        self.bytes.clear();
        // Empty, it still keeps the reader of the body from using its memory again.
        self.tail = BytesMut::new();
        (self.sent, self.body_at) = (0, 0);
        Poll::Ready(Ok(()))
    }

    /// Marks the end of a head. The bytes after it are those of a body.
    pub(crate) const fn end_head(&mut self) {
        self.body_at = self.bytes.len();
    }

    /// Returns the number of bytes of a body that are not written yet, without the framing of its
    /// chunks.
    pub(crate) fn unsent_body(&self, is_chunked: bool) -> usize {
        let body_until = |end: usize| self.bytes.get(self.body_at..end).unwrap_or_default();
        let length = |bytes: &[u8]| if is_chunked { framing::data_length(bytes) } else { bytes.len() };
        // The log counts bytes of the body that the client got, and neither the head nor the lines
        // between chunks.
        length(body_until(self.bytes.len())) - length(body_until(self.sent)) + self.tail.len()
    }

    /// Returns true if bytes wait for the peer.
    pub(crate) const fn is_blocked(&self) -> bool {
        self.unflushed
    }

    /// Returns true if the peer has received bytes since the last call.
    pub(crate) const fn take_progress(&mut self) -> bool {
        std::mem::replace(&mut self.has_progressed, false)
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;

    use super::*;

    /// A connection that takes at most so many bytes with each write, of one piece or of several.
    struct Receiver {
        received: Vec<u8>,
        most: usize,
        is_vectored: bool,
    }

    impl AsyncWrite for Receiver {
        fn poll_write(
            mut self: Pin<&mut Self>,
            _: &mut Context<'_>,
            bytes: &[u8],
        ) -> Poll<io::Result<usize>> {
            let taken = bytes.len().min(self.most);
            self.received.extend_from_slice(&bytes[..taken]);
            Poll::Ready(Ok(taken))
        }

        fn poll_write_vectored(
            self: Pin<&mut Self>,
            context: &mut Context<'_>,
            pieces: &[IoSlice<'_>],
        ) -> Poll<io::Result<usize>> {
            match self.is_vectored {
                true => {
                    let all: Vec<u8> = pieces.iter().flat_map(|piece| piece.iter().copied()).collect();
                    self.poll_write(context, &all)
                }
                false => self.poll_write(context, pieces.iter().find(|piece| !piece.is_empty()).unwrap()),
            }
        }

        fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Ready(Ok(()))
        }

        fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Ready(Ok(()))
        }
    }

    #[tokio::test]
    async fn bytes_of_a_body_follow_the_head_however_they_were_appended() {
        let pieces: Vec<Vec<u8>> = [10, MIN_MOVED, 3, 3 * MIN_MOVED]
            .iter()
            .zip(0..)
            .map(|(&length, byte)| vec![byte; length])
            .collect();
        for is_vectored in [true, false] {
            for most in [7, MIN_MOVED, MIN_MOVED + 15, usize::MAX] {
                let mut buffer = WriteBuf::new(b"head".to_vec());
                buffer.end_head();
                let mut read = BytesMut::from(pieces.concat().as_slice());
                for piece in &pieces {
                    buffer.append(piece.len(), &mut read);
                }
                assert!(read.is_empty());
                assert_eq!(buffer.unsent_body(false), pieces.concat().len());
                let mut receiver = Receiver { received: Vec::new(), most, is_vectored };
                poll_fn(|context| buffer.poll_flush_to(&mut receiver, context)).await.unwrap();
                assert!(
                    receiver.received == [&b"head"[..], &pieces.concat()].concat(),
                    "{is_vectored} {most}"
                );
                assert_eq!(buffer.unsent_body(false), 0);
            }
        }
    }
}
