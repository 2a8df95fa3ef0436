//! The rule for calls that do not count against the day.

use crate::problem::codes;

/// Returns true if a call that ended with `status` is refunded to its day: the gateway `refused` it
/// after it was counted, or the tool was not available.
///
/// ```
/// use shared::quota::is_uncharged;
///
/// assert!(is_uncharged(503, false) && is_uncharged(413, true));
/// assert!(!is_uncharged(200, false) && !is_uncharged(500, false));
/// ```
pub const fn is_uncharged(status: u16, refused: bool) -> bool {
    refused || status == codes::TOOL_UNAVAILABLE.status()
}
