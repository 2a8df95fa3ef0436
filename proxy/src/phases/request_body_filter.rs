//! The body on its way to the tool: counted, since its length may be unstated.

use shared::{problem::Problem, request::too_large};

use crate::call::Call;

/// Refuses a body that is longer than its pool allows.
pub(super) fn request_body_filter(call: &Call, received: u64) -> Result<(), Box<Problem>> {
    let most = call.pool.config.settings.max_body;
    if received > most { Err(too_large(most).into()) } else { Ok(()) }
}
