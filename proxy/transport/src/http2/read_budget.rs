//! A connection that reads a limited number of bytes before the requests in them are started,
//! because h2 decodes all heads that it can read and holds them until they are accepted. Its frames
//! are read along.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};

use pingora::protocols::Stream;
use tokio::io::{AsyncRead, ReadBuf};

use super::trailers::FrameReader;
use crate::delegate::delegate_write;

/// A connection that reads nothing after its budget is spent.
pub(super) struct BudgetedStream {
    stream: Stream,
    budget: Arc<ReadBudget>,
    frames: FrameReader,
}

/// The number of bytes that can be read until the budget is renewed.
pub(super) struct ReadBudget(AtomicUsize);

impl ReadBudget {
    /// Returns a budget of so many bytes.
    pub(super) fn new(bytes: usize) -> Arc<Self> {
        Arc::new(Self(AtomicUsize::new(bytes)))
    }

    /// Sets the budget to so many bytes if it is spent. Returns true if it was: then the reader
    /// must be polled again.
    pub(super) fn renew(&self, bytes: usize) -> bool {
        let is_spent = self.0.load(Ordering::Relaxed) == 0;
        if is_spent {
            self.0.store(bytes, Ordering::Relaxed);
        }
        is_spent
    }
}

impl BudgetedStream {
    /// Returns a connection whose frames are read along by `frames`.
    pub(super) fn new(stream: Stream, budget: &Arc<ReadBudget>, frames: FrameReader) -> Self {
        Self { stream, budget: Arc::clone(budget), frames }
    }
}

impl AsyncRead for BudgetedStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let left = self.budget.0.load(Ordering::Relaxed);
        // No waker is registered: whoever renews the budget polls again.
        if left == 0 {
            return Poll::Pending;
        }
        let before = buffer.filled().len();
        let polled = Pin::new(&mut self.stream).poll_read(context, buffer);
        let read = buffer.filled().get(before..).unwrap_or_default();
        self.frames.read(read);
        self.budget.0.store(left.saturating_sub(read.len()), Ordering::Relaxed);
        polled
    }
}

delegate_write!(BudgetedStream, stream);

#[cfg(test)]
mod tests {
    use std::future::poll_fn;

    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, duplex};

    use super::*;

    #[tokio::test]
    async fn connection_reads_no_more_than_its_budget() {
        let (mut client, server) = duplex(1 << 10);
        client.write_all(&[1; 100]).await.unwrap();
        let budget = ReadBudget::new(64);
        let mut stream =
            BudgetedStream::new(Box::new(server) as Stream, &budget, FrameReader::new(0, &Arc::default()));
        let mut space = [0; 40];
        // A read that starts within the budget is not cut.
        assert_eq!(stream.read(&mut space).await.unwrap(), 40);
        assert!(!budget.renew(64));
        assert_eq!(stream.read(&mut space).await.unwrap(), 40);
        let mut buffer = ReadBuf::new(&mut space);
        let is_pending = poll_fn(|context| {
            Poll::Ready(Pin::new(&mut stream).poll_read(context, &mut buffer).is_pending())
        });
        assert!(is_pending.await);
        assert!(budget.renew(64));
        assert_eq!(stream.read(&mut space).await.unwrap(), 20);
    }
}
