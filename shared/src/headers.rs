//! Header names the gateway gives a meaning to, spelled once, in lower case, and what passes through it.

mod forwarding;
mod name_set;

use std::borrow::Cow;

use crate::route::{self, Method};

pub use forwarding::{Nominated, PassedHeaders, reaches_client, reaches_tool, tokens};

/// A header of an answer: its name in lower case, and its value.
pub type Header = (&'static str, Cow<'static, str>);

/// Carries the client's key (spec section 5).
pub const API_KEY: &str = "x-api-key";
/// Names the request, on every answer and towards the tool.
pub const REQUEST_ID: &str = "x-request-id";
/// Carries the edge's signed grant to the proxy.
pub const GRANT: &str = "x-gateway-grant";
/// Carries the proxy's proof that a response is its own. It never reaches a client.
pub const PROOF: &str = "x-gateway-proof";
/// Tells the tool whose call it is.
pub const KEY_ID: &str = "x-gateway-key-id";
/// Tells the tool what the key is paid for.
pub const TIER: &str = "x-gateway-tier";
/// Marks a problem of the gateway's own; its value is the problem's code. Edge and proxy send it with every problem and
/// with nothing else, and a tool cannot: see [`reaches_client`]. The edge does not charge for a response that has it.
pub const PROBLEM: &str = "x-gateway-problem";
/// Says that the quota was kept by the local budget because the meter was out of reach; its value is `meter`.
pub const DEGRADED: &str = "x-gateway-degraded";
/// The gateway's own share of the time (W3C Server Timing).
pub const SERVER_TIMING: &str = "server-timing";

/// Names the quotas of a key, on every answer to it.
pub const RATE_LIMIT_POLICY: &str = "ratelimit-policy";
/// Tells what is left of them.
pub const RATE_LIMIT: &str = "ratelimit";

/// Makes browsers call the gateway over TLS only, for a year (RFC 6797). For responses over TLS.
pub const HSTS: (&str, &str) = ("strict-transport-security", "max-age=31536000");
/// What a response to a key is for caches if its tool does not say otherwise: nobody else's. The key is in a header that
/// caches do not know (RFC 9111, section 3.5, names `Authorization` only).
pub const PRIVATE: (&str, &str) = ("cache-control", "private");

const RESERVED_PREFIX: &str = "x-gateway-";

/// What lets a browser on any site read every response, all of its headers and how long it took, a tool's own among them.
/// The key is no cookie, so any origin may call; and since such calls carry no credentials in the sense of the Fetch
/// standard, `*` is every name.
pub const CORS: [(&str, &str); 3] = [
    ("access-control-allow-origin", "*"),
    ("access-control-expose-headers", "*"),
    ("timing-allow-origin", "*"),
];

/// What a page may send. `*` does not stand for `Authorization` (Fetch standard); the others are for browsers that know no
/// `*`.
const ALLOWED_HEADERS: &str = "*, Authorization, Content-Type, Idempotency-Key, X-API-Key";

/// The headers of a preflight's 204 (Fetch standard), good for a day. Any method and header may be sent, so that a page can
/// read why a request was refused. `Allow` names the methods that the path takes, if it leads somewhere.
#[must_use]
pub fn preflight(methods: &[Method]) -> Vec<Header> {
    let allow = (!methods.is_empty()).then(|| ("allow", route::allow(methods).into()));
    let every = Method::ALL.map(Method::as_str).join(", ");
    let told = [
        ("access-control-allow-methods", every.into()),
        ("access-control-allow-headers", ALLOWED_HEADERS.into()),
        ("access-control-max-age", "86400".into()),
    ];
    allow.into_iter().chain(told).collect()
}
