//! What clients are told with every answer. Behind an edge the edge tells it.

use shared::{
    headers::{CORS, SERVER_TIMING},
    quota::Standing,
    written::Written,
};

use crate::ctx::RequestCtx;

/// Whether a header of a tool's answer gives way to one of the gateway's.
#[must_use]
pub fn replaces(name: &str) -> bool {
    CORS.iter().any(|(ours, _)| ours.eq_ignore_ascii_case(name))
}

/// What is the gateway's to say in a tool's answer.
pub fn passed(ctx: &RequestCtx) -> impl Iterator<Item = (&'static str, String)> {
    CORS.into_iter().map(|(name, value)| (name, value.to_owned())).chain(both(ctx))
}

/// An answer of the gateway's own with what is said in every one.
#[must_use]
pub fn written(ctx: &RequestCtx, answer: Written) -> Written {
    unread(answer).with_headers(both(ctx))
}

/// The same, to a request that could not be read.
#[must_use]
pub fn unread(answer: Written) -> Written {
    answer.with_headers([("x-content-type-options", "nosniff".to_owned())])
}

/// How the key stands, where that is known, and how long it took.
fn both(ctx: &RequestCtx) -> impl Iterator<Item = (&'static str, String)> {
    ctx.standing.iter().flat_map(Standing::headers).chain([(SERVER_TIMING, timing(ctx))])
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
