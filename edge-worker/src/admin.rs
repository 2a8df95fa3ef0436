//! Authorization of administrative calls by the admin secret, with a limit on wrong attempts.

use shared::{caller, meter::Attempt, problem::Problem};

use crate::{edge::Edge, meter};

const CLIENT_ADDRESS: &str = "cf-connecting-ip";

/// Authorizes a call that carries the admin secret in its `Authorization` header.
///
/// # Errors
/// `https-required`, `admin-required`, or as [`check`].
pub(crate) async fn authorize(edge: &Edge<'_>) -> Result<(), Problem> {
    let secret = caller::bearer(edge.incoming.header("authorization"))?;
    edge.address.check_confidential(edge.bindings.http_allowed)?;
    check(edge, secret).await
}

/// Checks an admin secret. The meter of the client's address counts wrong attempts: after too many, the
/// right secret is refused too.
///
/// # Errors
/// `admin-secret-invalid`, `attempts-exceeded`, `meter-unavailable`.
pub(crate) async fn check(edge: &Edge<'_>, secret: &str) -> Result<(), Problem> {
    let caller = caller::name(edge.incoming.header(CLIENT_ADDRESS), &edge.bindings.signing);
    let right = edge.bindings.admin.matches(secret);
    let attempt = if right { Attempt::Right } else { Attempt::Wrong };
    caller::admitted(&meter::attempt(edge, &caller, attempt).await?, right)
}
