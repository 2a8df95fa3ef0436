//! Bodies of unstated length are counted while they pass.

use bytes::Bytes;
use pingora_core::{Error, ErrorType, Result};
use shared::request::too_large;

use crate::{ctx::RequestCtx, state::State};

/// Counts a piece of the body, and ends the request when there was too much of it.
pub fn count(state: &State, piece: Option<&Bytes>, ctx: &mut RequestCtx) -> Result<()> {
    let (Some(piece), Some(call)) = (piece, &ctx.call) else { return Ok(()) };
    let limit = state.pool(call.tool).config.settings.max_body;
    ctx.body = ctx.body.saturating_add(u64::try_from(piece.len()).unwrap_or(u64::MAX));
    if ctx.body <= limit {
        return Ok(());
    }
    ctx.problem = Some(too_large(limit));
    Err(Error::new_down(ErrorType::Custom("BodyTooLarge")))
}
