//! Moves the rest of a body from one connection to the other in the kernel, where neither has TLS.
//! Everything else that an exchange promises is the same as for a body that is copied.

use std::task::{Context, Poll, ready};

use super::Exchange;
use crate::framing::Framing;
use crate::hooks::Phases;
use crate::pipe::{self, Pipe, PipePool};
use crate::socket::Socket;

/// Minimum length of the rest of a body that is spliced. Below, the pipe costs more than the copy.
const MIN_LENGTH: u64 = 64 << 10;

/// A body that is spliced, in one direction.
#[derive(Debug, Default)]
pub(super) struct Splice {
    /// The pipe, while it holds bytes.
    pipe: Option<Pipe>,
    /// Whether the receiver has received bytes since the last check.
    has_progressed: bool,
    state: SpliceState,
}

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

/// The result of moving bytes.
#[derive(Debug)]
pub(super) enum Spliced {
    /// The whole body was moved.
    Complete,
    /// The sender has closed the connection before the end of the body.
    SenderClosed,
    /// The receiver has closed the connection.
    ReceiverClosed,
    /// The next bytes must be copied: first these, which were received.
    Copy(Vec<u8>),
}

/// The bytes that one poll has moved.
#[derive(Clone, Copy, Debug, Default)]
struct Moved {
    received: usize,
    sent: usize,
}

impl Splice {
    /// Returns true if bytes wait for the receiver.
    pub(super) fn is_blocked(&self) -> bool {
        self.pipe.is_some()
    }

    /// Returns true if the receiver has received bytes since the last call.
    pub(super) const fn take_progress(&mut self) -> bool {
        std::mem::replace(&mut self.has_progressed, false)
    }

    /// Returns the length of the rest of a body if it can be spliced.
    fn length(&self, body: Framing) -> Option<u64> {
        match (body, self.state) {
            (Framing::Length(left), SpliceState::Splicing) => Some(left),
            (Framing::Length(left), SpliceState::Copying) if left >= MIN_LENGTH => Some(left),
            _ => None,
        }
    }

    /// Moves bytes until the body is complete or a connection blocks. Counts those that are not
    /// received yet in `left`.
    fn poll(
        &mut self,
        pipes: &PipePool,
        [from, to]: [&Socket; 2],
        left: &mut u64,
        moved: &mut Moved,
        context: &mut Context<'_>,
    ) -> Poll<Spliced> {
        self.state = SpliceState::Splicing;
        loop {
            while let Some(pipe) = &mut self.pipe {
                match ready!(to.poll_drain(pipe, context)) {
                    Ok(sent) => moved.sent += sent,
                    Err(error) if pipe::is_refusal(&error) => return Poll::Ready(self.refuse()),
                    Err(_) => return Poll::Ready(Spliced::ReceiverClosed),
                }
                self.has_progressed = true;
                if pipe.held() == 0
                    && let Some(pipe) = self.pipe.take()
                {
                    pipes.keep(pipe);
                }
            }
            if *left == 0 {
                return Poll::Ready(Spliced::Complete);
            }
            let Some(mut pipe) = pipes.take() else { return Poll::Ready(Spliced::Copy(Vec::new())) };
            match from.poll_fill(&mut pipe, *left, context) {
                Poll::Ready(Ok(received)) if received > 0 => {
                    *left = left.saturating_sub(received as u64);
                    moved.received += received;
                    self.pipe = Some(pipe);
                }
                Poll::Ready(Err(error)) if pipe::is_refusal(&error) => {
                    return Poll::Ready(self.refuse());
                }
                Poll::Ready(_) => return Poll::Ready(Spliced::SenderClosed),
                Poll::Pending => {
                    pipes.keep(pipe);
                    return Poll::Pending;
                }
            }
        }
    }

    /// Stops splicing, because the system has refused it.
    fn refuse(&mut self) -> Spliced {
        self.state = SpliceState::Refused;
        let mut received = Vec::new();
        match self.pipe.take().map(|mut pipe| pipe.read_to(&mut received)) {
            Some(Err(_)) => Spliced::SenderClosed,
            Some(Ok(())) | None => Spliced::Copy(received),
        }
    }
}

impl<P: Phases> Exchange<'_, P> {
    /// Splices the rest of the request's body, if it can be.
    pub(super) fn poll_splice_up(&mut self, context: &mut Context<'_>) -> Poll<Spliced> {
        let Some(mut left) = self.up.splice.length(self.up.body).filter(|_| self.up.read.is_empty()) else {
            return Poll::Ready(Spliced::Copy(Vec::new()));
        };
        let (Some(from), Some(to)) = (self.client.socket_of_body(), Socket::of(self.upstream)) else {
            return Poll::Ready(Spliced::Copy(Vec::new()));
        };
        let mut moved = Moved::default();
        let spliced = self.up.splice.poll(self.pipes, [from, to], &mut left, &mut moved, context);
        self.up.body = Framing::Length(left);
        if moved.received > 0 {
            // The product has allowed the length of this body before its first byte.
            self.record.received = self.record.received.saturating_add(moved.received as u64);
            self.client.record_received(moved.received);
            self.deadline.record_received(moved.received);
            self.up.replay = None;
        }
        spliced
    }

    /// Splices the rest of the response's body, if it can be.
    pub(super) fn poll_splice_down(&mut self, context: &mut Context<'_>) -> Poll<Spliced> {
        let body = self.down.head.as_ref().map(|head| head.body).filter(|_| self.down.read.is_empty());
        let Some(mut left) = body.and_then(|body| self.down.splice.length(body)) else {
            return Poll::Ready(Spliced::Copy(Vec::new()));
        };
        let (Some(from), Some(to)) = (Socket::of(self.upstream), self.client.socket()) else {
            return Poll::Ready(Spliced::Copy(Vec::new()));
        };
        let mut moved = Moved::default();
        let spliced = self.down.splice.poll(self.pipes, [from, to], &mut left, &mut moved, context);
        if let Some(head) = &mut self.down.head {
            head.body = Framing::Length(left);
        }
        self.down.body_bytes += moved.received;
        self.client.record_sent(moved.sent);
        spliced
    }
}
