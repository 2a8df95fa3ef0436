//! What the tool is sent. Nothing of ours is added before this point: Pingora has by now removed what the client
//! nominated in `Connection`, so that no client can have our headers taken away.

use std::{fmt::Write as _, time::Instant};

use http::HeaderName;
use pingora_core::{Error, ErrorType, Result};
use pingora_http::RequestHeader;
use pingora_proxy::Session;
use shared::headers::{KEY_ID, REQUEST_ID, TIER, reaches_tool};

use crate::ctx::RequestCtx;

/// Rewrites the client's request into the tool's.
pub async fn request(session: &mut Session, request: &mut RequestHeader, ctx: &mut RequestCtx) -> Result<()> {
    let internal = || Error::new_in(ErrorType::InternalError);
    let call = ctx.call.as_ref().ok_or_else(internal)?;
    let pool = &call.pool;
    let upstream = ctx.place.and_then(|place| pool.upstream(place)).ok_or_else(internal)?;

    let withheld: Vec<HeaderName> =
        request.headers.keys().filter(|name| !reaches_tool(name.as_str())).cloned().collect();
    for name in &withheld {
        request.remove_header(name);
    }
    let target = target(&pool.config.settings.path, &call.action, request.uri.query());
    request.set_raw_path(target.as_bytes())?;
    request.insert_header("host", &upstream.name)?;
    request.insert_header(REQUEST_ID, ctx.request_id.to_string())?;
    request.insert_header(KEY_ID, call.key_id.to_string())?;
    request.insert_header(TIER, call.tier.as_str())?;

    // The tool is connected, so the client may send. The tool itself is not asked: `Expect` is for one hop.
    if ctx.expects_continue {
        session.as_downstream_mut().write_continue_response().await?;
        ctx.expects_continue = false;
    }
    // A request that is sent again is counted anew.
    ctx.body = 0;
    ctx.sent_at = Some(Instant::now());
    Ok(())
}

/// The tool's own path: its pool's prefix, the action, and the query as it was sent.
fn target(prefix: &str, action: &str, query: Option<&str>) -> String {
    let mut target = String::with_capacity(prefix.len() + action.len() + query.map_or(0, str::len) + 2);
    // Writing to a string cannot fail.
    let _written = write!(target, "{prefix}/{action}");
    if let Some(query) = query {
        target.push('?');
        target.push_str(query);
    }
    target
}

#[cfg(test)]
mod tests {
    use super::target;

    #[test]
    fn a_tool_gets_its_action_and_the_query_as_sent() {
        assert_eq!(target("", "generate", None), "/generate");
        assert_eq!(target("/api/v2", "generate", Some("a=%20&b")), "/api/v2/generate?a=%20&b");
        assert_eq!(target("", "a", Some("")), "/a?");
    }
}
