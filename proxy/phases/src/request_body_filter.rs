//! The size limit of request bodies. The length of a body may be unknown until its end.

use shared::problem::Problem;
use shared::request::too_large;

use crate::call::Call;

/// Checks the bytes received so far against the limit of the pool.
///
/// # Errors
/// Returns `body-too-large`.
pub(crate) fn request_body_filter(call: &Call, received: u64) -> Result<(), Box<Problem>> {
    let limit = call.pool.config.settings.max_body;
    if received > limit { Err(too_large(limit).into()) } else { Ok(()) }
}
