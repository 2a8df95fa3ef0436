//! The timeouts of an exchange. Either the client or the upstream is awaited.

use super::Exchange;
use crate::clock;
use crate::hooks::Phases;
use crate::response_deadline::ResponseTimeout;

impl<P: Phases> Exchange<'_, P> {
    /// Records that the whole request was sent, and arms the timeout of the response.
    pub(super) fn request_sent(&mut self) {
        let now = clock::instant();
        // That of the first attempt: the timeout of the response is for the call, whatever is
        // retried.
        let completed = *self.record.completed_at.get_or_insert(now);
        if self.record.responded_at.is_some() {
            // A response that starts before the end of the upload has its own timeout, which was
            // lost here once.
            return self.arm_pause_beside_upload();
        }
        let left = self.timeouts.response.saturating_sub(now.duration_since(completed));
        let (timeout, time) = match self.timeouts.attempt {
            // A timeout of the attempt pays only if another attempt may follow.
            Some(attempt) if attempt < left && self.is_idempotent && self.up.replay.is_some() => {
                (ResponseTimeout::Attempt, attempt)
            }
            Some(_) | None => (ResponseTimeout::Response, left),
        };
        self.deadline.arm(self.client, timeout, time);
    }

    /// Arms the timeout of the response again, after the attempt timed out.
    pub(super) fn arm_response(&mut self) {
        let waited = self
            .record
            .completed_at
            .map(|completed| clock::instant().duration_since(completed))
            .unwrap_or_default();
        let left = self.timeouts.response.saturating_sub(waited);
        self.deadline.arm(self.client, ResponseTimeout::Response, left);
    }

    /// Arms the timeout of an upstream that does not read the body. It is that of the response.
    pub(super) fn arm_upstream(&mut self) {
        if self.record.responded_at.is_some() {
            self.arm_pause_beside_upload();
        } else {
            self.deadline.arm(self.client, ResponseTimeout::Response, self.timeouts.response);
        }
    }

    /// Arms the timeout of a client that sends its body, unless the response has started.
    pub(super) fn arm_upload(&mut self) {
        if self.record.responded_at.is_some() {
            self.arm_pause_beside_upload();
        } else {
            // Both deadlines use one timer. Left armed, that of the upstream would end a call whose
            // client is awaited.
            self.deadline.disarm();
            self.client.arm_upload();
        }
    }

    /// Arms the timeout of a client that receives the response.
    pub(super) fn arm_download(&mut self) {
        self.deadline.disarm();
        self.client.arm_download();
    }

    /// Arms the timeout of the next piece of the response after a step of the upload, unless the client is
    /// awaited: a client that received more than the minimum rate was cut for a pause of the upstream.
    fn arm_pause_beside_upload(&mut self) {
        if !self.down.is_blocked {
            self.arm_pause();
        }
    }

    /// Arms the timeout of the next piece of the response.
    pub(super) fn arm_pause(&mut self) {
        self.deadline.arm_pause(self.client, self.timeouts.pause);
    }
}
