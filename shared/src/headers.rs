//! Header names the gateway gives a meaning to, spelled once, in lower case, and what passes through it.

use std::borrow::Cow;

use crate::route::{self, Method};

/// A header of an answer: its name in lower case, and its value.
pub type Header = (&'static str, Cow<'static, str>);

/// Carries the client's key (spec section 5).
pub const API_KEY: &str = "x-api-key";
/// Names the request, on every answer and towards the tool.
pub const REQUEST_ID: &str = "x-request-id";
/// Carries the edge's signed grant to the proxy.
pub const GRANT: &str = "x-gateway-grant";
/// Tells the tool whose call it is.
pub const KEY_ID: &str = "x-gateway-key-id";
/// Tells the tool what the key is paid for.
pub const TIER: &str = "x-gateway-tier";
/// Marks an answer of the proxy's own, so that the edge charges nothing for it; its value is the problem's code.
pub const REFUSAL: &str = "x-gateway-refusal";
/// Says that the quota was kept by the local budget because the meter was out of reach; its value is `meter`.
pub const DEGRADED: &str = "x-gateway-degraded";
/// The gateway's own share of the time (W3C Server Timing).
pub const SERVER_TIMING: &str = "server-timing";

/// Names the quotas of a key, on every answer to it.
pub const RATE_LIMIT_POLICY: &str = "ratelimit-policy";
/// Tells what is left of them.
pub const RATE_LIMIT: &str = "ratelimit";

const RESERVED_PREFIX: &str = "x-gateway-";

/// What of a client's means something to the hop or to the gateway only, beside [`RESERVED_PREFIX`] and `cf-`.
const WITHHELD_FROM_TOOLS: [&str; 20] = [
    API_KEY,
    REQUEST_ID,
    "authorization",
    "cookie",
    "connection",
    "expect",
    "forwarded",
    "host",
    "keep-alive",
    "proxy-authenticate",
    "proxy-authorization",
    "proxy-connection",
    "te",
    "trailer",
    "true-client-ip",
    "upgrade",
    "x-forwarded-for",
    "x-forwarded-host",
    "x-forwarded-proto",
    "x-real-ip",
];

/// What of a tool's means something to the hop only (RFC 9110 section 7.6.1), or is ours to write, beside
/// [`RESERVED_PREFIX`].
const WITHHELD_FROM_CLIENTS: [&str; 10] = [
    REQUEST_ID,
    "connection",
    "keep-alive",
    "proxy-authenticate",
    "proxy-connection",
    RATE_LIMIT,
    RATE_LIMIT_POLICY,
    "te",
    "trailer",
    "upgrade",
];

/// Whether a client's header may reach a tool: end-to-end ones only, none that carries a credential, none that
/// we reserve, and none with an underscore (servers read `X_Api_Key` as `X-Api-Key`). `name` in any case.
///
/// Framing (`content-length`, `transfer-encoding`) is left to the shell, which writes its own.
#[must_use]
pub fn reaches_tool(name: &str) -> bool {
    !name.contains('_')
        && !begins(name, RESERVED_PREFIX)
        && !begins(name, "cf-")
        && !is_among(&WITHHELD_FROM_TOOLS, name)
}

/// Whether a tool's header may reach the client: not the hop's, not one that we reserve or write ourselves. `name` in any
/// case.
///
/// Framing is left to the shell here too, and so are the names that a `Connection` holds.
#[must_use]
pub fn reaches_client(name: &str) -> bool {
    !begins(name, RESERVED_PREFIX) && !is_among(&WITHHELD_FROM_CLIENTS, name)
}

fn begins(name: &str, prefix: &str) -> bool {
    name.get(..prefix.len()).is_some_and(|start| start.eq_ignore_ascii_case(prefix))
}

fn is_among<const N: usize>(names: &[&str; N], name: &str) -> bool {
    names.iter().any(|other| other.eq_ignore_ascii_case(name))
}

/// What lets a browser on any site read every answer, all of its headers, a tool's own among them. The key is no cookie, so
/// any origin may call; and since such calls carry no credentials in the sense of the Fetch standard, `*` is every name.
pub const CORS: [(&str, &str); 2] =
    [("access-control-allow-origin", "*"), ("access-control-expose-headers", "*")];

/// The headers of a preflight's 204 (Fetch standard): what the route takes, good for a day.
#[must_use]
pub fn preflight(methods: &[Method]) -> [Header; 4] {
    let allow = Cow::from(route::allow(methods));
    [
        ("allow", allow.clone()),
        ("access-control-allow-methods", allow),
        (
            "access-control-allow-headers",
            "Accept, Authorization, Content-Type, Idempotency-Key, If-Match, If-None-Match, Traceparent, Tracestate, X-API-Key"
                .into(),
        ),
        ("access-control-max-age", "86400".into()),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_spelling_of_a_credential_or_of_our_own_names_reaches_a_tool() {
        for name in [
            "X-API-Key",
            "x-api-key",
            "X_API_KEY",
            "Authorization",
            "Cookie",
            "X-Gateway-Tier",
            "x-gateway-anything",
            "X-Request-Id",
            "CF-Connecting-IP",
            "Forwarded",
        ] {
            assert!(!reaches_tool(name), "{name}");
        }
        for name in
            ["Accept", "Content-Type", "Content-Encoding", "Traceparent", "Idempotency-Key", "X-Custom"]
        {
            assert!(reaches_tool(name), "{name}");
        }
    }

    #[test]
    fn a_tool_cannot_speak_for_the_gateway() {
        for name in ["RateLimit", "X-Request-Id", "X-Gateway-Refusal", "x-gateway-degraded"] {
            assert!(!reaches_client(name), "{name}");
        }
        assert!(
            reaches_client("Content-Type") && reaches_client("Retry-After") && reaches_client("Set-Cookie")
        );
    }

    #[test]
    fn what_one_hop_says_to_the_next_goes_no_further_in_either_direction() {
        for name in
            ["Connection", "Keep-Alive", "Proxy-Connection", "TE", "Trailer", "UPGRADE", "Proxy-Authenticate"]
        {
            assert!(!reaches_tool(name) && !reaches_client(name), "{name}");
        }
    }
}
