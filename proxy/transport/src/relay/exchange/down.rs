//! Sends the response to the client.

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::{Buf as _, BytesMut};
use tokio_util::io::poll_read_buf;

use super::download::Download;
use super::error::ExchangeError;
use super::unsent::{AllSent, Filled};
use super::{Exchange, READ_SIZE};
use crate::clock;
use crate::framing::{self, Framing, LAST_CHUNK};
use crate::hooks::{Cause, Phases};
use crate::outgoing_head::{OutgoingHead, StatusLine};
use crate::relay::head::{self, BodyDelimiter, ResponseFraming};

/// Size of a read before the head of the response is complete.
const HEAD_READ_SIZE: usize = 4 << 10;

impl<P: Phases> Exchange<'_, P> {
    pub(super) fn poll_down(&mut self, context: &mut Context<'_>) -> Poll<Result<AllSent, ExchangeError>> {
        let polled = self.poll_download(context);
        if self.down.unsent.take_progress() {
            self.deadline.record_sent();
        }
        let is_blocked = polled.is_pending() && self.down.unsent.is_blocked();
        // Armed only when the turn changes. Armed by each poll, the deadline would move on and
        // never expire.
        if is_blocked && !self.down.is_blocked {
            self.arm_download();
        } else if self.down.is_blocked && !is_blocked && polled.is_pending() {
            self.arm_pause();
        }
        self.down.is_blocked = is_blocked;
        polled
    }

    /// Writes and reads in turn, until the client or the upstream blocks.
    fn poll_download(&mut self, context: &mut Context<'_>) -> Poll<Result<AllSent, ExchangeError>> {
        loop {
            let sent = match ready!(self.down.unsent.poll_send(self.client, self.pipes, context)) {
                // Received is not sent: when the last bytes were in the pipe and the socket full,
                // 11 of 100 downloads of 4 MiB were cut or hung.
                Ok(sent) if self.down.is_received => {
                    let ended = self.client.end_response();
                    return Poll::Ready(ended.map(|()| sent).map_err(|_| ExchangeError::ClientClosed));
                }
                Ok(sent) => sent,
                Err(_) => return Poll::Ready(Err(ExchangeError::ClientClosed)),
            };
            match self.take_response() {
                Ok(true) => continue,
                Ok(false) => {}
                Err(error) => return Poll::Ready(Err(error)),
            }
            match ready!(self.poll_splice_down(sent, context)) {
                Filled::Bytes(_) => continue,
                Filled::SenderClosed => return Poll::Ready(Err(self.upstream_error(Cause::Terminated))),
                Filled::Copy => {}
            }
            // Calls that wait for their response hold the smaller buffer.
            let size = if self.down.head.is_some() { READ_SIZE } else { HEAD_READ_SIZE };
            self.down.read.reserve(size);
            let polled = poll_read_buf(Pin::new(&mut *self.upstream), context, &mut self.down.read);
            if polled.is_pending() && self.down.head.is_some() && self.down.read.is_empty() {
                // Otherwise a stream of events held 64 KiB for as long as nothing happened.
                self.down.read = BytesMut::new();
            }
            match ready!(polled) {
                Ok(0) if self.may_end_here() => self.end_download(),
                // Not the end: a body with a length or chunks is cut, and passing that on as
                // complete would hide it.
                Ok(0) => return Poll::Ready(Err(self.upstream_error(Cause::Terminated))),
                Ok(_) => {}
                Err(_) => return Poll::Ready(Err(self.upstream_error(Cause::Terminated))),
            }
        }
    }

    /// Returns true if the end of the upstream's connection ends its response.
    fn may_end_here(&self) -> bool {
        self.down.head.as_ref().is_some_and(|head| head.body == Framing::UntilClose)
    }

    fn upstream_error(&self, cause: Cause) -> ExchangeError {
        let has_responded = self.down.head.is_some() || !self.down.read.is_empty();
        ExchangeError::Upstream { cause, has_responded }
    }

    /// Moves received bytes of the response into the write buffer. Returns true if there is
    /// progress to make without waiting.
    fn take_response(&mut self) -> Result<bool, ExchangeError> {
        if self.down.head.is_none() && (!self.take_head()? || self.down.is_received) {
            return Ok(self.down.is_received);
        }
        let Some(head) = &mut self.down.head else { return Ok(true) };
        let has_head = !self.down.unsent.buffer.bytes.is_empty();
        let Ok(part) = head.take_body(&self.down.read) else {
            return Err(self.upstream_error(Cause::Malformed));
        };
        let is_over = head.body.is_over();
        self.down.read.advance(part.skip);
        let Download { read, unsent, delimiter, .. } = &mut self.down;
        match delimiter {
            // Written anew, because an upstream's chunk extensions and trailers are dropped.
            BodyDelimiter::Chunks => {
                framing::write_chunk(&mut unsent.buffer.bytes, read.get(..part.data).unwrap_or_default());
                read.advance(part.data);
            }
            BodyDelimiter::AsStated(_) | BodyDelimiter::Close | BodyDelimiter::EndOfStream => {
                unsent.buffer.append(part.data, read);
            }
        }
        self.down.body_bytes += part.data;
        if is_over {
            self.end_download();
        }
        Ok(has_head || is_over || part.data > 0)
    }

    /// Parses the head of the response and writes it for the client. Returns false if more bytes
    /// are needed.
    fn take_head(&mut self) -> Result<bool, ExchangeError> {
        if self.down.read.is_empty() {
            return Ok(false);
        }
        // A response before the end of the body leaves a part of the body unread.
        let is_last = !self.up.is_complete() || self.phases.drain().is_announced();
        let Download { read, unsent, is_http10, close, delimiter, .. } = &mut self.down;
        let Self { phases, call, record, client, timeouts, deadline, up, .. } = self;
        let (mut is_discarded, mut outgoing, is_http2) = (false, None, client.is_http2_stream());
        let found = head::read_response(read, |head, response| {
            // Before the head is written: afterwards the client would have it, and no retry could
            // replace it.
            is_discarded =
                head.status >= 400 && phases.discard_response(call, record, head.status, up.replay.is_some());
            if is_discarded {
                return;
            }
            *delimiter = head.delimiter(*is_http10, is_http2);
            *close |= is_last || *delimiter == BodyDelimiter::Close;
            record.responded_at = Some(clock::instant());
            deadline.arm_pause(client, timeouts.pause);
            let lines = || response.headers.iter().map(|line| (line.name, line.value));
            let status_line = StatusLine { status: head.status, reason: response.reason.unwrap_or_default() };
            let framing = ResponseFraming { delimiter: *delimiter, close: *close };
            let text = std::mem::take(&mut unsent.buffer.bytes);
            let out = OutgoingHead::new(status_line, is_http2, text);
            outgoing = Some(head::write_response(out, lines, framing, |lines| {
                phases.upstream_response_filter(call, record, head.status, lines);
            }));
        });
        let head = match found {
            Ok(Some(head)) if is_discarded => {
                return Err(ExchangeError::Discarded { status: head.status });
            }
            Ok(Some(head)) => head,
            Ok(None) => return Ok(false),
            Err(cause) => return Err(self.upstream_error(cause)),
        };
        self.down.read.advance(head.length);
        // An informational response is not forwarded. `Expect` is not either, so the client got its
        // `100 Continue` from here.
        if head.status >= 200 {
            let (is_over, length) = (head.body.is_over(), head.body_length());
            self.down.head = Some(head);
            let text = &mut self.down.unsent.buffer.bytes;
            let begun = outgoing.map_or(Ok(()), |head| self.client.begin_response(head, length, text));
            begun.map_err(|_| ExchangeError::ClientClosed)?;
            self.down.unsent.buffer.end_head();
            if is_over {
                self.end_download();
            }
        }
        Ok(true)
    }

    /// Records that the whole response was received.
    fn end_download(&mut self) {
        if self.down.delimiter == BodyDelimiter::Chunks {
            self.down.unsent.buffer.bytes.extend_from_slice(LAST_CHUNK);
        }
        self.down.is_received = true;
    }
}
