//! The names of the headers that have a meaning to the gateway, in lower case, and the rules of
//! forwarding.

mod forwarding;
mod name_set;
mod withheld;

use std::borrow::Cow;

use crate::method::{Method, Methods};

pub use forwarding::{Nominated, PassedHeaders, reaches_client, reaches_tool, tokens};

/// A response header: its name in lower case, and its value. Either may have come from elsewhere.
pub type Header = (Cow<'static, str>, Cow<'static, str>);

/// Carries the client's key (spec section 5).
pub const API_KEY: &str = "x-api-key";
/// Names the request, on every response and towards the tool.
pub const REQUEST_ID: &str = "x-request-id";
/// Carries the edge's signed grant to the proxy.
pub const GRANT: &str = "x-gateway-grant";
/// Carries the proxy's proof that a response is its own. It never reaches a client.
pub const PROOF: &str = "x-gateway-proof";
/// Carries the edge's name for the data center to the proxy, which can then say that it has another. It
/// is covered by the grant's MAC, and believed only if that says so.
pub const DATA_CENTER: &str = "x-gateway-data-center";
/// Says to the edge why the proxy refused its grant. It never reaches a client.
pub const GRANT_REFUSAL: &str = "x-gateway-grant-refusal";
/// Carries the key's public id to the tool.
pub const KEY_ID: &str = "x-gateway-key-id";
/// Carries the key's tier to the tool.
pub const TIER: &str = "x-gateway-tier";
/// Marks a problem of the gateway's own; its value is the problem's code. Edge and proxy send it
/// with every problem and with nothing else, and a tool cannot: see [`reaches_client`].
pub const PROBLEM: &str = "x-gateway-problem";
/// Says to the edge that a part of the call was sent to a tool before the proxy ended it with a
/// problem; its value is `1`. It never reaches a client.
pub const SENT: &str = "x-gateway-sent";
/// Says that the quota was kept by the local budget because the meter was out of reach; its value
/// is `meter`.
pub const DEGRADED: &str = "x-gateway-degraded";
/// The types of a `PATCH`: a JSON merge patch (RFC 7396), which may also be called plain JSON.
pub const ACCEPT_PATCH: (&str, &str) = ("accept-patch", "application/merge-patch+json, application/json");
/// The gateway's own share of the time (W3C Server Timing).
pub const SERVER_TIMING: &str = "server-timing";

/// Lists the quotas of a key, on every response to it.
pub const RATE_LIMIT_POLICY: &str = "ratelimit-policy";
/// Says what a call has cost in units, in the response of a tool.
pub const USAGE_UNITS: &str = "x-usage-units";
/// Shows the rest of each quota.
pub const RATE_LIMIT: &str = "ratelimit";

/// Makes browsers call the gateway over TLS only, for a year (RFC 6797). For responses over TLS.
pub const HSTS: (&str, &str) = ("strict-transport-security", "max-age=31536000");
/// `Cache-Control` of a response to a key if its tool does not set one: no shared cache keeps it.
/// The key is in a header that caches do not know (RFC 9111, section 3.5, names `Authorization`
/// only).
pub const PRIVATE: (&str, &str) = ("cache-control", "private");

const RESERVED_PREFIX: &str = "x-gateway-";

/// Headers that let a page on any site read every response, a tool's too, with all of its headers
/// and its timing. The key is no cookie, so any origin may call; and since such calls carry no
/// credentials in the sense of the Fetch standard, `*` is every name.
pub const CORS: [(&str, &str); 3] = [
    ("access-control-allow-origin", "*"),
    ("access-control-expose-headers", "*"),
    ("timing-allow-origin", "*"),
];

/// The request headers that a page may send. `*` does not stand for `Authorization` (Fetch
/// standard); the others are for browsers that know no `*`.
const ALLOWED_HEADERS: &str = "*, Authorization, Content-Type, Idempotency-Key, X-API-Key";

/// Returns true for the media type of an event stream (HTML standard, section 9.2).
pub fn is_event_stream(content_type: &str) -> bool {
    let essence = content_type.split(';').next().unwrap_or_default();
    essence.trim().eq_ignore_ascii_case("text/event-stream")
}

/// Returns the headers of a preflight's 204 (Fetch standard), good for a day. Any method and header
/// may be sent, so that a page can read why a request was refused. `Allow` names the methods that
/// the path takes, if it is known, and `Accept-Patch` the types of a `PATCH` (RFC 5789, section 3.1).
pub fn preflight(methods: Methods) -> Vec<Header> {
    // A path that nobody knows has no methods, and an empty `Allow` would say that it has none at
    // all.
    let allow = (!methods.is_empty()).then(|| ("allow".into(), methods.allow().into()));
    let patch = methods.contains(Method::Patch).then_some(header(ACCEPT_PATCH));
    let every = Method::ALL.map(Method::as_str).join(", ");
    let headers = [
        ("access-control-allow-methods".into(), every.into()),
        header(("access-control-allow-headers", ALLOWED_HEADERS)),
        // Browsers ask before each call otherwise, and each question costs a round trip.
        header(("access-control-max-age", "86400")),
    ];
    allow.into_iter().chain(patch).chain(headers).collect()
}

/// Returns a header whose name and value are constants.
pub(crate) const fn header((name, value): (&'static str, &'static str)) -> Header {
    (Cow::Borrowed(name), Cow::Borrowed(value))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(methods: Methods) -> Vec<(String, String)> {
        preflight(methods).into_iter().map(|(name, value)| (name.into_owned(), value.into_owned())).collect()
    }

    #[test]
    fn preflight_names_the_methods_of_a_known_path_and_allows_all() {
        let of = |methods, name: &str| {
            named(methods).into_iter().find(|(found, _)| found == name).map(|(_, value)| value)
        };
        let patch = Methods::of([Method::Get, Method::Patch]);
        assert_eq!(of(patch, "allow").unwrap(), patch.allow());
        assert_eq!(of(patch, "accept-patch").as_deref(), Some(ACCEPT_PATCH.1));
        let unknown = Methods::of([]);
        assert_eq!((of(unknown, "allow"), of(unknown, "accept-patch")), (None, None));
        for methods in [patch, unknown] {
            let allowed = of(methods, "access-control-allow-methods").unwrap();
            assert!(Method::ALL.into_iter().all(|method| allowed.contains(method.as_str())), "{allowed}");
        }
    }

    #[test]
    fn event_stream_is_known_by_its_essence() {
        for text in ["text/event-stream", "Text/Event-Stream; charset=utf-8", " text/event-stream ;"] {
            assert!(is_event_stream(text), "{text}");
        }
        for text in ["", "text/event-streams", "text/plain; text/event-stream"] {
            assert!(!is_event_stream(text), "{text}");
        }
    }
}
