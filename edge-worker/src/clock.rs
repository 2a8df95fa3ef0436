//! The only reader of the clock.

use shared::time::UnixMillis;
use worker::Date;

/// The moment it is. On Cloudflare it stands still between one I/O and the next.
pub(crate) fn now() -> UnixMillis {
    UnixMillis(Date::now().as_millis())
}
