//! The time of day.

use std::time::{SystemTime, UNIX_EPOCH};

use shared::time::UnixMillis;

/// Returns the milliseconds since 1970.
pub(crate) fn unix_millis() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

/// Returns a time of day as text (RFC 3339).
pub(crate) fn rfc3339(unix_millis: u64) -> String {
    UnixMillis(unix_millis).to_rfc3339()
}
