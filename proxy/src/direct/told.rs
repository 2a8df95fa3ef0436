//! What clients are told with every answer. Behind an edge the edge tells it.

use shared::{
    headers::{CORS, HSTS, SERVER_TIMING},
    quota::Standing,
};

use crate::{clock::millis, ctx::RequestCtx, wire::write_line};

/// Whether a header of a tool's answer gives way to one of the gateway's.
#[must_use]
pub fn replaces(name: &str) -> bool {
    CORS.iter().any(|(ours, _)| ours.eq_ignore_ascii_case(name))
}

/// Writes what is the gateway's to say in a tool's answer, as lines of its head. `hsts` says that the tool has said for
/// itself how long clients use TLS.
pub fn of_a_tool(out: &mut Vec<u8>, ctx: &RequestCtx, hsts: bool) {
    if ctx.secure && !hsts {
        write_line(out, HSTS.0, HSTS.1.as_bytes());
    }
    for (name, value) in CORS {
        write_line(out, name, value.as_bytes());
    }
    of_the_call(out, ctx);
}

/// Writes what is said in every answer of the gateway's own.
pub fn of_ours(out: &mut Vec<u8>, ctx: &RequestCtx) {
    unread(out, ctx.secure);
    of_the_call(out, ctx);
}

/// The same, to a request that could not be read.
pub fn unread(out: &mut Vec<u8>, secure: bool) {
    if secure {
        write_line(out, HSTS.0, HSTS.1.as_bytes());
    }
    out.extend_from_slice(b"x-content-type-options: nosniff\r\n");
}

/// How the key stands, where that is known, and how long it took: the gateway's own share, and the tool's. The first is
/// called as the edge calls it, which clients read.
fn of_the_call(out: &mut Vec<u8>, ctx: &RequestCtx) {
    for (name, value) in ctx.standing.iter().flat_map(Standing::headers) {
        write_line(out, name, value.as_bytes());
    }
    let whole = ctx.started.instant.elapsed();
    let tool = ctx.sent_at.zip(ctx.answered_at).map(|(sent, answered)| answered.duration_since(sent));
    let own = whole.saturating_sub(tool.unwrap_or_default());
    out.extend_from_slice(SERVER_TIMING.as_bytes());
    for (name, took) in [(": edge;dur=", Some(own)), (", origin;dur=", tool)] {
        let Some(took) = took else { continue };
        out.extend_from_slice(name.as_bytes());
        out.extend_from_slice(itoa::Buffer::new().format(millis(took)).as_bytes());
    }
    out.extend_from_slice(b"\r\n");
}
