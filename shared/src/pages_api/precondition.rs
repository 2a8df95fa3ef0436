//! `ETag` and `If-Match` (RFC 9110 section 13.1.1).

use crate::{
    headers::tokens,
    problem::{Code, Problem},
};

/// Returns the entity tag of a version. It is strong: two responses with the same tag are the same
/// byte for byte.
pub(super) fn etag(version: u64) -> String {
    format!("\"v{version}\"")
}

/// Checks `If-Match` against the version that there is.
///
/// # Errors
/// Returns `revision-mismatch` with the current tag.
pub(super) fn check_match(if_match: Option<&str>, version: u64) -> Result<(), Problem> {
    let current = etag(version);
    let Some(given) = if_match else { return Ok(()) };
    if tokens(given.as_bytes()).any(|tag| tag == b"*" || tag == current.as_bytes()) {
        return Ok(());
    }
    let detail = format!(
        "the page was changed since it was read: its ETag is {current} now; read it again and repeat the change"
    );
    Err(Problem::new(Code::RevisionMismatch, detail).with_header("etag", current))
}
