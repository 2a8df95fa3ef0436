//! Sends the body of a response. The proxy knows its length, so that it is not checked.

use std::io;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use h2::{Reason, SendStream};

/// A body that is sent.
#[derive(Debug)]
pub(super) struct Sending {
    send: SendStream<Bytes>,
    /// The number of bytes that are left, or `None` if only its end says so.
    left: Option<u64>,
    /// Whether the last write was blocked by flow control.
    stuck: bool,
}

impl Sending {
    /// Returns a body of this length. An empty body has ended with its head.
    pub(super) const fn new(send: SendStream<Bytes>, length: Option<u64>) -> Self {
        Self { send, left: length, stuck: false }
    }

    /// Returns true if the body is complete.
    pub(super) fn is_done(&self) -> bool {
        self.left == Some(0)
    }

    /// Returns true if the last write was blocked by flow control.
    pub(super) const fn is_stuck(&self) -> bool {
        self.stuck
    }

    /// Returns true if exactly so many bytes complete the body.
    pub(super) fn remaining_is(&self, bytes: usize) -> bool {
        self.left == Some(bytes as u64)
    }

    /// Sends some of the bytes. Returns their number, which is at least one.
    pub(super) fn poll_take(&mut self, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let sent = self.poll_send(context, bytes);
        self.stuck = sent.is_pending();
        sent
    }

    /// Sends as many bytes as flow control allows, up to the end of the body.
    fn poll_send(&mut self, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let Self { send, left, .. } = self;
        let wanted = left.map_or(bytes.len(), |left| {
            usize::try_from(left).map_or(bytes.len(), |left| left.min(bytes.len()))
        });
        // h2 assigns window only to what was asked for. Without this, the capacity never comes.
        send.reserve_capacity(wanted);
        let capacity = loop {
            match send.capacity() {
                0 => match ready!(send.poll_capacity(context)) {
                    // A wake-up is no promise: the capacity is asked for again.
                    Some(Ok(_)) => {}
                    Some(Err(error)) => return Poll::Ready(Err(io::Error::other(error))),
                    None => return Poll::Ready(Err(io::ErrorKind::BrokenPipe.into())),
                },
                capacity => break capacity,
            }
        };
        let now = bytes.get(..wanted.min(capacity)).unwrap_or(bytes);
        let rest = left.map(|left| left.saturating_sub(now.len() as u64));
        // With the last bytes: an empty frame for the end alone would cost each response one more
        // frame.
        send.send_data(Bytes::copy_from_slice(now), rest == Some(0)).map_err(io::Error::other)?;
        *left = rest;
        Poll::Ready(Ok(now.len()))
    }

    /// Ends a body without a length.
    ///
    /// # Errors
    /// Returns an error if bytes of a stated length are missing.
    pub(super) fn finish(&mut self) -> io::Result<()> {
        match self.left {
            None => self.send.send_data(Bytes::new(), true).map_err(io::Error::other),
            Some(0) => Ok(()),
            Some(_) => Err(io::ErrorKind::UnexpectedEof.into()),
        }
    }

    /// Completes when the peer resets the stream.
    pub(super) fn poll_reset(&mut self, context: &mut Context<'_>) -> Poll<()> {
        self.send.poll_reset(context).map(|_reason| ())
    }

    /// Resets the stream and drops the data that was not sent.
    pub(super) fn reset(&mut self, reason: Reason) {
        self.send.send_reset(reason);
    }
}
