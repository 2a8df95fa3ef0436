//! The body on its way to the tool: counted, since its length may be unstated, and its end is where the tool's time
//! begins.

use std::time::Instant;

use shared::request::too_large;

use crate::{
    client::{Awaited, ClientStream},
    clock::Monotonic,
    ctx::RequestCtx,
    phases::{answer, fail},
};

/// More of a body than its pool takes. What to say of it is in the request's context.
#[derive(Clone, Copy, Debug)]
pub struct TooMuch;

/// Counts so many bytes of the body.
pub fn count(ctx: &mut RequestCtx, length: usize) -> Result<(), TooMuch> {
    let Some(call) = &ctx.call else { return Ok(()) };
    ctx.body = ctx.body.saturating_add(u64::try_from(length).unwrap_or(u64::MAX));
    let most = call.pool.config.settings.max_body;
    if ctx.body > most {
        ctx.problem = Some(too_large(most));
        return Err(TooMuch);
    }
    Ok(())
}

/// The whole request was sent: from now on the tool is waited for. `again` says whether all of it is there to be sent
/// again.
pub fn complete(client: &ClientStream, ctx: &mut RequestCtx, again: bool) {
    let now = Instant::now();
    let complete = *ctx.complete_at.get_or_insert(now);
    if ctx.answered_at.is_some() {
        return answer::goes_on(client, ctx);
    }
    let Some(call) = &ctx.call else { return };
    let settings = &call.pool.config.settings;
    let left = settings.answer_timeout.saturating_sub(now.duration_since(complete));
    if again && fail::may_be_sent_again(call) && settings.try_timeout < left && has_another(ctx, now) {
        client.wait_for(Awaited::Try, settings.try_timeout);
    } else {
        client.wait_for(Awaited::Answer, left);
    }
}

/// Whether an upstream that has used up its try gets the rest of the call's time, since no other may be asked instead.
pub fn has_to_wait_on(client: &ClientStream, ctx: &RequestCtx) -> bool {
    let (Some(call), Some(complete)) = (&ctx.call, ctx.complete_at) else { return false };
    if client.overdue() != Some(Awaited::Try) || call.pool.can_retry(Monotonic::now()) {
        return false;
    }
    let settings = &call.pool.config.settings;
    client.wait_for(Awaited::Answer, settings.answer_timeout.saturating_sub(complete.elapsed()));
    true
}

/// The tool takes nothing of a body that is there: it has as long for it as for an answer.
pub fn wait_for_tool(client: &ClientStream, ctx: &RequestCtx) {
    if ctx.answered_at.is_some() {
        return answer::goes_on(client, ctx);
    }
    if let Some(call) = &ctx.call {
        client.wait_for(Awaited::Answer, call.pool.config.settings.answer_timeout);
    }
}

/// The tool takes the body again: what is waited for is more of it, or more of an answer that has begun.
pub fn wait_for_client(client: &ClientStream, ctx: &RequestCtx) {
    if ctx.answered_at.is_some() {
        answer::goes_on(client, ctx);
    } else {
        client.wait_for_more();
    }
}

/// Whether another upstream could be asked in place of this one.
fn has_another(ctx: &RequestCtx, now: Instant) -> bool {
    let mut tried = ctx.tried;
    if let Some(place) = ctx.place {
        tried.add(place);
    }
    ctx.call.as_ref().is_some_and(|call| call.pool.has_untried(tried, Monotonic::at(now)))
}
