//! The timeouts of an exchange. Either the client or the upstream is awaited.

use std::task::{Context, Poll};

use super::{Exchange, Forward};
use crate::clock;
use crate::hooks::{Phases, Timeouts};
use crate::response_deadline::ResponseTimeout;

impl<P: Phases> Exchange<P> {
    /// Completes once when the deadline of the upstream expires.
    pub(super) fn poll_deadline(&mut self, context: &mut Context<'_>) -> Poll<ResponseTimeout> {
        let Some(forward) = &mut self.forward else { return Poll::Pending };
        forward.deadline.poll(&mut self.client, context)
    }

    /// Records that the whole request was sent, and arms the timeout of the response.
    pub(super) fn request_sent(&mut self) {
        let now = clock::instant();
        // That of the first attempt: the timeout of the response is for the call, whatever is
        // retried.
        let completed = *self.record.completed_at.get_or_insert(now);
        if self.record.responded_at.is_some() {
            // The response began before the upload ended. Its pause must not be replaced by the
            // timeout of a start that has happened.
            return self.arm_pause_beside_upload();
        }
        let Some((forward, timeouts)) = timed(&mut self.forward) else { return };
        let left = timeouts.response.saturating_sub(now.duration_since(completed));
        let (timeout, time) = match timeouts.attempt {
            Some(attempt)
                // A timeout of the attempt pays only if another attempt may follow.
                if attempt < left && forward.request.is_idempotent && forward.upload.is_replayable() =>
            {
                (ResponseTimeout::Attempt, attempt)
            }
            Some(_) | None => (ResponseTimeout::Response, left),
        };
        forward.deadline.arm(&mut self.client, timeout, time);
    }

    /// Arms the timeout of the response again, after the attempt timed out.
    pub(super) fn arm_response(&mut self) {
        let waited = self
            .record
            .completed_at
            .map(|completed| clock::instant().duration_since(completed))
            .unwrap_or_default();
        let Some((forward, timeouts)) = timed(&mut self.forward) else { return };
        let left = timeouts.response.saturating_sub(waited);
        forward.deadline.arm(&mut self.client, ResponseTimeout::Response, left);
    }

    /// Arms the timeout of an upstream that reads the body. It is that of the response.
    pub(super) fn arm_upstream(&mut self) {
        let has_responded = self.record.responded_at.is_some();
        let Some((forward, timeouts)) = timed(&mut self.forward) else { return };
        forward.upload.is_awaited = false;
        if has_responded {
            self.arm_pause_beside_upload();
        } else {
            forward.deadline.arm(&mut self.client, ResponseTimeout::Response, timeouts.response);
        }
    }

    /// Arms the timeout of a client that sends its body, unless the response has started.
    pub(super) fn arm_upload(&mut self) {
        let Some(forward) = &mut self.forward else { return };
        // Armed anew by each poll, the deadline would move on and never expire.
        if std::mem::replace(&mut forward.upload.is_awaited, true) {
            return;
        }
        if self.record.responded_at.is_some() {
            self.arm_pause_beside_upload();
        } else {
            forward.deadline.disarm();
            self.client.arm_upload();
        }
    }

    /// Arms the timeout of the next piece of the response after a step of the upload, unless the client is
    /// awaited.
    fn arm_pause_beside_upload(&mut self) {
        // Armed while the client is awaited, the pause cut a client that read slowly, and blamed
        // its upstream.
        if self.forward.as_ref().is_none_or(|forward| !forward.download.is_blocked) {
            self.arm_pause();
        }
    }

    /// Arms the timeout of the next piece of the response.
    pub(super) fn arm_pause(&mut self) {
        let Some((forward, timeouts)) = timed(&mut self.forward) else { return };
        forward.deadline.arm_pause(&mut self.client, timeouts.pause);
    }
}

/// Returns a forwarded call, and the timeouts of its attempt.
fn timed(forward: &mut Option<Forward>) -> Option<(&mut Forward, Timeouts)> {
    let forward = forward.as_mut()?;
    let timeouts = forward.attempt.as_ref()?.timeouts;
    Some((forward, timeouts))
}
