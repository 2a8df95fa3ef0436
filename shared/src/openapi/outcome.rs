//! What may come of a call: the problems, grouped as operations share them, and the headers of answers.

use serde_json::{Map, Value, json};

use super::canonical;
use crate::problem::Code;

/// Problems of one status that come together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Group {
    Malformed,
    MalformedBody,
    KeyRefused,
    HttpsRequired,
    AdminMissing,
    AdminRefused,
    Nowhere,
    KeyUnknown,
    KeyConflict,
    MethodNotAllowed,
    Stalled,
    BodyTooLarge,
    TargetTooLong,
    MediaTypeUnsupported,
    ExpectationFailed,
    FieldsInvalid,
    LimitReached,
    AttemptsExceeded,
    HeadersTooLarge,
    Internal,
    ToolUnavailable,
    KeyUnreadable,
}

/// Codes that clients of the API do not meet: those between edge and proxy.
#[cfg(test)]
pub(super) const NOT_AT_THESE_OPERATIONS: [Code; 2] = [Code::GrantInvalid, Code::OriginTokenInvalid];

impl Group {
    pub(super) const ALL: [Self; 22] = [
        Self::Malformed,
        Self::MalformedBody,
        Self::KeyRefused,
        Self::HttpsRequired,
        Self::AdminMissing,
        Self::AdminRefused,
        Self::Nowhere,
        Self::KeyUnknown,
        Self::KeyConflict,
        Self::MethodNotAllowed,
        Self::Stalled,
        Self::BodyTooLarge,
        Self::TargetTooLong,
        Self::MediaTypeUnsupported,
        Self::ExpectationFailed,
        Self::FieldsInvalid,
        Self::LimitReached,
        Self::AttemptsExceeded,
        Self::HeadersTooLarge,
        Self::Internal,
        Self::ToolUnavailable,
        Self::KeyUnreadable,
    ];

    /// The response component's name.
    pub(super) fn name(self) -> String {
        format!("{self:?}")
    }

    /// The problems, all of the same status.
    pub(super) const fn codes(self) -> &'static [Code] {
        match self {
            Self::Malformed => &[Code::PathMalformed, Code::HeaderMalformed],
            Self::MalformedBody => &[Code::PathMalformed, Code::HeaderMalformed, Code::BodyMalformed],
            Self::KeyRefused => &[
                Code::KeyMissing,
                Code::KeyMalformed,
                Code::KeyInvalid,
                Code::KeyExpired,
                Code::KeyRevoked,
                Code::KeyDisabled,
            ],
            Self::HttpsRequired => &[Code::HttpsRequired],
            Self::AdminMissing => &[Code::AdminRequired],
            Self::KeyUnknown => &[Code::KeyUnknown],
            Self::KeyConflict => &[Code::KeyConflict],
            Self::AdminRefused => &[Code::AdminSecretInvalid, Code::HttpsRequired],
            Self::Nowhere => &[Code::RouteUnknown, Code::ToolUnknown],
            Self::MethodNotAllowed => &[Code::MethodNotAllowed],
            Self::Stalled => &[Code::RequestTimeout],
            Self::BodyTooLarge => &[Code::BodyTooLarge],
            Self::TargetTooLong => &[Code::TargetTooLong],
            Self::MediaTypeUnsupported => &[Code::MediaTypeUnsupported],
            Self::ExpectationFailed => &[Code::ExpectationFailed],
            Self::FieldsInvalid => &[Code::FieldsInvalid],
            Self::LimitReached => &[Code::QuotaExceeded, Code::TooManyRequests],
            Self::AttemptsExceeded => &[Code::AttemptsExceeded],
            Self::HeadersTooLarge => &[Code::HeadersTooLarge],
            Self::Internal => &[Code::Internal],
            Self::ToolUnavailable => &[
                Code::ToolUnavailable,
                Code::ToolTimeout,
                Code::ToolOverloaded,
                Code::ToolDisabled,
                Code::KeyStoreUnavailable,
                Code::MeterUnavailable,
            ],
            Self::KeyUnreadable => &[Code::KeyStoreUnavailable, Code::MeterUnavailable],
        }
    }

    pub(super) fn status(self) -> u16 {
        self.codes().first().map_or(0, |code| code.status())
    }

    /// Names of the headers that such an answer has beside those of every answer.
    pub(super) const fn headers(self) -> &'static [&'static str] {
        match self {
            Self::KeyRefused | Self::AdminMissing => &["x-request-id", "www-authenticate"],
            Self::MethodNotAllowed => &["x-request-id", "allow"],
            Self::LimitReached => &["x-request-id", "retry-after", "ratelimit", "ratelimit-policy"],
            Self::AttemptsExceeded | Self::KeyUnreadable => &["x-request-id", "retry-after"],
            Self::ToolUnavailable => {
                &["x-request-id", "retry-after", "ratelimit", "ratelimit-policy", "proxy-status"]
            }
            Self::MediaTypeUnsupported => &["x-request-id", "accept"],
            Self::Malformed
            | Self::MalformedBody
            | Self::HttpsRequired
            | Self::AdminRefused
            | Self::Nowhere
            | Self::KeyUnknown
            | Self::KeyConflict
            | Self::Stalled
            | Self::BodyTooLarge
            | Self::TargetTooLong
            | Self::ExpectationFailed
            | Self::FieldsInvalid
            | Self::HeadersTooLarge
            | Self::Internal => &["x-request-id"],
        }
    }
}

/// A response header that clients can rely on.
pub(super) struct Header {
    pub(super) name: &'static str,
    about: &'static str,
    example: &'static str,
}

const fn header(name: &'static str, about: &'static str, example: &'static str) -> Header {
    Header { name, about, example }
}

pub(super) const HEADERS: [Header; 10] = [
    header("x-request-id", "Names the request, here and in every log.", "5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a"),
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

/// A `headers` member that refers to the components.
pub(super) fn references(names: &[&str]) -> Map<String, Value> {
    let refer = |name: &&str| {
        let name = canonical(name);
        let target = format!("#/components/headers/{name}");
        (name, json!({ "$ref": target }))
    };
    names.iter().map(refer).collect()
}
