//! Authorization of administrative calls by the admin secret, with a limit on wrong attempts.

use shared::caller;
use shared::problem::Problem;

use crate::context::RequestContext;
use crate::gateway::meter_client;
use crate::runtime::client_request::CLIENT_ADDRESS;

/// Authorizes a call that carries the admin secret in its `Authorization` header.
///
/// # Errors
/// `https-required`, `admin-required`, or as [`check`].
pub(crate) async fn authorize(context: &RequestContext<'_>) -> Result<(), Problem> {
    let secret = caller::bearer(context.request.header("authorization"))?;
    // Before the secret is compared: one that went over plain HTTP must not be shown to be right.
    context.address.check_confidential(context.bindings.http_allowed)?;
    check(context, secret).await
}

/// Checks an admin secret. Wrong ones are counted for each client address: after too many, the right
/// secret is refused too.
///
/// # Errors
/// `admin-secret-invalid`, `attempts-exceeded`, `meter-unavailable`.
pub(crate) async fn check(context: &RequestContext<'_>, secret: &str) -> Result<(), Problem> {
    let right = context.bindings.admin()?.matches(secret);
    meter_client::admit_attempt(context, context.request.header(CLIENT_ADDRESS), right).await
}
