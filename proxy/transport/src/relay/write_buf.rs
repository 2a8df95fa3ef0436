//! A write buffer.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use tokio::io::AsyncWrite;

/// A buffer of bytes that are written to a connection.
#[derive(Debug, Default)]
pub(crate) struct WriteBuf {
    /// The bytes to be written. Those before `sent` were written.
    pub(crate) bytes: Vec<u8>,
    sent: usize,
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
        self.sent = 0;
        Poll::Ready(Ok(()))
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
