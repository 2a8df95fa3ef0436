//! What clients are told with every answer. Behind an edge the edge tells it.

use http::{HeaderValue, header::HeaderName};
use pingora_core::{ErrorType, OrErr, Result};
use pingora_http::ResponseHeader;
use shared::headers::{CORS, SERVER_TIMING};

use crate::ctx::RequestCtx;

/// Adds to a tool's answer what is the gateway's to say.
///
/// # Errors
/// None that can happen: every value is plain text.
pub fn passed(ctx: &RequestCtx, answer: &mut ResponseHeader) -> Result<()> {
    for (name, value) in CORS {
        answer.insert_header(HeaderName::from_static(name), HeaderValue::from_static(value))?;
    }
    both(ctx, answer)
}

/// Adds to an answer of the gateway's own what is said with every one.
///
/// # Errors
/// None that can happen: every value is plain text.
pub fn written(ctx: &RequestCtx, answer: &mut ResponseHeader) -> Result<()> {
    answer.insert_header("x-content-type-options", HeaderValue::from_static("nosniff"))?;
    both(ctx, answer)
}

/// How the key stands, where that is known, and how long it took.
fn both(ctx: &RequestCtx, answer: &mut ResponseHeader) -> Result<()> {
    for (name, value) in ctx.standing.iter().flat_map(shared::quota::Standing::headers) {
        answer.insert_header(HeaderName::from_static(name), plain(value)?)?;
    }
    answer.append_header(SERVER_TIMING, plain(timing(ctx))?)?;
    Ok(())
}

/// The gateway's own share, and the tool's. The first is called as the edge calls it, which clients read.
fn timing(ctx: &RequestCtx) -> String {
    let whole = ctx.started.elapsed();
    match ctx.sent_at.zip(ctx.answered_at) {
        Some((sent, answered)) => {
            let tool = answered.duration_since(sent);
            format!("edge;dur={}, origin;dur={}", whole.saturating_sub(tool).as_millis(), tool.as_millis())
        }
        None => format!("edge;dur={}", whole.as_millis()),
    }
}

fn plain(text: String) -> Result<HeaderValue> {
    HeaderValue::try_from(text).or_err(ErrorType::InternalError, "a header of our own is not plain")
}
