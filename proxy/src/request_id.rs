//! Ids of requests that no grant names.

use shared::request_id::RequestId;

/// Returns a random id. It has to be unlikely to repeat, not hard to guess.
#[must_use]
pub fn random_id() -> RequestId {
    RequestId(fastrand::u128(..).to_be_bytes())
}
