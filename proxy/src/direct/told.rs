//! What clients are told with every answer. Behind an edge the edge tells it.

use std::io::Write as _;

use shared::headers::{CORS, RATE_LIMIT, RATE_LIMIT_POLICY, SERVER_TIMING};

use crate::{ctx::RequestCtx, wire::write_line};

/// Whether a header of a tool's answer gives way to one of the gateway's.
#[must_use]
pub fn replaces(name: &str) -> bool {
    CORS.iter().any(|(ours, _)| ours.eq_ignore_ascii_case(name))
}

/// Writes what is the gateway's to say in a tool's answer, as lines of its head.
pub fn of_a_tool(out: &mut Vec<u8>, ctx: &RequestCtx) {
    for (name, value) in CORS {
        write_line(out, name, value.as_bytes());
    }
    of_the_call(out, ctx);
}

/// Writes what is said in every answer of the gateway's own.
pub fn of_ours(out: &mut Vec<u8>, ctx: &RequestCtx) {
    unread(out);
    of_the_call(out, ctx);
}

/// The same, to a request that could not be read.
pub fn unread(out: &mut Vec<u8>) {
    out.extend_from_slice(b"x-content-type-options: nosniff\r\n");
}

/// How the key stands, where that is known, and how long it took: the gateway's own share, and the tool's. The first is
/// called as the edge calls it, which clients read.
fn of_the_call(out: &mut Vec<u8>, ctx: &RequestCtx) {
    // Writing to a vector cannot fail.
    if let Some(standing) = &ctx.standing {
        let (policy, limit) = (standing.policy(), standing.limit());
        let _written = write!(out, "{RATE_LIMIT_POLICY}: {policy}\r\n{RATE_LIMIT}: {limit}\r\n");
    }
    let whole = ctx.started.instant.elapsed();
    let _written = match ctx.sent_at.zip(ctx.answered_at) {
        Some((sent, answered)) => {
            let tool = answered.duration_since(sent);
            let own = whole.saturating_sub(tool).as_millis();
            write!(out, "{SERVER_TIMING}: edge;dur={own}, origin;dur={}\r\n", tool.as_millis())
        }
        None => write!(out, "{SERVER_TIMING}: edge;dur={}\r\n", whole.as_millis()),
    };
}
