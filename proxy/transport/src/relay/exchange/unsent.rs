//! The bytes of one direction that were received and not sent yet.
//!
//! A transfer counts what it has received, because that decides what is read next. Only what was
//! sent decides that it is complete: the last bytes of a body may wait here for a slow receiver
//! long after they were received.

use std::io;
use std::task::{Context, Poll, ready};

use tokio::io::AsyncWrite;

use crate::framing::Framing;
use crate::pipe::{self, Pipe, PipePool};
use crate::relay::write_buf::WriteBuf;
use crate::splice_end::SpliceEnd;

/// Minimum length of the rest of a body that is spliced. Below, the pipe costs more than the copy.
const MIN_LENGTH: u64 = 64 << 10;

/// The bytes of one direction that were received and not sent yet: those of a buffer, and after
/// them those of a pipe.
#[derive(Debug, Default)]
pub(crate) struct Unsent {
    pub(super) buffer: WriteBuf,
    /// The pipe, while it holds bytes.
    pipe: Option<Pipe>,
    splice: SpliceState,
    /// Whether the receiver has taken bytes from the pipe since the last check.
    has_progressed: bool,
}

/// Proof that the receiver has taken everything that was received. Only [`Unsent::poll_send`] makes
/// one, so that neither a transfer is complete nor a pipe is filled while bytes wait.
#[derive(Debug, PartialEq, Eq)]
#[must_use]
pub(crate) struct AllSent(());

/// Whether a body is spliced.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum SpliceState {
    /// Not yet.
    #[default]
    Copying,
    /// It is, to its end.
    Splicing,
    /// It cannot be.
    Refused,
}

/// The result of moving bytes from a sender into the pipe.
#[derive(Debug)]
pub(super) enum Filled {
    /// So many bytes, at least one.
    Bytes(usize),
    /// None, because the sender has closed the connection.
    SenderClosed,
    /// None: the next bytes must be copied.
    Copy,
}

/// The connection that the bytes are sent to.
pub(super) trait Receiver: AsyncWrite + Unpin {
    /// Returns the connection if the kernel can move bytes to it.
    fn splice_end(&self) -> Option<&dyn SpliceEnd>;

    /// Records bytes that the kernel has moved to the connection.
    fn record_spliced(&mut self, bytes: usize);
}

impl Unsent {
    /// Returns a request or a response that begins with these bytes.
    pub(super) fn new(bytes: Vec<u8>) -> Self {
        Self { buffer: WriteBuf::new(bytes), ..Self::default() }
    }

    /// Returns true if bytes wait for the receiver.
    pub(super) const fn is_blocked(&self) -> bool {
        self.buffer.is_blocked() || self.pipe.is_some()
    }

    /// Returns true if the receiver has taken bytes since the last call.
    pub(super) const fn take_progress(&mut self) -> bool {
        std::mem::replace(&mut self.has_progressed, false) | self.buffer.take_progress()
    }

    /// Returns the number of bytes of a body that wait for the receiver.
    pub(super) fn body_bytes(&self, is_chunked: bool) -> usize {
        self.buffer.unsent_body(is_chunked) + self.pipe.as_ref().map_or(0, Pipe::held)
    }

    /// Completes when the receiver has taken everything.
    pub(super) fn poll_send<R: Receiver>(
        &mut self,
        to: &mut R,
        pipes: &PipePool,
        context: &mut Context<'_>,
    ) -> Poll<io::Result<AllSent>> {
        loop {
            // The head goes first: what is in the pipe follows it.
            ready!(self.buffer.poll_flush_to(to, context))?;
            let Some(pipe) = &mut self.pipe else { return Poll::Ready(Ok(AllSent(()))) };
            // The pipe stays here whatever happens, because its bytes are not sent.
            match to.splice_end().map(|end| end.poll_drain(pipe, context)) {
                // Polled again, a receiver that takes nothing would keep the thread busy for ever.
                Some(Poll::Ready(Ok(0))) => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
                Some(Poll::Ready(Ok(sent))) => {
                    self.has_progressed = true;
                    to.record_spliced(sent);
                }
                Some(Poll::Ready(Err(error))) if !pipe::is_refusal(&error) => return Poll::Ready(Err(error)),
                Some(Poll::Ready(Err(_))) | None => {
                    self.splice = SpliceState::Refused;
                    // Dropped with the pipe, these bytes would be missing in the middle of the
                    // body.
                    pipe.read_to(&mut self.buffer.bytes)?;
                }
                Some(Poll::Pending) => return Poll::Pending,
            }
            if let Some(pipe) = self.pipe.take_if(|pipe| pipe.held() == 0) {
                pipes.keep(pipe);
            }
        }
    }

    /// Moves up to as many bytes as the body has from a sender into the pipe.
    pub(super) fn poll_fill(
        &mut self,
        _: AllSent,
        from: &dyn SpliceEnd,
        pipes: &PipePool,
        body: u64,
        context: &mut Context<'_>,
    ) -> Poll<Filled> {
        // Without a pipe the body is copied. It must not fail because others are spliced.
        let Some(mut pipe) = pipes.take() else { return Poll::Ready(Filled::Copy) };
        self.splice = SpliceState::Splicing;
        match from.poll_fill(&mut pipe, body, context) {
            Poll::Ready(Ok(received)) if received > 0 => {
                self.pipe = Some(pipe);
                Poll::Ready(Filled::Bytes(received))
            }
            Poll::Ready(Err(error)) if pipe::is_refusal(&error) => {
                self.splice = SpliceState::Refused;
                Poll::Ready(Filled::Copy)
            }
            // An error ends the body as the end of the connection does: it is cut in both cases.
            Poll::Ready(_) => Poll::Ready(Filled::SenderClosed),
            Poll::Pending => {
                pipes.keep(pipe);
                Poll::Pending
            }
        }
    }

    /// Returns the length of the rest of a body if it can be spliced.
    pub(super) fn splice_length(&self, body: Framing) -> Option<u64> {
        match (body, self.splice) {
            // To its end, however short the rest: changing back for the last bytes would cost more
            // than it saves.
            (Framing::Length(left), SpliceState::Splicing) if left > 0 => Some(left),
            (Framing::Length(left), SpliceState::Copying) if left >= MIN_LENGTH => Some(left),
            _ => None,
        }
    }
}
