//! Decides which headers pass through the gateway: from the client to the tool, and from the tool
//! to the client.

use super::RESERVED_PREFIX;
use super::withheld::{
    ORIGIN_WIDE, TRUSTED_PREFIXES, TRUSTED_X_PREFIXES, WITHHELD_FROM_CLIENTS, WITHHELD_FROM_TOOLS,
};

/// Returns true if a client's header may reach a tool. `name` in any case.
///
/// A name with an underscore may not, because servers read `X_Api_Key` as `X-Api-Key`. The caller
/// decides on framing (`content-length`, `transfer-encoding`), which it writes itself, and on
/// [`Nominated`] names.
///
/// ```
/// use shared::headers::reaches_tool;
///
/// assert!(reaches_tool("Accept-Language"));
/// assert!(!reaches_tool("X-API-Key") && !reaches_tool("X-Forwarded-Client-Cert"));
/// ```
pub fn reaches_tool(name: &str) -> bool {
    // Without an early end, so that it is done for many bytes together.
    let underscore = name.bytes().fold(false, |any, byte| any | (byte == b'_'));
    !underscore && !has_trusted_prefix(name) && !WITHHELD_FROM_TOOLS.holds(name)
}

/// Returns true if a tool's header may reach the client as far as its name is not reserved and does
/// not concern one hop. `name` in any case. [`PassedHeaders`] decides on the rest.
///
/// The caller decides on framing and on [`Nominated`] names.
pub fn reaches_client(name: &str) -> bool {
    !begins(name.as_bytes(), RESERVED_PREFIX) && !WITHHELD_FROM_CLIENTS.holds(name)
}

/// A bit set of the headers that a pool passes although clients do not get them by default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PassedHeaders(u32);

impl PassedHeaders {
    /// Returns the set with one more header; `None` if `name` is not withheld by default. `name` in
    /// any case.
    #[must_use]
    pub fn with(self, name: &str) -> Option<Self> {
        ORIGIN_WIDE.place(name).map(|place| Self(self.0 | 1 << place))
    }

    /// Returns true if the client receives the header: it is in the set, or not withheld by
    /// default. `name` in any case.
    pub fn allows(self, name: &str) -> bool {
        ORIGIN_WIDE.place(name).is_none_or(|place| self.0 >> place & 1 == 1)
    }

    /// Returns the headers that are withheld by default, in lower case.
    pub const fn withheld() -> &'static [&'static str] {
        ORIGIN_WIDE.names()
    }
}

/// The headers that a `Connection` header nominates, which concern one hop only (RFC 9110,
/// section 7.6.1).
#[derive(Clone, Debug, Default)]
pub struct Nominated<'a>(Vec<&'a [u8]>);

impl<'a> Nominated<'a> {
    /// Reads the values of all `Connection` headers of a message.
    pub fn of(values: impl Iterator<Item = &'a [u8]>) -> Self {
        // Two tokens are in nearly every message, and name no header.
        let usual =
            |token: &&[u8]| token.eq_ignore_ascii_case(b"close") || token.eq_ignore_ascii_case(b"keep-alive");
        Self(values.flat_map(tokens).filter(|token| !usual(token)).collect())
    }

    /// Returns true if `name`, in any case, is nominated.
    pub fn holds(&self, name: &str) -> bool {
        self.0.iter().any(|token| token.eq_ignore_ascii_case(name.as_bytes()))
    }
}

/// Returns the members of a comma-separated header value (RFC 9110, section 5.6.1), without empty
/// ones.
pub fn tokens(value: &[u8]) -> impl Iterator<Item = &[u8]> {
    value.split(|&byte| byte == b',').map(<[u8]>::trim_ascii).filter(|token| !token.is_empty())
}

fn has_trusted_prefix(name: &str) -> bool {
    match name.as_bytes() {
        [b'x' | b'X', b'-', rest @ ..] => {
            has_prefix_of(rest, &TRUSTED_X_PREFIXES) || begins(name.as_bytes(), RESERVED_PREFIX)
        }
        name => has_prefix_of(name, &TRUSTED_PREFIXES),
    }
}

fn has_prefix_of(name: &[u8], prefixes: &[&str]) -> bool {
    // The first byte tells most of them apart.
    let first = name.first().map(u8::to_ascii_lowercase);
    prefixes.iter().any(|prefix| prefix.as_bytes().first().copied() == first && begins(name, prefix))
}

fn begins(name: &[u8], prefix: &str) -> bool {
    name.get(..prefix.len()).is_some_and(|start| start.eq_ignore_ascii_case(prefix.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credential_or_reserved_name_does_not_reach_the_tool() {
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
        for name in [
            "Accept",
            "Content-Type",
            "Content-Encoding",
            "Traceparent",
            "Idempotency-Key",
            "X-Custom",
            "X",
            "X-",
        ] {
            assert!(reaches_tool(name), "{name}");
        }
    }

    #[test]
    fn header_that_applications_trust_does_not_reach_the_tool() {
        for name in [
            "X-Forwarded",
            "X-Forwarded-For",
            "X-Forwarded-Client-Cert",
            "X-FORWARDED-USER",
            "X-Forwarded-Prefix",
            "X-Forwarded-Anything",
            "Proxy",
            "X-Original-URL",
            "X-Original-Host",
            "X-Rewrite-Url",
            "X-HTTP-Method",
            "X-HTTP-Method-Override",
            "X-Method-Override",
            "X-User-Id",
            "X-Host",
            "Client-IP",
            "X-Client-IP",
            "X-Cluster-Client-IP",
            "X-Real-IP",
            "Remote-User",
            "X-Remote-User",
            "X-Authenticated-Userid",
            "X-Auth-Request-Email",
            "X-SSL-Client-Cert",
            "SSL-Client-Verify",
            "Client-Cert",
            "X-Client-Cert-Chain",
            "X-Envoy-Original-Path",
            "X-Middleware-Subrequest",
            "X-Accel-Mapping",
            "X-Goog-Authenticated-User-Email",
            "HTTP2-Settings",
        ] {
            assert!(!reaches_tool(name), "{name}");
        }
        for name in [
            "X-Requested-With",
            "X-Correlation-Id",
            "X-User-Agent",
            "X-Forward",
            "Prefer",
            "X-Amz-Date",
            "Via",
        ] {
            assert!(reaches_tool(name), "{name}");
        }
    }

    #[test]
    fn tool_cannot_speak_for_the_gateway() {
        for name in ["RateLimit", "X-Request-Id", "X-Gateway-Problem", "x-gateway-degraded"] {
            assert!(!reaches_client(name), "{name}");
        }
        assert!(reaches_client("Content-Type") && reaches_client("Retry-After"));
    }

    #[test]
    fn hop_by_hop_header_is_not_forwarded_in_either_direction() {
        for name in
            ["Connection", "Keep-Alive", "Proxy-Connection", "TE", "Trailer", "UPGRADE", "Proxy-Authenticate"]
        {
            assert!(!reaches_tool(name) && !reaches_client(name), "{name}");
        }
    }

    #[test]
    fn origin_wide_header_reaches_the_client_only_if_its_pool_passes_it() {
        let none = PassedHeaders::default();
        for &name in PassedHeaders::withheld() {
            let passed = none.with(&name.to_ascii_uppercase()).unwrap();
            for &other in PassedHeaders::withheld() {
                assert_eq!((none.allows(other), passed.allows(other)), (false, other == name), "{other}");
            }
        }
        assert!(none.allows("Content-Type") && none.with("content-type").is_none());
    }

    #[test]
    fn nominated_headers_are_found_in_any_case_and_in_every_line() {
        let nominated = Nominated::of([&b"close, X-One ,,"[..], b"x-two"].into_iter());
        assert!(nominated.holds("x-one") && nominated.holds("X-Two"));
        assert!(!nominated.holds("close") && !nominated.holds("x-three") && !nominated.holds(""));
    }
}
