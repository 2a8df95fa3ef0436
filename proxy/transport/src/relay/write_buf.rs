//! What is to be written to a connection, as far as its other end takes it.

use std::{
    io,
    pin::Pin,
    task::{Context, Poll, ready},
};

use tokio::io::AsyncWrite;

/// Bytes on their way out.
#[derive(Debug, Default)]
pub(crate) struct WriteBuf {
    /// What was not written yet, and before it what was.
    pub(crate) bytes: Vec<u8>,
    sent: usize,
    /// Whether something was handed to the connection that it may still hold.
    unflushed: bool,
    moved: bool,
}

impl WriteBuf {
    pub(crate) fn new(bytes: Vec<u8>) -> Self {
        Self { bytes, ..Self::default() }
    }

    /// Ready once everything is written and flushed; then it is empty.
    pub(crate) fn poll_empty<W: AsyncWrite + Unpin>(
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
            self.moved = true;
        }
        if self.unflushed {
            ready!(Pin::new(to).poll_flush(context))?;
            self.unflushed = false;
        }
        self.bytes.clear();
        self.sent = 0;
        Poll::Ready(Ok(()))
    }

    /// Whether the other end is who is waited for.
    pub(crate) const fn is_stuck(&self) -> bool {
        self.unflushed
    }

    /// Whether the other end has taken something since this was asked last.
    pub(crate) const fn has_moved(&mut self) -> bool {
        std::mem::replace(&mut self.moved, false)
    }
}
