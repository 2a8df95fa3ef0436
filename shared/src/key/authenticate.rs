//! Authentication by the key's text alone.

use crate::key::{ApiKey, KeyError, VerifiedKey};
use crate::problem::Problem;
use crate::secret::MacKeys;
use crate::url;

/// Verifies the key of a request by checksum and MAC. It needs no I/O, so that garbage and forged
/// keys cost nothing.
///
/// `text` is the value of `X-API-Key`. `confidential` is false if the request could be read on the
/// way.
///
/// # Errors
/// Returns `key-missing` without a text, `https-required` if the request is not confidential,
/// `key-malformed` or `key-invalid`. Whether the key is revoked, disabled or expired is for its
/// record to say.
pub fn authenticate(text: Option<&str>, confidential: bool, keys: &MacKeys) -> Result<VerifiedKey, Problem> {
    let text = text.ok_or(KeyError::Missing)?;
    url::check_confidential(confidential)?;
    Ok(ApiKey::parse(text)?.verify(keys)?)
}
