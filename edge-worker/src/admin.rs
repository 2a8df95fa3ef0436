//! Authorization of administrative calls by the admin secret, with a limit on wrong attempts.

use shared::{caller, meter::Attempt, problem::Problem};

use crate::{context::RequestContext, meter_client};

/// The header in which the platform names the client's address.
pub(crate) const CLIENT_ADDRESS: &str = "cf-connecting-ip";

/// Authorizes a call that carries the admin secret in its `Authorization` header.
///
/// # Errors
/// `https-required`, `admin-required`, or as [`check`].
pub(crate) async fn authorize(context: &RequestContext<'_>) -> Result<(), Problem> {
    let secret = caller::bearer(context.request.header("authorization"))?;
    context.address.check_confidential(context.bindings.http_allowed)?;
    check(context, secret).await
}

/// Checks an admin secret. The meter of the client's address counts wrong attempts: after too many,
/// the right secret is refused too.
///
/// # Errors
/// `admin-secret-invalid`, `attempts-exceeded`, `meter-unavailable`.
pub(crate) async fn check(context: &RequestContext<'_>, secret: &str) -> Result<(), Problem> {
    let caller = caller::name(context.request.header(CLIENT_ADDRESS), &context.bindings.signing);
    let right = context.bindings.admin.matches(secret);
    let attempt = if right { Attempt::Right } else { Attempt::Wrong };
    caller::admitted(&meter_client::record_attempt(context, &caller, attempt).await?, right)
}
