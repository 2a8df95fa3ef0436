//! Calls on their way to the log.

use serde::{Deserialize, Serialize};

use super::LoggedCall;
use crate::request_id::RequestId;

/// The calls of one isolate between two messages: the failed ones, and a sample of the others.
///
/// Both are bounded. Of failed calls beyond the bound, those that ended like one of the batch are counted
/// with it (`repeated`), and the rest is counted as dropped. If there are too many successes, every
/// second one is left out, then every second of those that are left, and so on. The request's id decides
/// which ones, so that the sample is fair and each call says for how many it stands.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct CallBatch {
    #[serde(rename = "f", skip_serializing_if = "Vec::is_empty")]
    pub(super) failed: Vec<LoggedCall>,
    #[serde(rename = "s", skip_serializing_if = "Vec::is_empty")]
    pub(super) succeeded: Vec<LoggedCall>,
    #[serde(rename = "d")]
    pub(super) dropped: u32,
    /// How often the sample was halved.
    #[serde(rename = "h")]
    halvings: u32,
}

impl CallBatch {
    /// Maximum number of failed calls.
    pub const MAX_FAILED: usize = 32;
    /// Maximum number of other calls.
    pub const MAX_SUCCEEDED: usize = 16;
    /// A request's place has this many bits.
    const MAX_HALVINGS: u32 = 31;

    /// Returns true if there is no call.
    pub const fn is_empty(&self) -> bool {
        self.failed.is_empty() && self.succeeded.is_empty()
    }

    /// Returns true if a failed call waits. Others can wait for a message that is sent anyway.
    pub const fn has_failed(&self) -> bool {
        !self.failed.is_empty()
    }

    /// Returns true if the batch takes a call with this outcome: a failed one, or one of the sample.
    pub const fn takes(&self, id: RequestId, status: u16) -> bool {
        is_failed(status) || self.is_sampled(id)
    }

    /// Adds a call, if the batch takes it.
    pub fn add(&mut self, call: LoggedCall) {
        if is_failed(call.status) { self.add_failed(call) } else { self.add_succeeded(call) }
    }

    /// Returns the number of calls for which each success stands.
    pub(super) const fn one_of(&self) -> u32 {
        match 1u32.checked_shl(self.halvings) {
            Some(calls) => calls,
            None => u32::MAX,
        }
    }

    fn add_failed(&mut self, call: LoggedCall) {
        // The response of a call can be cut off after it has begun as a success.
        self.succeeded.retain(|other| other.request_id != call.request_id);
        if self.failed.len() < Self::MAX_FAILED {
            self.failed.push(call);
        // A client that repeats one mistake must not push every other failure out.
        } else if let Some(alike) = self.failed.iter_mut().rev().find(|other| other.is_alike(&call)) {
            alike.repeated = alike.repeated.saturating_add(1);
        } else {
            self.dropped = self.dropped.saturating_add(1);
        }
    }

    fn add_succeeded(&mut self, call: LoggedCall) {
        while self.is_sampled(call.request_id) {
            if self.succeeded.len() < Self::MAX_SUCCEEDED {
                return self.succeeded.push(call);
            }
            if self.halvings >= Self::MAX_HALVINGS {
                return;
            }
            self.halvings += 1;
            let halvings = self.halvings;
            // By the same rule as calls to come. Otherwise early calls would be likelier to be in
            // the sample.
            self.succeeded.retain(|other| is_in_sample(other.request_id, halvings));
        }
    }

    const fn is_sampled(&self, id: RequestId) -> bool {
        is_in_sample(id, self.halvings)
    }
}

const fn is_in_sample(id: RequestId, halvings: u32) -> bool {
    id.place().leading_zeros() >= halvings
}

const fn is_failed(status: u16) -> bool {
    status >= 400
}
