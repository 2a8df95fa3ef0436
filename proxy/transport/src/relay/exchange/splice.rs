//! Moves the rest of a body from one connection to the other in the kernel, where neither has TLS.
//! Everything else that an exchange promises is the same as for a body that is copied.

use std::task::{Context, Poll, ready};

use super::Exchange;
use super::unsent::{AllSent, Filled};
use crate::framing::Framing;
use crate::hooks::Phases;
use crate::socket::splice_end;

impl<P: Phases> Exchange<'_, P> {
    /// Moves bytes of the request's body into the pipe, if it can be spliced.
    pub(super) fn poll_splice_up(&mut self, sent: AllSent, context: &mut Context<'_>) -> Poll<Filled> {
        // Bytes that were read already come first: a splice would send later ones before them.
        let Some(left) = self.up.unsent.splice_length(self.up.body).filter(|_| self.up.read.is_empty())
        else {
            return Poll::Ready(Filled::Copy);
        };
        // Both ends are needed: a pipe that is filled and cannot be drained would have to be copied
        // back.
        let (Some(from), Some(_)) = (self.client.splice_end_of_body(), splice_end(self.upstream)) else {
            return Poll::Ready(Filled::Copy);
        };
        let filled = ready!(self.up.unsent.poll_fill(sent, from, self.pipes, left, context));
        if let Filled::Bytes(received) = filled {
            self.up.body = Framing::Length(left.saturating_sub(received as u64));
            // The product has allowed the length of this body before its first byte.
            self.record.received = self.record.received.saturating_add(received as u64);
            // The kernel moves the bytes past `poll_read`. Uncounted, a client at the minimum rate
            // would be cut.
            self.client.record_received(received);
            self.deadline.record_received(received);
            // What the kernel has moved was never seen here and cannot be sent again.
            self.up.replay = None;
        }
        Poll::Ready(filled)
    }

    /// Moves bytes of the response's body into the pipe, if it can be spliced.
    pub(super) fn poll_splice_down(&mut self, sent: AllSent, context: &mut Context<'_>) -> Poll<Filled> {
        let Some(head) = self.down.head.as_mut().filter(|_| self.down.read.is_empty()) else {
            return Poll::Ready(Filled::Copy);
        };
        let Some(left) = self.down.unsent.splice_length(head.body) else {
            return Poll::Ready(Filled::Copy);
        };
        let (Some(from), Some(_)) = (splice_end(self.upstream), self.client.splice_end()) else {
            return Poll::Ready(Filled::Copy);
        };
        let filled = ready!(self.down.unsent.poll_fill(sent, from, self.pipes, left, context));
        if let Filled::Bytes(received) = filled {
            head.body = Framing::Length(left.saturating_sub(received as u64));
            self.down.body_bytes += received;
        }
        Poll::Ready(filled)
    }
}
