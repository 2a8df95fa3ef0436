//! The clock of the edge.

use shared::time::UnixMillis;
use worker::js_sys::Date;

/// Returns the current time. On Cloudflare the clock advances only with I/O.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "milliseconds since 1970 are a whole number that `f64` holds"
)]
pub(crate) fn now() -> UnixMillis {
    UnixMillis(Date::now() as u64)
}
