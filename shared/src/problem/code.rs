//! Problem codes: their status, their title, and the page that explains each.

mod table;

use std::borrow::Cow;

/// The kind of a problem. Clients switch on [`Code::as_str`], never on the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "the table explains each one")]
pub enum Code {
    PathMalformed,
    HeaderMalformed,
    BodyMalformed,
    KeyMissing,
    KeyMalformed,
    KeyInvalid,
    KeyExpired,
    KeyRevoked,
    KeyDisabled,
    AdminRequired,
    SignatureInvalid,
    GrantInvalid,
    OriginTokenInvalid,
    AdminSecretInvalid,
    HttpsRequired,
    PlanRequired,
    PageLimitReached,
    WebhookLimitReached,
    PageSuspended,
    SourceLimitReached,
    AnalyticsWindowExceeded,
    RouteUnknown,
    ToolUnknown,
    KeyUnknown,
    PageUnknown,
    LinkUnknown,
    RevisionUnknown,
    WebhookUnknown,
    DeliveryUnknown,
    EventUnknown,
    SourceUnknown,
    MethodNotAllowed,
    RequestTimeout,
    KeyConflict,
    IdempotencyConflict,
    SlugTaken,
    PageGone,
    RevisionMismatch,
    BodyTooLarge,
    TargetTooLong,
    MediaTypeUnsupported,
    ExpectationFailed,
    FieldsInvalid,
    IdempotencyKeyReused,
    AnalyticsTooWide,
    QuotaExceeded,
    AttemptsExceeded,
    RefreshTooEarly,
    TooManyRequests,
    HeadersTooLarge,
    Internal,
    UpgradeUnsupported,
    ToolUnavailable,
    ToolTimeout,
    ToolOverloaded,
    ToolDisabled,
    ResponseAborted,
    OriginInvalid,
    KeyStoreUnavailable,
    MeterUnavailable,
    PagesUnavailable,
    WebhooksUnavailable,
    NotConfigured,
}

impl Code {
    /// Every code once, by rising status.
    pub const ALL: [Self; 63] = [
        Self::PathMalformed,
        Self::HeaderMalformed,
        Self::BodyMalformed,
        Self::KeyMissing,
        Self::KeyMalformed,
        Self::KeyInvalid,
        Self::KeyExpired,
        Self::KeyRevoked,
        Self::KeyDisabled,
        Self::AdminRequired,
        Self::SignatureInvalid,
        Self::GrantInvalid,
        Self::OriginTokenInvalid,
        Self::AdminSecretInvalid,
        Self::HttpsRequired,
        Self::PlanRequired,
        Self::PageLimitReached,
        Self::WebhookLimitReached,
        Self::PageSuspended,
        Self::SourceLimitReached,
        Self::AnalyticsWindowExceeded,
        Self::RouteUnknown,
        Self::ToolUnknown,
        Self::KeyUnknown,
        Self::PageUnknown,
        Self::LinkUnknown,
        Self::RevisionUnknown,
        Self::WebhookUnknown,
        Self::DeliveryUnknown,
        Self::EventUnknown,
        Self::SourceUnknown,
        Self::MethodNotAllowed,
        Self::RequestTimeout,
        Self::KeyConflict,
        Self::IdempotencyConflict,
        Self::SlugTaken,
        Self::PageGone,
        Self::RevisionMismatch,
        Self::BodyTooLarge,
        Self::TargetTooLong,
        Self::MediaTypeUnsupported,
        Self::ExpectationFailed,
        Self::FieldsInvalid,
        Self::IdempotencyKeyReused,
        Self::AnalyticsTooWide,
        Self::QuotaExceeded,
        Self::AttemptsExceeded,
        Self::RefreshTooEarly,
        Self::TooManyRequests,
        Self::HeadersTooLarge,
        Self::Internal,
        Self::UpgradeUnsupported,
        Self::ToolUnavailable,
        Self::ToolTimeout,
        Self::ToolOverloaded,
        Self::ToolDisabled,
        Self::ResponseAborted,
        Self::OriginInvalid,
        Self::KeyStoreUnavailable,
        Self::MeterUnavailable,
        Self::PagesUnavailable,
        Self::WebhooksUnavailable,
        Self::NotConfigured,
    ];

    /// Returns the name of the code: lower-case words with hyphens.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        self.entry().slug
    }

    /// Returns the code with this name, or `None` if there is none.
    #[must_use]
    pub fn parse(slug: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|code| code.as_str() == slug)
    }

    /// Returns the HTTP status.
    #[must_use]
    pub const fn status(self) -> u16 {
        self.entry().status
    }

    /// Returns the title, which is the same for every problem of this code.
    #[must_use]
    pub const fn title(self) -> &'static str {
        self.entry().title
    }

    /// Returns the text of the page `/problems/{code}`: when the problem happens and what to do.
    #[must_use]
    pub const fn about(self) -> &'static str {
        self.entry().about
    }

    /// Returns the problem's `type` up to its name: our own pages, relative to the address that was
    /// called, or IANA's types where one is registered (draft-ietf-httpapi-ratelimit-headers).
    #[must_use]
    pub(crate) const fn type_base(self) -> &'static str {
        match self {
            Self::QuotaExceeded => "https://iana.org/assignments/http-problem-types#",
            _ => "/problems/",
        }
    }

    /// Returns true if an unauthenticated client can trigger this problem at will. Only these count
    /// towards `refusals_per_second`.
    #[must_use]
    pub const fn is_unauthenticated(self) -> bool {
        matches!(self, Self::GrantInvalid | Self::KeyMissing | Self::KeyMalformed | Self::KeyInvalid)
    }

    /// Returns the value of `WWW-Authenticate` for a 401, which RFC 9110, section 11.6.1, demands.
    /// Returns `None` for any other status.
    #[must_use]
    pub(crate) fn challenge(self) -> Option<Cow<'static, str>> {
        match (self.status(), self) {
            (401, Self::AdminRequired) => Some(r#"Bearer realm="keys""#.into()),
            (401, Self::GrantInvalid) => Some(r#"Grant realm="origin""#.into()),
            (401, Self::SignatureInvalid) => Some(r#"Signature realm="products""#.into()),
            (401, Self::OriginTokenInvalid) => Some(r#"Bearer realm="origins""#.into()),
            (401, other) => Some(
                format!(r#"ApiKey realm="tools", header="X-API-Key", error="{}""#, other.as_str()).into(),
            ),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_is_found_by_its_own_name_only() {
        for code in Code::ALL {
            assert_eq!(Code::parse(code.as_str()), Some(code), "two codes share {}", code.as_str());
        }
    }

    #[test]
    fn codes_are_listed_by_rising_status() {
        assert!(Code::ALL.is_sorted_by_key(|code| code.status()));
    }
}
