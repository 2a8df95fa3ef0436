//! Authentication by the key's text alone, or by the cookie of the console. The key's record and its meter decide the
//! rest.
//!
//! Why: docs/decisions/keys.md, "A meter decides about a key that KV does not know".

use shared::key::{self, VerifiedKey};
use shared::problem::Problem;
use shared::url;

use crate::context::RequestContext;

/// Verifies the key of a request: see [`key::authenticate`]. Whether a session has ended is for the meter to say, to
/// which every message goes in it.
///
/// # Errors
/// As [`key::authenticate`].
pub(crate) fn authenticate(context: &RequestContext<'_>) -> Result<VerifiedKey, Problem> {
    let is_confidential = context.address.is_confidential(context.bindings.http_allowed);
    if let Some(session) = context.session {
        // A cookie that came in the clear may have been read on the way, like a key.
        url::check_confidential(is_confidential)?;
        return Ok(session.key);
    }
    key::authenticate(context.head.api_key, is_confidential, &context.bindings.signing)
}
