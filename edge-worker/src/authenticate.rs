//! Authentication by the key's text alone. The key's record and its meter decide the rest.

use shared::{key, key::VerifiedKey, problem::Problem, request::Head, transport::Address};

use crate::bindings::Bindings;

/// Verifies the key of a request: see [`key::authenticate`].
///
/// # Errors
/// As [`key::authenticate`].
pub(crate) fn authenticate(
    head: &Head<'_>,
    address: &Address<'_>,
    bindings: &Bindings,
) -> Result<VerifiedKey, Problem> {
    key::authenticate(head.api_key, address.is_confidential(bindings.http_allowed), &bindings.signing)
}
