//! Who may administer keys: whoever presents the admin secret, a limited number of times.

use shared::{
    caller,
    problem::{Code, Problem},
    quota::Decision,
};

use crate::{edge::Edge, meter};

const CLIENT_ADDRESS: &str = "cf-connecting-ip";

/// Lets an administrative call pass that carries the admin secret in its head.
///
/// # Errors
/// `https-required`, `admin-required`, or as [`check`].
pub(crate) async fn authorize(edge: &Edge<'_>) -> Result<(), Problem> {
    let secret = caller::bearer(edge.incoming.header("authorization"))?;
    edge.address.check_confidential(edge.bindings.http_allowed)?;
    check(edge, secret).await
}

/// Compares an admin secret. The attempt is counted first: of secrets presented at the same moment no more are
/// compared than may be.
///
/// # Errors
/// `admin-secret-invalid`, `attempts-exceeded`, `meter-unavailable`.
pub(crate) async fn check(edge: &Edge<'_>, secret: &str) -> Result<(), Problem> {
    let caller = caller::name(edge.incoming.header(CLIENT_ADDRESS), &edge.bindings.signing);
    match meter::begin_attempt(edge, &caller).await? {
        Decision::Deny(denial, _) => Err(caller::attempts_exceeded(&denial)),
        Decision::Allow(_) if edge.bindings.admin.matches(secret) => {
            meter::end_attempt(edge, caller);
            Ok(())
        }
        Decision::Allow(_) => Err(Problem::new(Code::AdminSecretInvalid, "the admin secret is wrong")),
    }
}
