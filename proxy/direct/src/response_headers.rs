//! The headers that direct mode adds to every response. Behind an edge, the edge adds them.

use std::time::{Duration, Instant};

use shared::headers::{CORS, DEGRADED, HSTS, SERVER_TIMING};
use shared::quota::QuotaStatus;

use transport::clock::millis;
use transport::hooks::Headers;

/// The facts about a request that its response headers show.
#[derive(Clone, Copy)]
pub struct ResponseInfo<'a> {
    /// Whether the request came over TLS.
    pub is_tls: bool,
    /// The quota of the key, if it is known.
    pub quota: Option<&'a QuotaStatus>,
    /// Whether the call passed on the local budget, because its meter was out of reach.
    pub is_degraded: bool,
    /// The time at which the head of the request was complete.
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
pub fn write_relayed(head: &mut impl Headers, info: ResponseInfo<'_>, has_hsts: bool) {
    // Must not be sent over plain HTTP (RFC 6797, section 7.2), where anybody could have set it.
    if info.is_tls && !has_hsts {
        head.write_header(HSTS.0, HSTS.1.as_bytes());
    }
    for (name, value) in CORS {
        head.write_header(name, value.as_bytes());
    }
    write_quota_and_timing(head, info);
}

/// Writes the header lines of a response that the gateway generates.
pub fn write_own(head: &mut impl Headers, info: ResponseInfo<'_>) {
    if info.is_tls {
        head.write_header(HSTS.0, HSTS.1.as_bytes());
    }
    head.write_header("x-content-type-options", b"nosniff");
    write_quota_and_timing(head, info);
}

/// Writes the rate-limit headers and `Server-Timing`: the gateway's own share, named `edge` as on
/// the edge because clients read it, and the tool's.
fn write_quota_and_timing(head: &mut impl Headers, info: ResponseInfo<'_>) {
    for (name, value) in info.quota.into_iter().flat_map(QuotaStatus::headers) {
        head.write_header(&name, value.as_bytes());
    }
    if info.is_degraded {
        head.write_header(DEGRADED, b"meter");
    }
    let own = info.started.elapsed().saturating_sub(info.tool_time.unwrap_or_default());
    let own = millis(own);
    match info.tool_time {
        Some(tool) => {
            let timing = format_args!("edge;dur={own}, origin;dur={}", millis(tool));
            head.write_header_fmt(SERVER_TIMING, timing);
        }
        None => head.write_header_fmt(SERVER_TIMING, format_args!("edge;dur={own}")),
    }
}
