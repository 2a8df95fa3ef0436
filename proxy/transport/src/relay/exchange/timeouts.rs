//! How long the two ends of an exchange may take. One of them is waited for at a time.

use std::time::Instant;

use super::Exchange;
use crate::{client::Awaited, hooks::Phases};

impl<P: Phases> Exchange<'_, P> {
    /// Records that the whole request was sent, and arms the timeout of the response.
    pub(super) fn request_sent(&mut self) {
        let now = Instant::now();
        let completed = *self.record.completed_at.get_or_insert(now);
        if self.record.responded_at.is_some() {
            return self.arm_pause();
        }
        let left = self.timeouts.response.saturating_sub(now.duration_since(completed));
        match self.timeouts.attempt {
            Some(attempt) if attempt < left && self.is_idempotent && self.up.again.is_some() => {
                self.client.wait_for(Awaited::Attempt, attempt);
            }
            Some(_) | None => self.client.wait_for(Awaited::Response, left),
        }
    }

    /// Arms the timeout of the response again, after the time of this attempt was over.
    pub(super) fn arm_response(&self) {
        let waited = self.record.completed_at.map(|completed| completed.elapsed()).unwrap_or_default();
        self.client.wait_for(Awaited::Response, self.timeouts.response.saturating_sub(waited));
    }

    /// Arms the timeout of an upstream that takes nothing of the body: it has as long as for a response.
    pub(super) fn arm_upstream(&self) {
        if self.record.responded_at.is_some() {
            self.arm_pause();
        } else {
            self.client.wait_for(Awaited::Response, self.timeouts.response);
        }
    }

    /// Arms the timeout of a client whose body is read, unless the response has begun.
    pub(super) fn arm_client(&self) {
        if self.record.responded_at.is_some() {
            self.arm_pause();
        } else {
            self.client.wait_for_more();
        }
    }

    /// Arms the timeout of the next piece of the response.
    pub(super) fn arm_pause(&self) {
        self.client.wait_for_rest(self.timeouts.pause);
    }
}
