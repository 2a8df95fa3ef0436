//! The outcomes of a call: the problems, grouped as operations share them, and the headers of
//! responses.

use biolink::codes;
use serde_json::{Map, Value, json};
use shared::problem::Code;

/// Every media type.
pub(super) const ANY: &str = "*/*";

/// Returns the media types of a tool's response: bytes of any type. `application/octet-stream` is
/// named beside the range for the code generators that know no ranges.
pub(super) fn of_a_tool() -> Map<String, Value> {
    let bytes = json!({ "schema": { "type": "string", "format": "binary" } });
    [("application/octet-stream".to_owned(), bytes), (ANY.to_owned(), json!({ "schema": {} }))]
        .into_iter()
        .collect()
}

/// A group of problems with one status, which operations share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Group {
    Malformed,
    MalformedBody,
    KeyRefused,
    HttpsRequired,
    AdminMissing,
    AdminRefused,
    Nowhere,
    RouteUnknown,
    KeyUnknown,
    KeyConflict,
    IssueConflict,
    MethodNotAllowed,
    Stalled,
    BodyTooLarge,
    TargetTooLong,
    MediaTypeUnsupported,
    ExpectationFailed,
    FieldsInvalid,
    IssueInvalid,
    LimitReached,
    AttemptsExceeded,
    HeadersTooLarge,
    Internal,
    ToolUnavailable,
    StatusUnknown,
    KeyUnreadable,
}

/// Codes that no response to these operations has: those between edge and proxy, those of the pages API, that of a
/// WebSocket, and that of an event.
#[cfg(test)]
pub(super) const NOT_AT_THESE_OPERATIONS: [Code; 25] = [
    codes::GRANT_INVALID,
    codes::ORIGIN_TOKEN_INVALID,
    codes::SIGNATURE_INVALID,
    codes::PLAN_REQUIRED,
    codes::PAGE_LIMIT_REACHED,
    codes::WEBHOOK_LIMIT_REACHED,
    codes::PAGE_SUSPENDED,
    codes::SOURCE_LIMIT_REACHED,
    codes::ANALYTICS_WINDOW_EXCEEDED,
    codes::PAGE_UNKNOWN,
    codes::LINK_UNKNOWN,
    codes::REVISION_UNKNOWN,
    codes::WEBHOOK_UNKNOWN,
    codes::DELIVERY_UNKNOWN,
    codes::EVENT_UNKNOWN,
    codes::SOURCE_UNKNOWN,
    codes::SLUG_TAKEN,
    codes::PAGE_GONE,
    codes::REVISION_MISMATCH,
    codes::ANALYTICS_TOO_WIDE,
    codes::REFRESH_TOO_EARLY,
    codes::UPGRADE_UNSUPPORTED,
    codes::RESPONSE_ABORTED,
    codes::PAGES_UNAVAILABLE,
    codes::WEBHOOKS_UNAVAILABLE,
];

impl Group {
    pub(super) const ALL: [Self; 26] = [
        Self::Malformed,
        Self::MalformedBody,
        Self::KeyRefused,
        Self::HttpsRequired,
        Self::AdminMissing,
        Self::AdminRefused,
        Self::Nowhere,
        Self::RouteUnknown,
        Self::KeyUnknown,
        Self::KeyConflict,
        Self::IssueConflict,
        Self::MethodNotAllowed,
        Self::Stalled,
        Self::BodyTooLarge,
        Self::TargetTooLong,
        Self::MediaTypeUnsupported,
        Self::ExpectationFailed,
        Self::FieldsInvalid,
        Self::IssueInvalid,
        Self::LimitReached,
        Self::AttemptsExceeded,
        Self::HeadersTooLarge,
        Self::Internal,
        Self::ToolUnavailable,
        Self::StatusUnknown,
        Self::KeyUnreadable,
    ];

    /// Returns the response component's name.
    pub(super) fn name(self) -> String {
        format!("{self:?}")
    }

    /// Returns the name of the component for operations whose tool may respond with the same
    /// status.
    pub(super) fn name_at_tools(self) -> String {
        format!("{self:?}OrTool")
    }

    /// Returns the problems, all of the same status.
    pub(super) const fn codes(self) -> &'static [Code] {
        match self {
            Self::Malformed => &[codes::PATH_MALFORMED, codes::HEADER_MALFORMED],
            Self::MalformedBody => &[codes::PATH_MALFORMED, codes::HEADER_MALFORMED, codes::BODY_MALFORMED],
            Self::KeyRefused => &[
                codes::KEY_MISSING,
                codes::KEY_MALFORMED,
                codes::KEY_INVALID,
                codes::KEY_EXPIRED,
                codes::KEY_REVOKED,
                codes::KEY_DISABLED,
            ],
            Self::HttpsRequired => &[codes::HTTPS_REQUIRED],
            Self::AdminMissing => &[codes::ADMIN_REQUIRED],
            Self::RouteUnknown => &[codes::ROUTE_UNKNOWN],
            Self::KeyUnknown => &[codes::ROUTE_UNKNOWN, codes::KEY_UNKNOWN],
            Self::KeyConflict => &[codes::KEY_CONFLICT],
            Self::IssueConflict => &[codes::IDEMPOTENCY_CONFLICT],
            Self::IssueInvalid => &[codes::FIELDS_INVALID, codes::IDEMPOTENCY_KEY_REUSED],
            Self::AdminRefused => &[codes::ADMIN_SECRET_INVALID, codes::HTTPS_REQUIRED],
            Self::Nowhere => &[codes::ROUTE_UNKNOWN, codes::TOOL_UNKNOWN],
            Self::MethodNotAllowed => &[codes::METHOD_NOT_ALLOWED],
            Self::Stalled => &[codes::REQUEST_TIMEOUT],
            Self::BodyTooLarge => &[codes::BODY_TOO_LARGE],
            Self::TargetTooLong => &[codes::TARGET_TOO_LONG],
            Self::MediaTypeUnsupported => &[codes::MEDIA_TYPE_UNSUPPORTED],
            Self::ExpectationFailed => &[codes::EXPECTATION_FAILED],
            Self::FieldsInvalid => &[codes::FIELDS_INVALID],
            Self::LimitReached => &[codes::QUOTA_EXCEEDED, codes::TOO_MANY_REQUESTS],
            Self::AttemptsExceeded => &[codes::ATTEMPTS_EXCEEDED],
            Self::HeadersTooLarge => &[codes::HEADERS_TOO_LARGE],
            Self::Internal => &[codes::INTERNAL],
            Self::ToolUnavailable => &[
                codes::TOOL_UNAVAILABLE,
                codes::TOOL_TIMEOUT,
                codes::TOOL_OVERLOADED,
                codes::TOOL_DISABLED,
                codes::ORIGIN_INVALID,
                codes::KEY_STORE_UNAVAILABLE,
                codes::METER_UNAVAILABLE,
            ],
            Self::StatusUnknown => &[codes::TOOL_UNAVAILABLE],
            Self::KeyUnreadable => {
                &[codes::KEY_STORE_UNAVAILABLE, codes::METER_UNAVAILABLE, codes::NOT_CONFIGURED]
            }
        }
    }

    pub(super) fn status(self) -> u16 {
        self.codes().first().map_or(0, |code| code.status())
    }

    /// Returns the names of the headers that such a response has beside those of every response.
    pub(super) const fn headers(self) -> &'static [&'static str] {
        match self {
            Self::KeyRefused | Self::AdminMissing => {
                &["x-request-id", "x-gateway-problem", "www-authenticate"]
            }
            Self::MethodNotAllowed => &["x-request-id", "x-gateway-problem", "allow"],
            Self::LimitReached => {
                &["x-request-id", "x-gateway-problem", "retry-after", "ratelimit", "ratelimit-policy"]
            }
            Self::AttemptsExceeded | Self::IssueConflict | Self::KeyUnreadable => {
                &["x-request-id", "x-gateway-problem", "retry-after"]
            }
            Self::StatusUnknown => &["x-request-id", "x-gateway-problem", "retry-after", "proxy-status"],
            Self::ToolUnavailable => &[
                "x-request-id",
                "x-gateway-problem",
                "retry-after",
                "ratelimit",
                "ratelimit-policy",
                "proxy-status",
            ],
            Self::MediaTypeUnsupported => &["x-request-id", "x-gateway-problem", "accept"],
            Self::Malformed
            | Self::MalformedBody
            | Self::HttpsRequired
            | Self::AdminRefused
            | Self::Nowhere
            | Self::RouteUnknown
            | Self::KeyUnknown
            | Self::KeyConflict
            | Self::Stalled
            | Self::BodyTooLarge
            | Self::TargetTooLong
            | Self::ExpectationFailed
            | Self::FieldsInvalid
            | Self::IssueInvalid
            | Self::HeadersTooLarge
            | Self::Internal => &["x-request-id", "x-gateway-problem"],
        }
    }
}

/// A response header that clients can rely on.
pub(super) struct Header {
    pub(super) name: &'static str,
    about: &'static str,
    example: &'static str,
}

pub(super) const fn header(name: &'static str, about: &'static str, example: &'static str) -> Header {
    Header { name, about, example }
}

pub(super) const HEADERS: [Header; 12] = [
    header("x-request-id", "Names the request, here and in every log.", "5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a"),
    header(
        "x-gateway-problem",
        "The problem's code. The gateway sends it with every problem of its own and with nothing else; a tool cannot send it.",
        "key-missing",
    ),
    header(
        "x-gateway-degraded",
        "Present if the meter was out of reach and the limit was kept by a local budget.",
        "meter",
    ),
    header(
        "ratelimit-policy",
        "The key's quotas: calls (q) in so many seconds (w). A key without a daily limit has no \"day\".",
        r#""minute";q=10;w=60, "day";q=100;w=86400"#,
    ),
    header(
        "ratelimit",
        "What is left of each quota: calls (r), and seconds (t) until more is to be had.",
        r#""minute";r=7;t=41, "day";r=93;t=51234"#,
    ),
    header("retry-after", "Seconds after which to try again; a call made then will pass the limit.", "41"),
    header(
        "proxy-status",
        "What went wrong on the way to the tool (RFC 9209).",
        "edge; error=destination_unavailable",
    ),
    header(
        "server-timing",
        "Milliseconds of the gateway's own work and of the tool's.",
        "edge;dur=4, origin;dur=120",
    ),
    header(
        "www-authenticate",
        "How to authenticate.",
        r#"ApiKey realm="tools", header="X-API-Key", error="key-missing""#,
    ),
    header("allow", "The methods that the path takes.", "GET, POST, OPTIONS"),
    header("accept", "The media types that the tool takes.", "application/json"),
    header("location", "Where the key can be read by an administrator.", "/v1/keys/key_0123456789abcdefg"),
];

impl Header {
    pub(super) fn describe(&self) -> Value {
        json!({ "description": self.about, "schema": { "type": "string" }, "example": self.example })
    }
}

/// Returns a `headers` member that refers to the components.
pub(super) fn references(names: &[&str]) -> Map<String, Value> {
    let refer = |name: &&str| {
        let name = canonical(name);
        let target = format!("#/components/headers/{name}");
        (name, json!({ "$ref": target }))
    };
    names.iter().map(refer).collect()
}

/// Returns a header's name as it is usually written: `X-Request-Id` for `x-request-id`.
pub(super) fn canonical(name: &str) -> String {
    match name {
        "x-api-key" => "X-API-Key".to_owned(),
        "www-authenticate" => "WWW-Authenticate".to_owned(),
        "ratelimit" => "RateLimit".to_owned(),
        "ratelimit-policy" => "RateLimit-Policy".to_owned(),
        _ => {
            let words = name.split('-').map(|word| {
                let (first, rest) = word.split_at_checked(1).unwrap_or((word, ""));
                format!("{}{rest}", first.to_uppercase())
            });
            words.collect::<Vec<_>>().join("-")
        }
    }
}
