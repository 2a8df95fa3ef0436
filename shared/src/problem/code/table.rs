//! The table of problem codes: one row each.

use super::Code;

/// A row of the table.
pub(super) struct Entry {
    pub(super) slug: &'static str,
    pub(super) status: u16,
    pub(super) title: &'static str,
    pub(super) about: &'static str,
}

const fn entry(slug: &'static str, status: u16, title: &'static str, about: &'static str) -> Entry {
    Entry { slug, status, title, about }
}

impl Code {
    #[allow(clippy::too_many_lines, reason = "a table, one row per code")]
    /// Returns the row of the code.
    pub(super) const fn entry(self) -> Entry {
        match self {
            Self::PathMalformed => entry(
                "path-malformed",
                400,
                "The path is not well formed",
                "Paths are plain segments of letters, digits and -._~ with single slashes between them. Percent-encoding, dot segments, backslashes and empty segments are refused rather than normalised, so that a path means the same to everyone.",
            ),
            Self::HeaderMalformed => entry(
                "header-malformed",
                400,
                "A header is not acceptable",
                "A header is sent twice, contradicts another, or has a name with an underscore. The detail names it.",
            ),
            Self::BodyMalformed => entry(
                "body-malformed",
                400,
                "The body is not a JSON object",
                "The body could not be read as one JSON object with each member once, in UTF-8.",
            ),
            Self::KeyMissing => entry(
                "key-missing",
                401,
                "An API key is required",
                "Send your key in the header X-API-Key. Keys are not read from the query, from cookies or from Authorization.",
            ),
            Self::KeyMalformed => entry(
                "key-malformed",
                401,
                "The API key is mistyped",
                "The text in X-API-Key is not a key: its prefix, length or checksum is wrong. A character was lost or changed on the way; copy the key again.",
            ),
            Self::KeyInvalid => entry(
                "key-invalid",
                401,
                "The API key is not valid",
                "No live key has this secret. It may have been replaced by a rotation, or belong to another deployment.",
            ),
            Self::KeyExpired => entry(
                "key-expired",
                401,
                "The API key has expired",
                "The key was valid until the moment that was set for it. Ask for a new one.",
            ),
            Self::KeyRevoked => entry(
                "key-revoked",
                401,
                "The API key is revoked",
                "The key was revoked and will not work again. Ask for a new one.",
            ),
            Self::KeyDisabled => entry(
                "key-disabled",
                401,
                "The API key is disabled",
                "The key is switched off for now. Whoever issued it can switch it on again.",
            ),
            Self::AdminRequired => entry(
                "admin-required",
                401,
                "The admin secret is required",
                "Administrative calls carry the admin secret as Authorization: Bearer.",
            ),
            Self::GrantInvalid => entry(
                "grant-invalid",
                401,
                "The request carries no valid grant",
                "The origin proxy serves only requests that the edge has signed within the last 30 seconds, each once. Call the gateway's public address instead.",
            ),
            Self::OriginTokenInvalid => entry(
                "origin-token-invalid",
                401,
                "The request carries no valid token of an origin",
                "What lies below /internal is for the gateway's own proxies. Each signs its requests with GRANT_SECRET, and a signature is good for 30 seconds: secrets and clocks must agree.",
            ),
            Self::AdminSecretInvalid => entry(
                "admin-secret-invalid",
                403,
                "The admin secret is wrong",
                "The admin secret does not match. Attempts are counted per address.",
            ),
            Self::HttpsRequired => entry(
                "https-required",
                403,
                "Keys travel over HTTPS only",
                "The request came over plain HTTP, where everyone on the way can read its key. It was refused, and not redirected, so that the mistake shows. Use https, and replace a key that was sent this way.",
            ),
            Self::PlanRequired => entry(
                "plan-required",
                403,
                "The plan does not include this",
                "The bio-link API is part of the plan business. The operator who issued the key sets its plan with PATCH /v1/keys/{id}.",
            ),
            Self::PageLimitReached => entry(
                "page-limit-reached",
                403,
                "The account has all the pages it may have",
                "An account has at most 25 pages. Delete one, or change one.",
            ),
            Self::WebhookLimitReached => entry(
                "webhook-limit-reached",
                403,
                "The account has all the webhooks it may have",
                "An account has at most 10 webhooks. Delete one, or change one.",
            ),
            Self::PageSuspended => entry(
                "page-suspended",
                403,
                "The page or its account is suspended",
                "The operator has suspended the page or the whole account, and visitors get 410. Its owner can read and edit it, but not publish, rename or delete it. Ask the operator of the service.",
            ),
            Self::AnalyticsWindowExceeded => entry(
                "analytics-window-exceeded",
                403,
                "The plan does not show events so old",
                "start is before the first day that the plan shows, which earliest_available names. Ask for a later start, or use interval, which is cut to the window. Totals of all times are in lifetime.",
            ),
            Self::RouteUnknown => entry(
                "route-unknown",
                404,
                "There is nothing here",
                "The path is not a route of this service. Tools are called at /v1/{tool}/{action}.",
            ),
            Self::ToolUnknown => entry(
                "tool-unknown",
                404,
                "There is no such tool",
                "The first segment after /v1/ is not a tool. The detail names the nearest ones; /openapi.json lists all.",
            ),
            Self::KeyUnknown => entry(
                "key-unknown",
                404,
                "There is no key with this id",
                "No key with this id was ever issued here.",
            ),
            Self::PageUnknown => entry(
                "page-unknown",
                404,
                "There is no page with this id",
                "The account has no page with this id. It may have been deleted, or belong to another account.",
            ),
            Self::SignatureInvalid => entry(
                "signature-invalid",
                401,
                "The signature of the push is not valid",
                "A push of a shop is signed with the secret of its product source, over the bytes of the body. The detail says which header was read and what is wrong with it.",
            ),
            Self::SourceLimitReached => entry(
                "source-limit-reached",
                403,
                "The page has as many product sources as it may have",
                "A page may have 3 product sources. Delete one first.",
            ),
            Self::SourceUnknown => entry(
                "source-unknown",
                404,
                "There is no product source with this id",
                "The page has no product source with this id. GET /pages/{id}/product-sources lists them. A push meets it too if the source does not take pushes.",
            ),
            Self::RefreshTooEarly => entry(
                "refresh-too-early",
                429,
                "The product source was refreshed a moment ago",
                "A product source can be refreshed every 15 minutes, and every minute if it takes pushes. Retry-After says when the next refresh is taken.",
            ),
            Self::LinkUnknown => entry(
                "link-unknown",
                404,
                "The page has no link with this id",
                "The page has no link with this id. GET /pages/{id} shows the links it has.",
            ),
            Self::RevisionUnknown => entry(
                "revision-unknown",
                404,
                "The revision is not kept",
                "The last 10 revisions of a page are kept. GET /pages/{id}/revisions lists them.",
            ),
            Self::WebhookUnknown => entry(
                "webhook-unknown",
                404,
                "There is no such webhook",
                "The account has no webhook with this id. It may have been deleted.",
            ),
            Self::DeliveryUnknown => entry(
                "delivery-unknown",
                404,
                "There is no such delivery",
                "The webhook has no delivery with this id. Deliveries are kept for 30 days.",
            ),
            Self::EventUnknown => entry(
                "event-unknown",
                404,
                "There is no such event",
                "The account has no event with this id. Events are kept for 30 days, and only those that a webhook wants.",
            ),
            Self::MethodNotAllowed => entry(
                "method-not-allowed",
                405,
                "The route does not take this method",
                "The header Allow lists the methods it takes.",
            ),
            Self::RequestTimeout => entry(
                "request-timeout",
                408,
                "The request did not arrive in time",
                "Headers must be complete within 20 seconds, and a body may not pause for 60.",
            ),
            Self::KeyConflict => entry(
                "key-conflict",
                409,
                "The key is not in a state that allows this",
                "A revoked key cannot be changed or rotated. Issue a new one.",
            ),
            Self::IdempotencyConflict => entry(
                "idempotency-conflict",
                409,
                "The request cannot be repeated now",
                "Another request with the same Idempotency-Key is in flight, or its response cannot be made again. The detail says which.",
            ),
            Self::SlugTaken => entry(
                "slug-taken",
                409,
                "The slug is taken",
                "Another page has the slug, or had it and may still take it back. suggestions lists slugs that can be had.",
            ),
            Self::PageGone => entry(
                "page-gone",
                410,
                "The page is not here any more",
                "There was a page at this address. Its owner or the operator took it down.",
            ),
            Self::RevisionMismatch => entry(
                "revision-mismatch",
                412,
                "The page was changed since it was read",
                "If-Match names another version than the one there is. Read the page again, repeat the change, and send its new ETag.",
            ),
            Self::BodyTooLarge => {
                entry("body-too-large", 413, "The body is too large", "The detail names the limit in bytes.")
            }
            Self::TargetTooLong => entry(
                "target-too-long",
                414,
                "The path and query are too long",
                "Path and query together may have 8,192 bytes. Send more in the body of a POST.",
            ),
            Self::MediaTypeUnsupported => entry(
                "media-type-unsupported",
                415,
                "The body's media type is not accepted",
                "Bodies are application/json unless the tool takes other types; Accept lists what it takes. A PATCH may also be application/merge-patch+json. The gateway's own APIs take no body with a Content-Encoding.",
            ),
            Self::ExpectationFailed => entry(
                "expectation-failed",
                417,
                "The expectation cannot be met",
                "The only expectation that is understood is 100-continue.",
            ),
            Self::FieldsInvalid => entry(
                "fields-invalid",
                422,
                "Some fields are not acceptable",
                "errors lists every fault with a JSON Pointer to the value.",
            ),
            Self::IdempotencyKeyReused => entry(
                "idempotency-key-reused",
                422,
                "The Idempotency-Key belongs to another request",
                "The same Idempotency-Key was sent with other fields within the last 24 hours. Send a new one with a new request.",
            ),
            Self::AnalyticsTooWide => entry(
                "analytics-too-wide",
                422,
                "The period has too many events for this report",
                "A report with filters or with several groups reads at most 30,000,000 events of a page. Ask for the period from answered_start to answered_end, or for totals and one group without filters, which have no limit.",
            ),
            Self::QuotaExceeded => entry(
                "quota-exceeded",
                429,
                "The key's quota is used up",
                "The key has made as many calls as its tier allows within a minute or a day. Retry-After says when the next call will pass; RateLimit-Policy shows the limits. A refused call is not counted.",
            ),
            Self::AttemptsExceeded => entry(
                "attempts-exceeded",
                429,
                "Too many wrong admin secrets",
                "Wrong admin secrets are counted per address. Retry-After says when the next attempt is taken.",
            ),
            Self::TooManyRequests => entry(
                "too-many-requests",
                429,
                "Too many requests from this address",
                "The address sends more than the machine takes from one client. This protects the machine; it is not your key's quota.",
            ),
            Self::HeadersTooLarge => entry(
                "headers-too-large",
                431,
                "The headers are too large",
                "Headers may have 128 lines and 65,536 bytes in all.",
            ),
            Self::Internal => entry(
                "internal",
                500,
                "Something went wrong here",
                "The fault is on our side and has been logged under request_id.",
            ),
            Self::UpgradeUnsupported => entry(
                "upgrade-unsupported",
                501,
                "WebSockets are not supported",
                "Tools are called with requests and responses. For messages as they come, a tool may respond with an event stream. The call does not count.",
            ),
            Self::ToolUnavailable => entry(
                "tool-unavailable",
                503,
                "The tool is not available",
                "No server of the tool can be reached. Retry-After says when it is looked at next. The call does not count against the day.",
            ),
            Self::ToolTimeout => entry(
                "tool-timeout",
                503,
                "The tool did not respond in time",
                "The tool took longer than it may. The call does not count against the day.",
            ),
            Self::ToolOverloaded => entry(
                "tool-overloaded",
                503,
                "The tool has too much to do",
                "As many calls are in flight as the tool takes at once. The call does not count against the day.",
            ),
            Self::ToolDisabled => entry(
                "tool-disabled",
                503,
                "The tool is switched off",
                "The operator has switched the tool off, for maintenance for instance. Retry-After says until when, where that is known.",
            ),
            Self::ResponseAborted => entry(
                "response-aborted",
                503,
                "The tool broke off its response",
                "The tool's server died or fell silent in the middle of its response, whose status was sent before. An event stream then ends with an event named error, whose data is this problem. What came before it is the tool's own and may be incomplete. The call does not count against the day.",
            ),
            Self::OriginInvalid => entry(
                "origin-invalid",
                503,
                "The data center cannot be reached",
                "Another server than the gateway's own responded in the data center's place. Its response is not passed on, and the call does not count against the day.",
            ),
            Self::KeyStoreUnavailable => entry(
                "key-store-unavailable",
                503,
                "The key cannot be checked right now",
                "The store of keys did not respond. This says nothing about your key; try again.",
            ),
            Self::MeterUnavailable => entry(
                "meter-unavailable",
                503,
                "The quota cannot be checked right now",
                "The meter of your key did not respond, and its tier waits rather than risk a call over the limit. Try again.",
            ),
            Self::PagesUnavailable => entry(
                "pages-unavailable",
                503,
                "The store of pages does not respond",
                "The account's pages cannot be read or changed at the moment. Retry-After says when to try again.",
            ),
            Self::WebhooksUnavailable => entry(
                "webhooks-unavailable",
                503,
                "The store of webhooks does not respond",
                "The account's webhooks cannot be read or changed at the moment. Retry-After says when to try again. Events wait meanwhile, and none is lost.",
            ),
            Self::NotConfigured => entry(
                "not-configured",
                503,
                "This part of the gateway is not set up",
                "The operator's deployment lacks a binding or a secret that this route needs, or has a bad one. The detail names the part. Calls of tools, limits and GET /v1/keys/me work without it.",
            ),
        }
    }
}
