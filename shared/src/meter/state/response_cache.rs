//! The responses of the last seconds, so that a retry gets the same one and is counted once.

use serde::{Deserialize, Serialize};

use crate::{
    meter::{LeaseTerms, MeterRequest, MeterResponse, Verdict},
    time::{UnixMillis, UtcDay},
};

/// Time for which a response is kept, in milliseconds.
const KEEP_MS: u64 = 5_000;
/// Maximum number of responses that are kept.
const CAPACITY: usize = 16;

/// The responses of the last seconds, the oldest first.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub(super) struct ResponseCache(Vec<CachedResponse>);

/// The part of a response that a retry gets again. A denial is kept too: the lease cache may have
/// it already when the same request is repeated, and a lease that came with a second response would
/// be lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct CachedResponse {
    at: UnixMillis,
    holder: u64,
    seq: u32,
    verdict: Verdict,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    lease: Option<LeaseTerms>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    recheck_ms: Option<u64>,
    day: UtcDay,
}

impl ResponseCache {
    /// Drops what is too old to be requested again.
    pub(super) fn expire(&mut self, now: UnixMillis) {
        self.0.retain(|cached| now.since(cached.at) < KEEP_MS);
    }

    /// Returns the response to this request, if it is a retry.
    pub(super) fn find(&self, request: &MeterRequest) -> Option<CachedResponse> {
        self.0.iter().find(|cached| (cached.holder, cached.seq) == (request.holder, request.seq)).copied()
    }

    /// Keeps a response. Drops the oldest one if there are too many.
    pub(super) fn store(&mut self, request: &MeterRequest, response: &MeterResponse, now: UnixMillis) {
        let &MeterResponse { verdict, lease, recheck_ms, day, .. } = response;
        let &MeterRequest { holder, seq, .. } = request;
        self.0.push(CachedResponse { at: now, holder, seq, verdict, lease, recheck_ms, day });
        let surplus = self.0.len().saturating_sub(CAPACITY);
        self.0.drain(..surplus);
    }

    /// Drops every response, because the record that they were decided by has changed.
    pub(super) fn clear(&mut self) {
        self.0.clear();
    }
}

impl CachedResponse {
    /// Returns the response with the decision that was made before.
    pub(super) fn apply(self, response: MeterResponse) -> MeterResponse {
        let Self { verdict, lease, recheck_ms, day, .. } = self;
        MeterResponse { verdict, lease, recheck_ms, day, ..response }
    }
}
