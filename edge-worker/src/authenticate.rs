//! Who calls: what can be told from the key's text alone. The rest is the meter's to say.

use shared::{
    key::{ApiKey, KeyFault, VerifiedKey},
    problem::Problem,
    request::Head,
    transport::Address,
};

use crate::bindings::Bindings;

/// The key of a request, by checksum and MAC: no I/O, so that garbage and forgeries cost nothing.
///
/// # Errors
/// `https-required` for a key that came over plain http, `key-missing`, `key-malformed`, `key-invalid`.
pub(crate) fn authenticate(
    head: &Head<'_>,
    address: &Address<'_>,
    bindings: &Bindings,
) -> Result<VerifiedKey, Problem> {
    let text = head.api_key.ok_or(KeyFault::Missing)?;
    address.check_confidential(bindings.http_allowed)?;
    Ok(ApiKey::parse(text)?.verify(&bindings.signing)?)
}
