//! The body of the request: read from the client, and handed to Pingora.

use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Instant;

use bytes::{Bytes, BytesMut};
use tokio_util::io::poll_read_buf;

use super::{Aborted, Exchange, Forward};
use crate::hooks::Phases;
use crate::relay::exchange::ExchangeError;

/// Size of one read of a body.
const READ_SIZE: usize = 64 << 10;
/// Maximum length of a body that is kept to be sent again.
const MAX_REPLAY: usize = 64 << 10;

impl<P: Phases> Exchange<P> {
    /// Starts an attempt on an open connection.
    pub(crate) fn begin_attempt(&mut self) {
        self.record.sent_at = Some(Instant::now());
        let Some(forward) = &mut self.forward else { return };
        forward.is_running = true;
        if let Some(attempt) = &forward.attempt {
            forward.deadline.watch(&attempt.target);
        }
        forward.upload.begin();
        if forward.upload.is_over() {
            return self.request_sent();
        }
        // Only the first attempt takes what was buffered. A retry replays what was kept.
        if !std::mem::replace(&mut forward.upload.is_begun, true) {
            forward.upload.read = BytesMut::from(self.client.take_buffered().as_slice());
        }
        self.arm_upstream();
    }

    /// Records that the next bytes of the body are sent, and arms the timeout of the upstream.
    pub(crate) fn body_sent(&mut self, length: usize) {
        let Some(forward) = &mut self.forward else { return };
        forward.upload.sent = forward.upload.sent.saturating_add(length as u64);
        self.record.received = self.record.received.max(forward.upload.sent);
        if forward.upload.is_over() {
            self.request_sent();
        } else {
            self.arm_upstream();
        }
    }

    /// Returns true if nothing is left to be read of the request.
    pub(crate) fn is_body_done(&self) -> bool {
        let is_done = |forward: &Forward| forward.upload.is_over() || forward.download.is_over;
        self.forward.as_ref().is_none_or(is_done)
    }

    /// Reads the next piece of the body, or `None` at its end.
    pub(crate) fn poll_body(&mut self, context: &mut Context<'_>) -> Poll<Result<Option<Bytes>, Aborted>> {
        self.is_watched = true;
        loop {
            let Some(forward) = &mut self.forward else { return Poll::Ready(Ok(None)) };
            if let Some(data) = forward.upload.replay.take() {
                return Poll::Ready(Ok(Some(data)));
            }
            let Ok(data) = forward.upload.take() else {
                forward.error = Some(ExchangeError::ClientMalformed);
                return Poll::Ready(Err(Aborted));
            };
            forward.upload.received += data.len() as u64;
            let announced = forward.upload.received.saturating_add(forward.upload.body.announced());
            if let Some(call) = &self.call
                && let Err(problem) = self.phases.request_body_filter(call, announced)
            {
                forward.error = Some(ExchangeError::BodyRefused(problem));
                return Poll::Ready(Err(Aborted));
            }
            if !data.is_empty() {
                // Over HTTP/2 a server can say that it has processed nothing, so even a POST is
                // kept (RFC 9113, section 8.7).
                let is_replayable = forward.is_http2 || forward.request.is_idempotent;
                match &mut forward.upload.kept {
                    Some(kept) if is_replayable && kept.len() + data.len() <= MAX_REPLAY => {
                        kept.extend_from_slice(&data);
                    }
                    // Kept in part, the body would be sent again with a piece missing.
                    kept => *kept = None,
                }
                return Poll::Ready(Ok(Some(data.freeze())));
            }
            if forward.upload.body.is_over() || forward.download.is_over {
                return Poll::Ready(Ok(None));
            }
            self.arm_upload();
            let Some(forward) = &mut self.forward else { return Poll::Ready(Ok(None)) };
            forward.upload.read.reserve(READ_SIZE);
            match poll_read_buf(Pin::new(&mut *self.client), context, &mut forward.upload.read) {
                Poll::Ready(Ok(0)) if forward.upload.body.end() => return Poll::Ready(Ok(None)),
                Poll::Ready(Ok(0) | Err(_)) => return Poll::Ready(Err(self.fail_client())),
                Poll::Ready(Ok(read)) => forward.deadline.record_received(read),
                Poll::Pending => {
                    let timeout = ready!(self.poll_deadline(context));
                    return Poll::Ready(Err(self.fail_with(ExchangeError::UpstreamTimedOut(timeout))));
                }
            }
        }
    }
}
