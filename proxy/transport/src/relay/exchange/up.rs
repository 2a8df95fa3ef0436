//! Sends the request to the upstream.

use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Buf as _;
use tokio_util::io::poll_read_buf;

use super::error::ExchangeError;
use super::unsent::Filled;
use super::upload::UploadStage;
use super::{Exchange, READ_SIZE};
use crate::framing::{self, LAST_CHUNK};
use crate::hooks::Phases;

/// Maximum length of a body that is kept for a retry.
const MAX_REPLAY: usize = 64 << 10;

impl<P: Phases> Exchange<'_, P> {
    pub(super) fn poll_up(&mut self, context: &mut Context<'_>) -> Poll<Result<(), ExchangeError>> {
        let polled = self.poll_upload(context);
        let is_blocked = polled.is_pending() && self.up.unsent.is_blocked();
        let has_progressed = self.up.unsent.take_progress();
        // Each byte that it takes renews its time. Otherwise an upstream that reads slowly but
        // steadily was cut off.
        if is_blocked && (has_progressed || !self.up.is_blocked) {
            self.arm_upstream();
        } else if self.up.is_blocked && !is_blocked && polled.is_pending() {
            self.arm_upload();
        }
        self.up.is_blocked = is_blocked;
        polled
    }

    /// Writes and reads in turn, until the upstream or the client blocks.
    fn poll_upload(&mut self, context: &mut Context<'_>) -> Poll<Result<(), ExchangeError>> {
        loop {
            let Ok(sent) = ready!(self.up.unsent.poll_send(self.upstream, self.pipes, context)) else {
                return self.abort_upload();
            };
            // Only after `poll_send`: bytes that wait for the upstream are not sent yet, and the
            // timeout of the response would begin too early.
            if self.up.body.is_over() {
                self.request_sent();
                self.up.stage = UploadStage::Complete(sent);
                return Poll::Ready(Ok(()));
            }
            match ready!(self.poll_splice_up(sent, context)) {
                Filled::Bytes(_) => continue,
                Filled::SenderClosed => return Poll::Ready(Err(self.client_error())),
                Filled::Copy => {}
            }
            self.up.read.reserve(READ_SIZE);
            match ready!(poll_read_buf(Pin::new(&mut *self.client), context, &mut self.up.read)) {
                Ok(0) if self.up.end() => continue,
                Ok(0) | Err(_) => return Poll::Ready(Err(self.client_error())),
                Ok(read) => self.deadline.record_received(read),
            }
            if let Err(error) = self.take_body() {
                return Poll::Ready(Err(error));
            }
        }
    }

    /// Stops the upload. The upstream may have responded before it closed the connection: the
    /// download shows it.
    fn abort_upload(&mut self) -> Poll<Result<(), ExchangeError>> {
        self.arm_upstream();
        self.up.stage = UploadStage::Aborted;
        Poll::Ready(Ok(()))
    }

    /// Moves received bytes of the body into the write buffer.
    pub(super) fn take_body(&mut self) -> Result<(), ExchangeError> {
        let up = &mut self.up;
        let was_over = up.body.is_over();
        let is_replayable = self.is_idempotent;
        loop {
            let part = up.body.take(&up.read).map_err(|_| ExchangeError::ClientMalformed)?;
            up.read.advance(part.skip);
            let data = up.read.get(..part.data).unwrap_or_default();
            self.record.received = self.record.received.saturating_add(data.len() as u64);
            let announced = self.record.received.saturating_add(up.body.announced());
            let filtered = self.phases.request_body_filter(self.call, announced);
            // Before the piece is forwarded, so that no tool gets a byte beyond the limit.
            filtered.map_err(ExchangeError::BodyRefused)?;
            if data.is_empty() {
                break;
            }
            match &mut up.replay {
                Some(replay) if is_replayable && replay.len() + data.len() <= MAX_REPLAY => {
                    replay.extend_from_slice(data)
                }
                // Kept in part, the body would be sent again with a piece missing.
                replay => *replay = None,
            }
            if up.is_chunked {
                framing::write_chunk(&mut up.unsent.buffer.bytes, data);
                up.read.advance(part.data);
            } else {
                up.unsent.buffer.append(part.data, &mut up.read);
            }
        }
        // A retry whose body was read whole has its last chunk already.
        if up.is_chunked && up.body.is_over() && !was_over {
            up.unsent.buffer.bytes.extend_from_slice(LAST_CHUNK);
        }
        Ok(())
    }
}
