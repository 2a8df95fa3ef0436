//! The refusals of the pages API: problems of one status that operations share.

use serde_json::{Map, Value};

use super::super::{problem_response, reference};
use crate::{
    problem::Code,
    route::{AdminEndpoint, PagesEndpoint, WebhooksEndpoint},
};

/// A response component: problems of one status.
pub(super) struct Refusal {
    name: &'static str,
    codes: &'static [Code],
    headers: &'static [&'static str],
}

const USUAL: &[&str] = &["x-request-id", "x-gateway-problem"];
const LATER: &[&str] = &["x-request-id", "x-gateway-problem", "retry-after"];

const fn refusal(name: &'static str, codes: &'static [Code]) -> Refusal {
    Refusal { name, codes, headers: USUAL }
}

const MALFORMED: Refusal = refusal("Malformed", &[Code::PathMalformed, Code::HeaderMalformed]);
const MALFORMED_BODY: Refusal =
    refusal("MalformedBody", &[Code::BodyMalformed, Code::PathMalformed, Code::HeaderMalformed]);
const KEY_REFUSED: Refusal = Refusal {
    name: "KeyRefused",
    codes: &[
        Code::KeyMissing,
        Code::KeyMalformed,
        Code::KeyInvalid,
        Code::KeyExpired,
        Code::KeyRevoked,
        Code::KeyDisabled,
    ],
    headers: &["x-request-id", "x-gateway-problem", "www-authenticate"],
};
const HTTPS_REQUIRED: Refusal = refusal("HttpsRequired", &[Code::HttpsRequired]);
const PLAN_REQUIRED: Refusal = refusal("PlanRequired", &[Code::PlanRequired, Code::HttpsRequired]);
const PAGE_LIMIT_REACHED: Refusal = refusal(
    "PageLimitReached",
    &[Code::PageLimitReached, Code::PageSuspended, Code::PlanRequired, Code::HttpsRequired],
);
const PAGE_SUSPENDED: Refusal =
    refusal("PageSuspended", &[Code::PageSuspended, Code::PlanRequired, Code::HttpsRequired]);
const WINDOW_EXCEEDED: Refusal =
    refusal("WindowExceeded", &[Code::AnalyticsWindowExceeded, Code::HttpsRequired]);
const ADMIN_MISSING: Refusal = Refusal {
    name: "AdminMissing",
    codes: &[Code::AdminRequired],
    headers: &["x-request-id", "x-gateway-problem", "www-authenticate"],
};
const ADMIN_REFUSED: Refusal = refusal("AdminRefused", &[Code::AdminSecretInvalid, Code::HttpsRequired]);
const ACCOUNT_UNKNOWN: Refusal = refusal("AccountUnknown", &[Code::KeyUnknown, Code::RouteUnknown]);
const ATTEMPTS_EXCEEDED: Refusal =
    Refusal { name: "AttemptsExceeded", codes: &[Code::AttemptsExceeded], headers: LATER };
const PAGE_UNKNOWN: Refusal = refusal("PageUnknown", &[Code::PageUnknown, Code::RouteUnknown]);
const LINK_UNKNOWN: Refusal =
    refusal("LinkUnknown", &[Code::LinkUnknown, Code::PageUnknown, Code::RouteUnknown]);
const WEBHOOK_LIMIT_REACHED: Refusal =
    refusal("WebhookLimitReached", &[Code::WebhookLimitReached, Code::PlanRequired, Code::HttpsRequired]);
/// Of a repeated creation, if the webhook that the first one made was deleted.
const WEBHOOK_DELETED: Refusal = refusal("WebhookDeleted", &[Code::WebhookUnknown]);
const WEBHOOK_UNKNOWN: Refusal = refusal("WebhookUnknown", &[Code::WebhookUnknown, Code::RouteUnknown]);
const DELIVERY_UNKNOWN: Refusal =
    refusal("DeliveryUnknown", &[Code::DeliveryUnknown, Code::WebhookUnknown, Code::RouteUnknown]);
const EVENT_UNKNOWN: Refusal = refusal("EventUnknown", &[Code::EventUnknown, Code::RouteUnknown]);
const KIND_UNKNOWN: Refusal = refusal("KindUnknown", &[Code::RouteUnknown]);
const REVISION_UNKNOWN: Refusal =
    refusal("RevisionUnknown", &[Code::RevisionUnknown, Code::PageUnknown, Code::RouteUnknown]);
const SOURCE_UNKNOWN: Refusal =
    refusal("SourceUnknown", &[Code::SourceUnknown, Code::PageUnknown, Code::RouteUnknown]);
const SOURCE_LIMIT_REACHED: Refusal =
    refusal("SourceLimitReached", &[Code::SourceLimitReached, Code::PlanRequired, Code::HttpsRequired]);
const PUSH_UNSIGNED: Refusal = Refusal {
    name: "PushUnsigned",
    codes: &[Code::SignatureInvalid],
    headers: &["x-request-id", "x-gateway-problem", "www-authenticate"],
};
const PUSH_LIMITED: Refusal =
    Refusal { name: "PushLimited", codes: &[Code::TooManyRequests], headers: LATER };
const REFRESH_LIMITED: Refusal = Refusal {
    name: "RefreshLimited",
    codes: &[Code::RefreshTooEarly, Code::QuotaExceeded],
    headers: &["x-request-id", "x-gateway-problem", "retry-after", "ratelimit", "ratelimit-policy"],
};
const METHOD_NOT_ALLOWED: Refusal = Refusal {
    name: "MethodNotAllowed",
    codes: &[Code::MethodNotAllowed],
    headers: &["x-request-id", "x-gateway-problem", "allow"],
};
const STALLED: Refusal = refusal("Stalled", &[Code::RequestTimeout]);
const BUSY: Refusal = Refusal { name: "Busy", codes: &[Code::IdempotencyConflict], headers: LATER };
const SLUG_TAKEN: Refusal = refusal("SlugTaken", &[Code::SlugTaken]);
const SLUG_TAKEN_OR_BUSY: Refusal =
    Refusal { name: "SlugTakenOrBusy", codes: &[Code::SlugTaken, Code::IdempotencyConflict], headers: LATER };
const REVISION_MISMATCH: Refusal = Refusal {
    name: "RevisionMismatch",
    codes: &[Code::RevisionMismatch],
    headers: &["x-request-id", "x-gateway-problem", "etag"],
};
const BODY_TOO_LARGE: Refusal = refusal("BodyTooLarge", &[Code::BodyTooLarge]);
const TARGET_TOO_LONG: Refusal = refusal("TargetTooLong", &[Code::TargetTooLong]);
const MEDIA_TYPE_UNSUPPORTED: Refusal = Refusal {
    name: "MediaTypeUnsupported",
    codes: &[Code::MediaTypeUnsupported],
    headers: &["x-request-id", "x-gateway-problem", "accept"],
};
const EXPECTATION_FAILED: Refusal = refusal("ExpectationFailed", &[Code::ExpectationFailed]);
const FIELDS_INVALID: Refusal = refusal("FieldsInvalid", &[Code::FieldsInvalid]);
const FIELDS_INVALID_OR_REUSED: Refusal =
    refusal("FieldsInvalidOrReused", &[Code::FieldsInvalid, Code::IdempotencyKeyReused]);
const FIELDS_INVALID_OR_TOO_WIDE: Refusal =
    refusal("FieldsInvalidOrTooWide", &[Code::FieldsInvalid, Code::AnalyticsTooWide]);
const QUOTA_EXCEEDED: Refusal = Refusal {
    name: "QuotaExceeded",
    codes: &[Code::QuotaExceeded],
    headers: &["x-request-id", "x-gateway-problem", "retry-after", "ratelimit", "ratelimit-policy"],
};
const HEADERS_TOO_LARGE: Refusal = refusal("HeadersTooLarge", &[Code::HeadersTooLarge]);
const INTERNAL: Refusal = refusal("Internal", &[Code::Internal]);
const UNAVAILABLE: Refusal = Refusal {
    name: "Unavailable",
    codes: &[Code::PagesUnavailable, Code::KeyStoreUnavailable, Code::MeterUnavailable, Code::NotConfigured],
    headers: LATER,
};
const KEYS_UNAVAILABLE: Refusal = Refusal {
    name: "KeysUnavailable",
    codes: &[Code::KeyStoreUnavailable, Code::MeterUnavailable, Code::NotConfigured],
    headers: LATER,
};
const WEBHOOKS_UNAVAILABLE: Refusal = Refusal {
    name: "WebhooksUnavailable",
    codes: &[
        Code::WebhooksUnavailable,
        Code::PagesUnavailable,
        Code::KeyStoreUnavailable,
        Code::MeterUnavailable,
        Code::NotConfigured,
    ],
    headers: LATER,
};

const ALL: [&Refusal; 45] = [
    &PUSH_LIMITED,
    &SOURCE_UNKNOWN,
    &SOURCE_LIMIT_REACHED,
    &PUSH_UNSIGNED,
    &REFRESH_LIMITED,
    &MALFORMED,
    &MALFORMED_BODY,
    &KEY_REFUSED,
    &HTTPS_REQUIRED,
    &PLAN_REQUIRED,
    &PAGE_LIMIT_REACHED,
    &PAGE_SUSPENDED,
    &WINDOW_EXCEEDED,
    &ADMIN_MISSING,
    &ADMIN_REFUSED,
    &ACCOUNT_UNKNOWN,
    &ATTEMPTS_EXCEEDED,
    &PAGE_UNKNOWN,
    &LINK_UNKNOWN,
    &REVISION_UNKNOWN,
    &WEBHOOK_LIMIT_REACHED,
    &WEBHOOK_DELETED,
    &WEBHOOK_UNKNOWN,
    &DELIVERY_UNKNOWN,
    &EVENT_UNKNOWN,
    &KIND_UNKNOWN,
    &METHOD_NOT_ALLOWED,
    &STALLED,
    &BUSY,
    &SLUG_TAKEN,
    &SLUG_TAKEN_OR_BUSY,
    &REVISION_MISMATCH,
    &BODY_TOO_LARGE,
    &TARGET_TOO_LONG,
    &MEDIA_TYPE_UNSUPPORTED,
    &EXPECTATION_FAILED,
    &FIELDS_INVALID,
    &FIELDS_INVALID_OR_REUSED,
    &FIELDS_INVALID_OR_TOO_WIDE,
    &QUOTA_EXCEEDED,
    &HEADERS_TOO_LARGE,
    &INTERNAL,
    &UNAVAILABLE,
    &KEYS_UNAVAILABLE,
    &WEBHOOKS_UNAVAILABLE,
];

impl Refusal {
    /// Returns a reference to the component, under its status.
    pub(super) fn refer(&self) -> (String, Value) {
        let status = self.codes.first().map_or(0, |code| code.status());
        (status.to_string(), reference("responses", self.name))
    }
}

/// Returns the components by name.
pub(super) fn components() -> Map<String, Value> {
    let component =
        |refusal: &Refusal| (refusal.name.to_owned(), problem_response(refusal.codes, refusal.headers));
    ALL.into_iter().map(component).collect()
}

/// Returns the codes of all refusals.
#[cfg(test)]
pub(super) fn codes() -> impl Iterator<Item = (&'static str, &'static [Code])> {
    ALL.into_iter().map(|refusal| (refusal.name, refusal.codes))
}

/// Returns what any operation may be refused with.
pub(super) const fn anywhere() -> [&'static Refusal; 5] {
    [&METHOD_NOT_ALLOWED, &TARGET_TOO_LONG, &EXPECTATION_FAILED, &HEADERS_TOO_LARGE, &INTERNAL]
}

/// Returns what an operation without a key may be refused with.
pub(super) fn of_open() -> Vec<&'static Refusal> {
    [&MALFORMED].into_iter().chain(anywhere()).collect()
}

/// Returns what a push of a shop may be refused with.
pub(super) fn of_push() -> Vec<&'static Refusal> {
    let own = [&MALFORMED_BODY, &PUSH_UNSIGNED, &SOURCE_UNKNOWN, &STALLED, &BODY_TOO_LARGE, &PUSH_LIMITED];
    own.into_iter().chain([&MEDIA_TYPE_UNSUPPORTED, &UNAVAILABLE]).chain(anywhere()).collect()
}

/// Returns what a call of the operator may be refused with.
pub(super) fn of_admin(endpoint: AdminEndpoint) -> Vec<&'static Refusal> {
    let mut refusals =
        vec![&ADMIN_MISSING, &ADMIN_REFUSED, &FIELDS_INVALID, &ATTEMPTS_EXCEEDED, &UNAVAILABLE];
    refusals.extend(anywhere());
    if endpoint.has_body() {
        refusals.extend([&MALFORMED_BODY, &STALLED, &BODY_TOO_LARGE, &MEDIA_TYPE_UNSUPPORTED]);
    } else {
        refusals.push(&MALFORMED);
    }
    if endpoint.path().contains("{page_id}") {
        refusals.push(&PAGE_UNKNOWN);
    } else if endpoint.path().contains("{id}") {
        refusals.push(&ACCOUNT_UNKNOWN);
    }
    refusals
}

/// Returns what a call of the pages API may be refused with: it follows from the row of its route.
pub(super) fn of_pages(endpoint: PagesEndpoint) -> Vec<&'static Refusal> {
    let path = endpoint.path();
    let is_repeatable = endpoint.takes_idempotency_key();
    let is_report = matches!(endpoint, PagesEndpoint::Analytics | PagesEndpoint::LiveAnalytics);
    let has_slug = matches!(endpoint, PagesEndpoint::Create | PagesEndpoint::Replace | PagesEndpoint::Patch);
    let is_free = matches!(endpoint, PagesEndpoint::Account | PagesEndpoint::Erase);
    let mut refusals = vec![&KEY_REFUSED, &UNAVAILABLE];
    refusals.extend(anywhere());
    refusals.push(match endpoint {
        PagesEndpoint::Analytics => &FIELDS_INVALID_OR_TOO_WIDE,
        _ if is_repeatable => &FIELDS_INVALID_OR_REUSED,
        _ => &FIELDS_INVALID,
    });
    refusals.push(match endpoint {
        PagesEndpoint::Analytics => &WINDOW_EXCEEDED,
        _ if !endpoint.needs_plan() => &HTTPS_REQUIRED,
        PagesEndpoint::Create => &PAGE_LIMIT_REACHED,
        PagesEndpoint::CreateSource => &SOURCE_LIMIT_REACHED,
        PagesEndpoint::Replace | PagesEndpoint::Patch | PagesEndpoint::Publish | PagesEndpoint::Delete => {
            &PAGE_SUSPENDED
        }
        _ => &PLAN_REQUIRED,
    });
    if endpoint.has_body() {
        refusals.extend([&MALFORMED_BODY, &STALLED, &BODY_TOO_LARGE, &MEDIA_TYPE_UNSUPPORTED]);
    } else {
        refusals.push(&MALFORMED);
    }
    match (is_repeatable, has_slug) {
        (true, true) => refusals.push(&SLUG_TAKEN_OR_BUSY),
        (true, false) => refusals.push(&BUSY),
        (false, true) => refusals.push(&SLUG_TAKEN),
        (false, false) => {}
    }
    if path.contains("{link_id}") {
        refusals.push(&LINK_UNKNOWN);
    } else if path.contains("{source_id}") {
        refusals.push(&SOURCE_UNKNOWN);
    } else if path.contains("{revision}") {
        refusals.push(&REVISION_UNKNOWN);
    } else if path.contains("{page_id}") || is_report {
        refusals.push(&PAGE_UNKNOWN);
    }
    if endpoint.is_write()
        && path.contains("{page_id}")
        && endpoint != PagesEndpoint::ResetAnalytics
        && !endpoint.is_of_sources()
    {
        refusals.push(&REVISION_MISMATCH);
    }
    if endpoint == PagesEndpoint::RefreshSource {
        refusals.push(&REFRESH_LIMITED);
    } else if !is_free {
        refusals.push(&QUOTA_EXCEEDED);
    }
    refusals
}

/// Returns what a call of the webhooks API may be refused with: it follows from the row of its route.
pub(super) fn of_webhooks(endpoint: WebhooksEndpoint) -> Vec<&'static Refusal> {
    use WebhooksEndpoint as E;
    let path = endpoint.path();
    let mut refusals = vec![&KEY_REFUSED];
    refusals.extend(anywhere());
    refusals.extend(match endpoint {
        E::Create => [&WEBHOOK_LIMIT_REACHED, &FIELDS_INVALID_OR_REUSED],
        _ => [&PLAN_REQUIRED, &FIELDS_INVALID],
    });
    // A schema needs no account.
    match endpoint {
        E::Schema => refusals.extend([&KEYS_UNAVAILABLE, &KIND_UNKNOWN]),
        _ => refusals.extend([&WEBHOOKS_UNAVAILABLE, &QUOTA_EXCEEDED]),
    }
    if endpoint.has_body() {
        refusals.extend([&MALFORMED_BODY, &STALLED, &BODY_TOO_LARGE, &MEDIA_TYPE_UNSUPPORTED]);
    } else {
        refusals.push(&MALFORMED);
    }
    if endpoint == E::Create {
        refusals.push(&WEBHOOK_DELETED);
    } else if path.contains("{delivery_id}") {
        refusals.push(&DELIVERY_UNKNOWN);
    } else if path.contains("{webhook_id}") {
        refusals.push(&WEBHOOK_UNKNOWN);
    } else if path.contains("{event_id}") {
        refusals.push(&EVENT_UNKNOWN);
    }
    refusals
}
