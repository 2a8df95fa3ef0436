//! Sends an HTTP/1.1 response as HTTP/2. A response that is malformed resets the stream.

use std::io;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use h2::Reason;
use h2::server::SendResponse;
use http::{Response, StatusCode};

use super::head;
use super::sending::{Framing, Sending};

/// A response that is written as HTTP/1.1 and sent as HTTP/2.
#[derive(Debug)]
pub(super) struct ResponseSender {
    /// Whether the response has no body, whatever its headers say, because the request is HEAD.
    head_only: bool,
    state: State,
}

/// The next part of the response.
#[derive(Debug)]
enum State {
    /// The rest of a head.
    Head(SendResponse<Bytes>, Vec<u8>),
    /// The rest of the body.
    Body(Sending),
    /// None: the response is complete.
    Done,
    /// None: sending failed.
    Failed,
}

impl ResponseSender {
    pub(super) const fn new(respond: SendResponse<Bytes>, head_only: bool) -> Self {
        Self { head_only, state: State::Head(respond, Vec::new()) }
    }

    pub(super) const fn is_done(&self) -> bool {
        matches!(self.state, State::Done)
    }

    /// Completes when the client resets the stream.
    pub(super) fn poll_reset(&mut self, context: &mut Context<'_>) -> Poll<()> {
        match &mut self.state {
            State::Head(respond, _) => respond.poll_reset(context).map(|_reason| ()),
            State::Body(sending) => sending.poll_reset(context),
            // h2 has no stream left to ask. Pending would wait for a reset that cannot come.
            State::Done | State::Failed => Poll::Ready(()),
        }
    }

    /// Sends some bytes of the response. Returns their number, which is at least one.
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
            State::Head(respond, _) => respond.send_reset(reason),
            State::Body(sending) => sending.reset(reason),
            State::Done | State::Failed => {}
        }
        self.state = State::Failed;
    }

    /// Ends the response. A body that is delimited by the end of the connection is complete then.
    pub(super) fn finish(&mut self) {
        if let State::Body(sending) = &mut self.state {
            match sending.finish() {
                Ok(()) if sending.is_done() => self.state = State::Done,
                // A length or a last chunk is still missing: the body stays open, and the stream is
                // reset when it is dropped.
                Ok(()) => {}
                Err(_) => self.state = State::Failed,
            }
        }
    }

    fn poll_take(&mut self, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        match &mut self.state {
            State::Head(_, head) => {
                let taken = head::take(head, bytes);
                if head::is_complete(head) {
                    self.send_head()?;
                // A response whose head never ends would be collected without bound.
                } else if head.len() > head::MAX_HEAD {
                    return Poll::Ready(Err(malformed("the head of the response is too large")));
                }
                Poll::Ready(Ok(taken))
            }
            State::Body(sending) => {
                let taken = ready!(sending.poll_take(context, bytes))?;
                if sending.is_done() {
                    self.state = State::Done;
                }
                Poll::Ready(Ok(taken))
            }
            State::Done => Poll::Ready(Err(malformed("the response continues after its end"))),
            State::Failed => Poll::Ready(Err(io::ErrorKind::BrokenPipe.into())),
        }
    }

    /// Sends the head.
    fn send_head(&mut self) -> io::Result<()> {
        // Failed until the end: an error on the way must leave no half of a head to go on with.
        let State::Head(mut respond, head) = std::mem::replace(&mut self.state, State::Failed) else {
            return Ok(());
        };
        let (response, framing) =
            read(&head).ok_or_else(|| malformed("the head of the response is malformed"))?;
        if response.status().is_informational() {
            respond.send_informational(response).map_err(io::Error::other)?;
            // An interim response such as 103. The final head is still to come.
            self.state = State::Head(respond, Vec::new());
            return Ok(());
        }
        // These have no body whatever their headers say (RFC 9112, section 6.3). Waiting for one,
        // the stream would never end.
        let none =
            self.head_only || matches!(response.status(), StatusCode::NO_CONTENT | StatusCode::NOT_MODIFIED);
        let framing = if none { Framing::Length(0) } else { framing };
        let end = framing == Framing::Length(0);
        let send = respond.send_response(response, end).map_err(io::Error::other)?;
        self.state = if end { State::Done } else { State::Body(Sending::new(send, framing)) };
        Ok(())
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

/// Parses a head. Returns it without hop-by-hop headers, and the framing of the body.
fn read(head: &[u8]) -> Option<(Response<()>, Framing)> {
    let (first, lines) = head::lines(head)?;
    let (headers, framing) = head::read(lines)?;
    let mut response = Response::new(());
    *response.status_mut() = StatusCode::from_bytes(first.get(9..12)?).ok()?;
    *response.headers_mut() = headers;
    Some((response, framing))
}

fn malformed(reason: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, reason)
}
