//! Which upstream serves the call.

use pingora_core::{Error, ErrorType, Result, upstreams::peer::HttpPeer};
use shared::{problem::Problem, tool::Tool};

use super::fail;
use crate::{ctx::RequestCtx, state::State};

/// Chooses the first upstream; none that is healthy is a refusal at once.
pub fn first(state: &State, ctx: &mut RequestCtx, tool: Tool) -> Result<(), Problem> {
    ctx.place = state.pool(tool).select(ctx.tried);
    match ctx.place {
        Some(_) => Ok(()),
        None => Err(fail::unavailable(state, tool, "no server of the tool is healthy")),
    }
}

/// How to connect to the chosen upstream.
pub fn peer(state: &State, ctx: &mut RequestCtx) -> Result<Box<HttpPeer>> {
    let call = ctx.call.as_ref().ok_or_else(|| Error::new_in(ErrorType::InternalError))?;
    let pool = state.pool(call.tool);
    if ctx.place.is_none() {
        ctx.place = pool.select(ctx.tried);
    }
    let peer = ctx.place.and_then(|place| pool.upstream(place)).and_then(|upstream| upstream.peer());
    let Some(peer) = peer else {
        ctx.problem = Some(fail::unavailable(state, call.tool, "no server of the tool can be reached"));
        return Err(Error::new_up(ErrorType::ConnectError));
    };
    ctx.tries += 1;
    Ok(Box::new(HttpPeer::clone(&peer)))
}
