//! The clock of the edge.

use shared::time::UnixMillis;
use worker::Date;

/// Returns the current time. On Cloudflare the clock advances only with I/O.
pub(crate) fn now() -> UnixMillis {
    UnixMillis(Date::now().as_millis())
}
