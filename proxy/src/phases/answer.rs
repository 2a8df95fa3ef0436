//! What the client gets of the tool's answer.

use std::time::Instant;

use http::HeaderName;
use pingora_core::{Error, ErrorType, Result};
use pingora_http::ResponseHeader;
use pingora_proxy::Session;
use shared::{
    headers::{REQUEST_ID, reaches_client},
    request::MAX_HEADER_BYTES,
};

use crate::{
    client::{self, Awaited},
    ctx::RequestCtx,
    direct::told,
    phases::fail,
    state::State,
};

/// An answer with more than [`MAX_HEADER_BYTES`] of headers.
pub const HEADERS_TOO_LARGE: &str = "AnswerHeadersTooLarge";

/// Takes from the tool's answer what is the gateway's to say, and names the request.
pub fn response(
    state: &State,
    session: &mut Session,
    response: &mut ResponseHeader,
    ctx: &mut RequestCtx,
) -> Result<()> {
    if response.status.is_informational() {
        return Ok(());
    }
    let size = |(name, value): (&HeaderName, &http::HeaderValue)| name.as_str().len() + value.len() + 4;
    if response.headers.iter().map(size).sum::<usize>() > MAX_HEADER_BYTES {
        return Err(Error::new_up(ErrorType::Custom(HEADERS_TOO_LARGE)));
    }
    ctx.answered_at = Some(Instant::now());
    if let (Some(client), Some(call)) = (client::of(session), &ctx.call) {
        client.wait_for(Awaited::RestOfAnswer, call.pool.config.settings.pause_timeout);
    }
    fail::ended(state, ctx, false);
    if state.drain.has_begun() {
        session.set_keepalive(None);
    }
    let withheld: Vec<HeaderName> =
        response.headers.keys().filter(|name| !reaches_client(name.as_str())).cloned().collect();
    for name in &withheld {
        response.remove_header(name);
    }
    if state.direct.is_some() {
        told::passed(ctx, response)?;
    }
    response.insert_header(REQUEST_ID, ctx.request_id.to_string())
}
