//! A connection of which only so much is read before what has come is looked at: the library decodes all heads that it can
//! read, and holds them until they are accepted.

use std::{
    io,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    task::{Context, Poll},
};

use pingora_core::protocols::Stream;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// The connection. It reads nothing after a turn is over.
pub(super) struct Turns {
    stream: Stream,
    turn: Arc<Turn>,
}

/// What may be read until the next turn begins.
pub(super) struct Turn(AtomicUsize);

impl Turn {
    /// A turn of so many bytes.
    pub(super) fn new(bytes: usize) -> Arc<Self> {
        Arc::new(Self(AtomicUsize::new(bytes)))
    }

    /// Begins the next turn, of so many bytes, if this one is over. Returns true if it was: whoever reads must be polled
    /// again then.
    pub(super) fn renew(&self, bytes: usize) -> bool {
        let is_over = self.0.load(Ordering::Relaxed) == 0;
        if is_over {
            self.0.store(bytes, Ordering::Relaxed);
        }
        is_over
    }
}

impl Turns {
    pub(super) fn new(stream: Stream, turn: &Arc<Turn>) -> Self {
        Self { stream, turn: Arc::clone(turn) }
    }
}

impl AsyncRead for Turns {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let left = self.turn.0.load(Ordering::Relaxed);
        if left == 0 {
            return Poll::Pending;
        }
        let before = buffer.filled().len();
        let read = Pin::new(&mut self.stream).poll_read(context, buffer);
        self.turn.0.store(left.saturating_sub(buffer.filled().len() - before), Ordering::Relaxed);
        read
    }
}

impl AsyncWrite for Turns {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        pieces: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(context, pieces)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;

    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, duplex};

    use super::*;

    #[tokio::test]
    async fn connection_reads_no_more_than_a_turn() {
        let (mut client, server) = duplex(1 << 10);
        client.write_all(&[1; 100]).await.unwrap();
        let turn = Turn::new(64);
        let mut turns = Turns::new(Box::new(server) as Stream, &turn);
        let mut space = [0; 40];
        // A read that begins within the turn is not cut.
        assert_eq!(turns.read(&mut space).await.unwrap(), 40);
        assert!(!turn.renew(64));
        assert_eq!(turns.read(&mut space).await.unwrap(), 40);
        let mut buffer = ReadBuf::new(&mut space);
        let is_pending =
            poll_fn(|context| Poll::Ready(Pin::new(&mut turns).poll_read(context, &mut buffer).is_pending()));
        assert!(is_pending.await);
        assert!(turn.renew(64));
        assert_eq!(turns.read(&mut space).await.unwrap(), 20);
    }
}
