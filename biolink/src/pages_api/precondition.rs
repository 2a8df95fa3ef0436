//! `ETag` and `If-Match` (RFC 9110 section 13.1.1).

use crate::codes;
use shared::{headers::tokens, problem::Problem};

/// Returns the entity tag of a version, which is another one while the page is suspended. It is
/// strong: two responses with the same tag are the same byte for byte.
pub(super) fn etag(version: u64, is_suspended: bool) -> String {
    format!("\"v{version}{}\"", if is_suspended { "-suspended" } else { "" })
}

/// Checks `If-Match` against the current tag.
///
/// # Errors
/// Returns `revision-mismatch` with the current tag.
pub(super) fn check_match(if_match: Option<&str>, current: String) -> Result<(), Problem> {
    let Some(given) = if_match else { return Ok(()) };
    // A weak tag never matches here (RFC 9110, section 13.1.1).
    if tokens(given.as_bytes()).any(|tag| tag == b"*" || tag == current.as_bytes()) {
        return Ok(());
    }
    let detail = format!(
        "the page was changed since it was read: its ETag is {current} now; read it again and repeat the change"
    );
    Err(Problem::new(codes::REVISION_MISMATCH, detail).with_header("etag", current))
}
