//! Cures of problems, and whether the same request can be sent again.

use crate::problem::Code;

/// The advice on sending a request that met a problem again as it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Retry {
    /// The same request is refused again.
    Never,
    /// Later it may pass.
    Later,
    /// The client has to read something again first.
    AfterRead,
}

impl Retry {
    pub(super) const fn of(code: Code) -> Self {
        match code {
            Code::RevisionMismatch => Self::AfterRead,
            Code::RequestTimeout | Code::IdempotencyConflict => Self::Later,
            _ => match code.status() {
                429 | 500 | 503 => Self::Later,
                _ => Self::Never,
            },
        }
    }

    pub(super) const fn advice(self) -> &'static str {
        match self {
            Self::Never => "No. The same request is refused again.",
            Self::Later => {
                "Yes, after the seconds in `Retry-After`. Without that header wait a second, and twice as long after each further attempt. Give up after a few. Send a POST again only if it may happen twice, or under the same `Idempotency-Key`."
            }
            Self::AfterRead => {
                "Not as it is. Read the page again, repeat the change on what you read, and send its `ETag` as `If-Match`."
            }
        }
    }
}

/// Returns what a client does about a problem.
#[allow(clippy::too_many_lines, reason = "a table, one row per cure")]
pub(super) const fn cure(code: Code) -> &'static str {
    match code {
        Code::PathMalformed => {
            "Write the path as the reference shows it: single slashes, none at the end, nothing percent-encoded."
        }
        Code::HeaderMalformed => {
            "Look at the header that the `detail` names, and send it once. Proxies between you and the gateway may have added it."
        }
        Code::BodyMalformed => {
            "Send one JSON object in UTF-8, with each member once. A JSON library does it."
        }
        Code::KeyMissing => "Send the key: `X-API-Key: utg_live_…`.",
        Code::KeyMalformed => "Copy the key again, without quotes, spaces or line breaks.",
        Code::KeyInvalid => {
            "Use the key of the last rotation, and the address of the gateway that issued it."
        }
        Code::KeyExpired | Code::KeyRevoked => "Ask the operator for a new key.",
        Code::KeyDisabled => "Ask the operator to enable the key.",
        Code::AdminRequired => {
            "Send the admin secret: `Authorization: Bearer …`. Clients of tools need none."
        }
        Code::SignatureInvalid => {
            "Sign the bytes of the body as they are sent, with the current secret of the source and a fresh timestamp."
        }
        Code::GrantInvalid => "Call the gateway's public address.",
        Code::OriginTokenInvalid => "Compare `GRANT_SECRET` and the clocks of both sides.",
        Code::AdminSecretInvalid => {
            "Compare the secret with that of the deployment. After a few wrong ones the address has to wait."
        }
        Code::HttpsRequired => "Call `https://`, and rotate the key: it was sent in the clear.",
        Code::PlanRequired => "Ask the operator for the plan `business`.",
        Code::PageLimitReached | Code::WebhookLimitReached | Code::SourceLimitReached => {
            "Delete one that you do not need, or change it."
        }
        Code::PageSuspended => "Ask the operator of the service what was reported.",
        Code::AnalyticsWindowExceeded => {
            "Send a `start` that is not before `earliest_available`, or use `interval`."
        }
        Code::RouteUnknown => "Compare the path with the reference.",
        Code::ToolUnknown => "Use one of the tools that `nearest` names.",
        Code::KeyUnknown
        | Code::PageUnknown
        | Code::LinkUnknown
        | Code::RevisionUnknown
        | Code::WebhookUnknown
        | Code::DeliveryUnknown
        | Code::EventUnknown
        | Code::SourceUnknown => "Read the list that has the id, and drop what you have stored of this one.",
        Code::MethodNotAllowed => "Use a method of the header `Allow`.",
        Code::RequestTimeout => "Send the request without pauses.",
        Code::KeyConflict => "Read the key to see its status.",
        Code::IdempotencyConflict => {
            "Wait for the first request. If the `detail` says that its response cannot be made again, look whether it happened."
        }
        Code::SlugTaken => "Take one of `suggestions`, or another slug.",
        Code::PageGone => "Remove the link to the page.",
        Code::RevisionMismatch => "The page was changed meanwhile. Merge both changes.",
        Code::BodyTooLarge => "Send less, or several requests.",
        Code::TargetTooLong => "Move what is long into the body of a POST.",
        Code::MediaTypeUnsupported => {
            "Send `Content-Type: application/json`, and the body without `Content-Encoding`."
        }
        Code::ExpectationFailed => "Send no `Expect` but `100-continue`.",
        Code::FieldsInvalid => "Correct each field that `errors` names. All faults are listed at once.",
        Code::IdempotencyKeyReused => "Draw a new `Idempotency-Key` for each new request.",
        Code::AnalyticsTooWide => "Ask for a shorter period, or for fewer groups and no filter.",
        Code::QuotaExceeded => {
            "Spread calls over the minute. If that is not enough, ask the operator for a higher tier."
        }
        Code::AttemptsExceeded => "Wait, then send the right secret.",
        Code::RefreshTooEarly => "Wait. The feed is fetched every 6 hours by itself.",
        Code::TooManyRequests => "Send fewer requests at once from this address.",
        Code::HeadersTooLarge => "Send fewer or shorter headers: large cookies are the usual reason.",
        Code::Internal => "Tell the operator the `request_id`.",
        Code::UpgradeUnsupported => "Call the tool with a plain request, without `Upgrade: websocket`.",
        Code::ToolUnavailable | Code::ToolDisabled | Code::OriginInvalid => {
            "See the status page, and call again later."
        }
        Code::ResponseAborted => {
            "Drop what came, or go on after its last whole event if the tool can, and call again."
        }
        Code::ToolTimeout => "Ask the tool for less in one call.",
        Code::ToolOverloaded => "Call again in a moment, and keep fewer calls in flight.",
        Code::KeyStoreUnavailable
        | Code::MeterUnavailable
        | Code::PagesUnavailable
        | Code::WebhooksUnavailable => "Nothing is wrong with the request. Send it again.",
        Code::NotConfigured => "Tell the operator: the log of the worker names what is missing.",
    }
}
