//! Authentication by the key's text alone, or by the cookie of the console. The key's record and its meter decide the
//! rest. Authorization of administrators by their secret, with a limit on wrong attempts.
//!
//! Why: docs/decisions/keys.md, "A meter decides about a key that KV does not know".

use shared::caller;
use shared::key::{self, VerifiedKey};
use shared::problem::Problem;
use shared::url;

use crate::context::RequestContext;
use crate::gateway::meter_client;
use crate::runtime::client_request::CLIENT_ADDRESS;

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

/// Authorizes a call that carries the admin secret in its `Authorization` header.
///
/// # Errors
/// `https-required`, `admin-required`, or as [`check_admin`].
pub(crate) async fn authorize_admin(context: &RequestContext<'_>) -> Result<(), Problem> {
    let secret = caller::bearer(context.request.header("authorization"))?;
    // Before the secret is compared: one that went over plain HTTP must not be shown to be right.
    context.address.check_confidential(context.bindings.http_allowed)?;
    check_admin(context, secret).await
}

/// Checks an admin secret. Wrong ones are counted for each client address: after too many, the right
/// secret is refused too.
///
/// # Errors
/// `admin-secret-invalid`, `attempts-exceeded`, `meter-unavailable`.
pub(crate) async fn check_admin(context: &RequestContext<'_>, secret: &str) -> Result<(), Problem> {
    let right = context.bindings.admin()?.matches(secret);
    meter_client::admit_attempt(context, context.request.header(CLIENT_ADDRESS), right).await
}
