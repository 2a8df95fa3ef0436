//! Authentication by the key's text alone. The key's record and its meter decide the rest.

use shared::key::{self, VerifiedKey};
use shared::problem::Problem;

use crate::context::RequestContext;

/// Verifies the key of a request: see [`key::authenticate`].
///
/// # Errors
/// As [`key::authenticate`].
pub(crate) fn authenticate(context: &RequestContext<'_>) -> Result<VerifiedKey, Problem> {
    let is_confidential = context.address.is_confidential(context.bindings.http_allowed);
    key::authenticate(context.head.api_key, is_confidential, &context.bindings.signing)
}
