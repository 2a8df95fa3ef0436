//! Ids of requests without a grant.

use shared::request_id::RequestId;

/// Returns a random id. Repetition is unlikely. The id is not a secret.
pub(crate) fn random_id() -> RequestId {
    RequestId(fastrand::u128(..).to_be_bytes())
}
