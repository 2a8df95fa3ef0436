//! Who calls: what the key's text alone proves. Its record, and with it the meter, says the rest.

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
