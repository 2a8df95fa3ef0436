//! Sends the response of a stream.

use std::io;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use h2::Reason;
use h2::server::SendResponse;
use http::{Response, StatusCode};

use super::sending::Sending;
use crate::outgoing_head::Fields;

/// The response of a stream.
#[derive(Debug)]
pub(super) struct ResponseSender {
    /// Whether the response has no body, whatever its head says, because the request is HEAD.
    head_only: bool,
    state: State,
}

/// The next part of the response.
#[derive(Debug)]
enum State {
    /// The head.
    Head(SendResponse<Bytes>),
    /// The rest of the body.
    Body(Sending),
    /// None: the response is complete.
    Done,
    /// None: sending failed.
    Failed,
}

impl ResponseSender {
    pub(super) const fn new(respond: SendResponse<Bytes>, head_only: bool) -> Self {
        Self { head_only, state: State::Head(respond) }
    }

    pub(super) const fn is_done(&self) -> bool {
        matches!(self.state, State::Done)
    }

    /// Completes when the client resets the stream.
    pub(super) fn poll_reset(&mut self, context: &mut Context<'_>) -> Poll<()> {
        match &mut self.state {
            State::Head(respond) => respond.poll_reset(context).map(|_reason| ()),
            State::Body(sending) => sending.poll_reset(context),
            // h2 has no stream left to ask. Pending would wait for a reset that cannot come.
            State::Done | State::Failed => Poll::Ready(()),
        }
    }

    /// Sends `100 Continue`. The final head is still to come.
    pub(super) fn send_continue(&mut self) -> io::Result<()> {
        let State::Head(respond) = &mut self.state else { return Err(io::ErrorKind::BrokenPipe.into()) };
        let mut response = Response::new(());
        *response.status_mut() = StatusCode::CONTINUE;
        respond.send_informational(response).map_err(io::Error::other)
    }

    /// Sends the head of a response with a body of this length, or one that [`Self::finish`] ends.
    pub(super) fn send_head(&mut self, head: Fields, length: Option<u64>) -> io::Result<()> {
        // Failed until the end: an error on the way must leave no half of a head to continue with.
        let State::Head(mut respond) = std::mem::replace(&mut self.state, State::Failed) else {
            return Err(io::ErrorKind::BrokenPipe.into());
        };
        let Some(response) = head.into_response() else {
            return Err(malformed("the head of the response is malformed"));
        };
        let length = if self.head_only { Some(0) } else { length };
        let end = length == Some(0);
        let send = respond.send_response(response, end).map_err(io::Error::other)?;
        self.state = if end { State::Done } else { State::Body(Sending::new(send, length)) };
        Ok(())
    }

    /// Sends some bytes of the body. Returns their number, which is at least one.
    pub(super) fn poll_write(&mut self, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let mut taken = 0;
        while let Some(rest) = bytes.get(taken..).filter(|rest| !rest.is_empty()) {
            match self.poll_take(context, rest) {
                Poll::Ready(Ok(more)) => taken += more,
                Poll::Ready(Err(error)) => {
                    // What follows would be sent as if nothing was missing.
                    self.state = State::Failed;
                    return Poll::Ready(Err(error));
                }
                // Bytes that were taken must be reported. The waker stays registered, and the next
                // write asks again.
                Poll::Pending => return if taken > 0 { Poll::Ready(Ok(taken)) } else { Poll::Pending },
            }
        }
        Poll::Ready(Ok(taken))
    }

    /// Takes the body out if so many bytes complete it. The response is complete then.
    pub(super) fn take_last(&mut self, bytes: usize) -> Option<Sending> {
        match std::mem::replace(&mut self.state, State::Done) {
            State::Body(sending) if sending.remaining_is(bytes) => Some(sending),
            other => {
                self.state = other;
                None
            }
        }
    }

    /// Resets the stream.
    pub(super) fn reset(&mut self, reason: Reason) {
        match &mut self.state {
            State::Head(respond) => respond.send_reset(reason),
            State::Body(sending) => sending.reset(reason),
            State::Done | State::Failed => {}
        }
        self.state = State::Failed;
    }

    /// Ends a body without a length.
    pub(super) fn finish(&mut self) -> io::Result<()> {
        match std::mem::replace(&mut self.state, State::Done) {
            State::Done => Ok(()),
            State::Body(mut sending) => sending.finish().inspect_err(|_| self.state = State::Failed),
            other @ (State::Head(_) | State::Failed) => {
                self.state = other;
                Err(io::ErrorKind::BrokenPipe.into())
            }
        }
    }

    fn poll_take(&mut self, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        match &mut self.state {
            State::Body(sending) => {
                let taken = ready!(sending.poll_take(context, bytes))?;
                if sending.is_done() {
                    self.state = State::Done;
                }
                Poll::Ready(Ok(taken))
            }
            State::Done => Poll::Ready(Err(malformed("the response continues after its end"))),
            State::Head(_) | State::Failed => Poll::Ready(Err(io::ErrorKind::BrokenPipe.into())),
        }
    }
}

impl Drop for ResponseSender {
    /// Resets the stream of a response that is not complete. h2 would send the reset after the
    /// buffered data, where a client that receives nothing would never see it.
    fn drop(&mut self) {
        if let State::Body(sending) = &mut self.state
            && sending.is_stuck()
        {
            sending.reset(Reason::INTERNAL_ERROR);
        }
    }
}

fn malformed(reason: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, reason)
}
