//! A write buffer.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::AsyncWrite;

use crate::framing;

/// A buffer of bytes that are written to a connection.
#[derive(Debug, Default)]
pub(crate) struct WriteBuf {
    /// The bytes to be written. Those before `sent` were written.
    pub(crate) bytes: Vec<u8>,
    sent: usize,
    /// The place where the head ends that is among the bytes, or 0.
    body_at: usize,
    /// Whether the connection may still hold bytes that were written to it.
    unflushed: bool,
    /// Whether the connection has received bytes since the last check.
    has_progressed: bool,
}

impl WriteBuf {
    pub(crate) fn new(bytes: Vec<u8>) -> Self {
        Self { bytes, ..Self::default() }
    }

    /// Completes when everything is written and flushed. The buffer is empty then.
    pub(crate) fn poll_flush_to<W: AsyncWrite + Unpin>(
        &mut self,
        to: &mut W,
        context: &mut Context<'_>,
    ) -> Poll<io::Result<()>> {
        while let Some(rest) = self.bytes.get(self.sent..).filter(|rest| !rest.is_empty()) {
            self.unflushed = true;
            match ready!(Pin::new(&mut *to).poll_write(context, rest))? {
                0 => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
                written => self.sent += written,
            }
            self.has_progressed = true;
        }
        if self.unflushed {
            ready!(Pin::new(to).poll_flush(context))?;
            self.unflushed = false;
        }
        self.bytes.clear();
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
        length(body_until(self.bytes.len())) - length(body_until(self.sent))
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
