//! The tool has begun to answer.

use std::time::Instant;

use crate::{client::ClientStream, clock::Monotonic, ctx::RequestCtx, phases::fail, state::State};

/// The tool has begun: from now on it is to go on. What its answer costs the key is settled before the client has it.
pub fn begun(state: &State, client: &ClientStream, ctx: &mut RequestCtx, status: u16) {
    let now = Instant::now();
    ctx.answered_at = Some(now);
    goes_on(client, ctx);
    fail::ended(state, ctx, false, Monotonic::at(now));
    settle(state, ctx, status);
}

/// In direct mode, notes how the call ends: the next call, which the client may make as soon as it has this answer, finds
/// the key as it then stands.
pub fn settle(state: &State, ctx: &RequestCtx, status: u16) {
    if let (Some(direct), Some(call), Some(day)) = (&state.direct, &ctx.call, ctx.charged) {
        direct.settle(&call.key_id, call.tool, day, status, ctx.refusal.is_some());
    }
}

/// From now on the tool is to go on with its answer.
pub fn goes_on(client: &ClientStream, ctx: &RequestCtx) {
    if let Some(call) = &ctx.call {
        client.wait_for_rest(call.pool.config.settings.pause_timeout);
    }
}
