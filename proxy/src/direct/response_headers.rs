//! The headers that direct mode adds to every response. Behind an edge, the edge adds them.

use std::time::{Duration, Instant};

use shared::{
    headers::{CORS, HSTS, SERVER_TIMING},
    quota::Standing,
};

use crate::{clock::millis, wire::write_line};

/// The facts about a request that its response headers show.
#[derive(Clone, Copy)]
pub struct ResponseInfo<'a> {
    /// Whether the request came over TLS.
    pub is_tls: bool,
    /// The quota of the key, if it is known.
    pub quota: Option<&'a Standing>,
    /// When the head of the request was complete.
    pub started: Instant,
    /// The time from sending the request to a tool until its response began.
    pub tool_time: Option<Duration>,
}

/// Returns true if the gateway replaces this header of a tool's response by its own.
pub fn is_replaced(name: &str) -> bool {
    CORS.iter().any(|(ours, _)| ours.eq_ignore_ascii_case(name))
}

/// Writes the gateway's header lines into a tool's response. `has_hsts` says that the tool has set
/// `Strict-Transport-Security` itself.
pub fn write_relayed(out: &mut Vec<u8>, info: ResponseInfo<'_>, has_hsts: bool) {
    if info.is_tls && !has_hsts {
        write_line(out, HSTS.0, HSTS.1.as_bytes());
    }
    for (name, value) in CORS {
        write_line(out, name, value.as_bytes());
    }
    write_quota_and_timing(out, info);
}

/// Writes the header lines of a response that the gateway generates.
pub fn write_own(out: &mut Vec<u8>, info: ResponseInfo<'_>) {
    write_unread(out, info.is_tls);
    write_quota_and_timing(out, info);
}

/// Writes the header lines of a response to a request that could not be parsed.
pub fn write_unread(out: &mut Vec<u8>, is_tls: bool) {
    if is_tls {
        write_line(out, HSTS.0, HSTS.1.as_bytes());
    }
    out.extend_from_slice(b"x-content-type-options: nosniff\r\n");
}

/// Writes the rate-limit headers and `Server-Timing`: the gateway's own share, named `edge` as on
/// the edge because clients read it, and the tool's.
fn write_quota_and_timing(out: &mut Vec<u8>, info: ResponseInfo<'_>) {
    for (name, value) in info.quota.into_iter().flat_map(Standing::headers) {
        write_line(out, name, value.as_bytes());
    }
    let own = info.started.elapsed().saturating_sub(info.tool_time.unwrap_or_default());
    out.extend_from_slice(SERVER_TIMING.as_bytes());
    for (name, took) in [(": edge;dur=", Some(own)), (", origin;dur=", info.tool_time)] {
        let Some(took) = took else { continue };
        out.extend_from_slice(name.as_bytes());
        out.extend_from_slice(itoa::Buffer::new().format(millis(took)).as_bytes());
    }
    out.extend_from_slice(b"\r\n");
}
