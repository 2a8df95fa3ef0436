//! The body on its way to the tool: counted, since its length may be unstated, and its end is where the tool's time
//! begins.

use std::time::Instant;

use bytes::Bytes;
use pingora_core::{Error, ErrorType, Result};
use pingora_proxy::Session;
use shared::request::too_large;

use crate::{
    client::{self, Awaited},
    clock::Monotonic,
    ctx::RequestCtx,
    phases::fail,
};

/// Takes note of a piece of the body, and ends the request when there was too much of it.
pub fn piece(session: &Session, piece: Option<&Bytes>, end: bool, ctx: &mut RequestCtx) -> Result<()> {
    let Some(call) = &ctx.call else { return Ok(()) };
    let settings = &call.pool.config.settings;
    let length = piece.map_or(0, Bytes::len);
    ctx.body = ctx.body.saturating_add(u64::try_from(length).unwrap_or(u64::MAX));
    if ctx.body > settings.max_body {
        ctx.problem = Some(too_large(settings.max_body));
        return Err(Error::new_down(ErrorType::Custom("BodyTooLarge")));
    }
    if let Some(client) = client::of(session).filter(|_| end) {
        let complete = *ctx.complete_at.get_or_insert_with(Instant::now);
        let left = settings.answer_timeout.saturating_sub(complete.elapsed());
        if fail::may_be_sent_again(call) && settings.try_timeout < left && has_another(ctx) {
            client.wait_for(Awaited::Try, settings.try_timeout);
        } else {
            client.wait_for(Awaited::Answer, left);
        }
    }
    Ok(())
}

/// Whether another upstream could be asked in place of this one.
fn has_another(ctx: &RequestCtx) -> bool {
    let mut tried = ctx.tried;
    if let Some(place) = ctx.place {
        tried.add(place);
    }
    ctx.call.as_ref().is_some_and(|call| call.pool.has_another(tried, Monotonic::now()))
}
