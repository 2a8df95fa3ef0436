//! The headers that do not pass through the gateway, or only if a pool passes them.

use super::name_set::NameSet;
use super::{API_KEY, RATE_LIMIT, RATE_LIMIT_POLICY, REQUEST_ID};

/// Client headers that no tool receives, beside those with a prefix of [`TRUSTED_X_PREFIXES`] or
/// [`TRUSTED_PREFIXES`]. They concern one hop, carry a credential, or say something that
/// applications believe if a proxy in front of them says it: who the client is, how it is
/// connected, or what it really asks for.
pub(super) static WITHHELD_FROM_TOOLS: NameSet = NameSet::new(&[
    "te",
    "host",
    "proxy",
    "cookie",
    "expect",
    "x-host",
    "x-user",
    "trailer",
    "upgrade",
    "x-scheme",
    "client-ip",
    "forwarded",
    API_KEY,
    "x-user-id",
    "connection",
    "keep-alive",
    "x-username",
    "x-auth-user",
    "x-client-ip",
    "x-user-name",
    "x-user-role",
    REQUEST_ID,
    "x-url-scheme",
    "x-user-email",
    "x-user-roles",
    "authorization",
    "fly-client-ip",
    "forwarded-for",
    "x-http-method",
    "x-rewrite-url",
    "x-script-name",
    "x-user-groups",
    "http2-settings",
    "true-client-ip",
    "front-end-https",
    "incap-client-ip",
    "x-sendfile-type",
    "do-connecting-ip",
    "fastly-client-ip",
    "proxy-connection",
    "x-originating-ip",
    "x-method-override",
    "proxy-authenticate",
    "proxy-authorization",
    "x-cluster-client-ip",
    "x-http-host-override",
    "x-http-method-override",
    "x-nf-client-connection-ip",
    "x-serverless-authorization",
]);

/// The text after `x-` in families of such headers. The application, proxy or platform that
/// believes them is named where the prefix does not name it.
pub(super) const TRUSTED_X_PREFIXES: [&str; 24] = [
    "accel-", // Rack::Sendfile
    "amzn-mtls-",
    "amzn-oidc-",
    "appengine-",
    "arr-",           // IIS Application Request Routing
    "auth-request-",  // oauth2-proxy
    "authenticated-", // Kong
    "authentik-",
    "azure-",
    "client-cert",
    "client-verify",
    "consumer-", // Kong
    "envoy-",
    "forwarded", // also the bare `X-Forwarded`
    "goog-authenticated-user-",
    "goog-iap-",
    "middleware-", // Next.js
    "ms-client-principal",
    "original-", // IIS, ASP.NET Core, Symfony
    "pomerium-",
    "real-",
    "remote-", // Kubernetes, `X-Remote-User`
    "ssl-",
    "webauth-", // Grafana
];

/// The same for names that do not begin with `x-`.
pub(super) const TRUSTED_PREFIXES: [&str; 5] = ["cf-", "client-cert", "l5d-", "remote-", "ssl-client-"];

/// Tool headers that no client receives, beside those with [`RESERVED_PREFIX`]: they concern one
/// hop (RFC 9110, section 7.6.1) or are the gateway's to write.
pub(super) static WITHHELD_FROM_CLIENTS: NameSet = NameSet::new(&[
    "te",
    "trailer",
    "upgrade",
    RATE_LIMIT,
    "connection",
    "keep-alive",
    REQUEST_ID,
    "proxy-connection",
    RATE_LIMIT_POLICY,
    "proxy-authenticate",
]);

/// Tool headers that a client receives only if the tool's pool passes them. They change how a
/// browser treats everything under the gateway's name, or name the tool's software.
pub(super) static ORIGIN_WIDE: NameSet = NameSet::new(&[
    "nel",
    "server",
    "alt-svc",
    "accept-ch",
    "report-to",
    "set-cookie",
    "x-powered-by",
    "clear-site-data",
    "public-key-pins",
    "use-as-dictionary",
    "reporting-endpoints",
    "service-worker-allowed",
    "strict-transport-security",
    "public-key-pins-report-only",
]);
