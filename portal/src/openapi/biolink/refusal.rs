//! The refusals of the pages API: problems of one status that operations share.

use biolink::codes;
use biolink::route::{AdminEndpoint, PagesEndpoint, WebhooksEndpoint};
use serde_json::{Map, Value};
use shared::problem::Code;

use super::super::{problem_response, reference};

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

const MALFORMED: Refusal = refusal("Malformed", &[codes::PATH_MALFORMED, codes::HEADER_MALFORMED]);
const MALFORMED_BODY: Refusal =
    refusal("MalformedBody", &[codes::BODY_MALFORMED, codes::PATH_MALFORMED, codes::HEADER_MALFORMED]);
const KEY_REFUSED: Refusal = Refusal {
    name: "KeyRefused",
    codes: &[
        codes::KEY_MISSING,
        codes::KEY_MALFORMED,
        codes::KEY_INVALID,
        codes::KEY_EXPIRED,
        codes::KEY_REVOKED,
        codes::KEY_DISABLED,
    ],
    headers: &["x-request-id", "x-gateway-problem", "www-authenticate"],
};
const HTTPS_REQUIRED: Refusal = refusal("HttpsRequired", &[codes::HTTPS_REQUIRED]);
const PLAN_REQUIRED: Refusal = refusal("PlanRequired", &[codes::PLAN_REQUIRED, codes::HTTPS_REQUIRED]);
const PAGE_LIMIT_REACHED: Refusal = refusal(
    "PageLimitReached",
    &[codes::PAGE_LIMIT_REACHED, codes::PAGE_SUSPENDED, codes::PLAN_REQUIRED, codes::HTTPS_REQUIRED],
);
const PAGE_SUSPENDED: Refusal =
    refusal("PageSuspended", &[codes::PAGE_SUSPENDED, codes::PLAN_REQUIRED, codes::HTTPS_REQUIRED]);
const WINDOW_EXCEEDED: Refusal =
    refusal("WindowExceeded", &[codes::ANALYTICS_WINDOW_EXCEEDED, codes::HTTPS_REQUIRED]);
const ADMIN_MISSING: Refusal = Refusal {
    name: "AdminMissing",
    codes: &[codes::ADMIN_REQUIRED],
    headers: &["x-request-id", "x-gateway-problem", "www-authenticate"],
};
const ADMIN_REFUSED: Refusal = refusal("AdminRefused", &[codes::ADMIN_SECRET_INVALID, codes::HTTPS_REQUIRED]);
const ACCOUNT_UNKNOWN: Refusal = refusal("AccountUnknown", &[codes::KEY_UNKNOWN, codes::ROUTE_UNKNOWN]);
const ATTEMPTS_EXCEEDED: Refusal =
    Refusal { name: "AttemptsExceeded", codes: &[codes::ATTEMPTS_EXCEEDED], headers: LATER };
const PAGE_UNKNOWN: Refusal = refusal("PageUnknown", &[codes::PAGE_UNKNOWN, codes::ROUTE_UNKNOWN]);
const LINK_UNKNOWN: Refusal =
    refusal("LinkUnknown", &[codes::LINK_UNKNOWN, codes::PAGE_UNKNOWN, codes::ROUTE_UNKNOWN]);
const WEBHOOK_LIMIT_REACHED: Refusal = refusal(
    "WebhookLimitReached",
    &[codes::WEBHOOK_LIMIT_REACHED, codes::PLAN_REQUIRED, codes::HTTPS_REQUIRED],
);
/// Of a repeated creation, if the webhook that the first one made was deleted.
const WEBHOOK_DELETED: Refusal = refusal("WebhookDeleted", &[codes::WEBHOOK_UNKNOWN]);
const WEBHOOK_UNKNOWN: Refusal = refusal("WebhookUnknown", &[codes::WEBHOOK_UNKNOWN, codes::ROUTE_UNKNOWN]);
const DELIVERY_UNKNOWN: Refusal =
    refusal("DeliveryUnknown", &[codes::DELIVERY_UNKNOWN, codes::WEBHOOK_UNKNOWN, codes::ROUTE_UNKNOWN]);
const EVENT_UNKNOWN: Refusal = refusal("EventUnknown", &[codes::EVENT_UNKNOWN, codes::ROUTE_UNKNOWN]);
const KIND_UNKNOWN: Refusal = refusal("KindUnknown", &[codes::ROUTE_UNKNOWN]);
const REVISION_UNKNOWN: Refusal =
    refusal("RevisionUnknown", &[codes::REVISION_UNKNOWN, codes::PAGE_UNKNOWN, codes::ROUTE_UNKNOWN]);
const SOURCE_UNKNOWN: Refusal =
    refusal("SourceUnknown", &[codes::SOURCE_UNKNOWN, codes::PAGE_UNKNOWN, codes::ROUTE_UNKNOWN]);
const SOURCE_LIMIT_REACHED: Refusal = refusal(
    "SourceLimitReached",
    &[codes::SOURCE_LIMIT_REACHED, codes::PLAN_REQUIRED, codes::HTTPS_REQUIRED],
);
const PUSH_UNSIGNED: Refusal = Refusal {
    name: "PushUnsigned",
    codes: &[codes::SIGNATURE_INVALID],
    headers: &["x-request-id", "x-gateway-problem", "www-authenticate"],
};
const PUSH_LIMITED: Refusal =
    Refusal { name: "PushLimited", codes: &[codes::TOO_MANY_REQUESTS], headers: LATER };
const REFRESH_LIMITED: Refusal = Refusal {
    name: "RefreshLimited",
    codes: &[codes::REFRESH_TOO_EARLY, codes::QUOTA_EXCEEDED],
    headers: &["x-request-id", "x-gateway-problem", "retry-after", "ratelimit", "ratelimit-policy"],
};
const METHOD_NOT_ALLOWED: Refusal = Refusal {
    name: "MethodNotAllowed",
    codes: &[codes::METHOD_NOT_ALLOWED],
    headers: &["x-request-id", "x-gateway-problem", "allow"],
};
const STALLED: Refusal = refusal("Stalled", &[codes::REQUEST_TIMEOUT]);
const BUSY: Refusal = Refusal { name: "Busy", codes: &[codes::IDEMPOTENCY_CONFLICT], headers: LATER };
const SLUG_TAKEN: Refusal = refusal("SlugTaken", &[codes::SLUG_TAKEN]);
const SLUG_TAKEN_OR_BUSY: Refusal = Refusal {
    name: "SlugTakenOrBusy",
    codes: &[codes::SLUG_TAKEN, codes::IDEMPOTENCY_CONFLICT],
    headers: LATER,
};
const REVISION_MISMATCH: Refusal = Refusal {
    name: "RevisionMismatch",
    codes: &[codes::REVISION_MISMATCH],
    headers: &["x-request-id", "x-gateway-problem", "etag"],
};
const BODY_TOO_LARGE: Refusal = refusal("BodyTooLarge", &[codes::BODY_TOO_LARGE]);
const TARGET_TOO_LONG: Refusal = refusal("TargetTooLong", &[codes::TARGET_TOO_LONG]);
const MEDIA_TYPE_UNSUPPORTED: Refusal = Refusal {
    name: "MediaTypeUnsupported",
    codes: &[codes::MEDIA_TYPE_UNSUPPORTED],
    headers: &["x-request-id", "x-gateway-problem", "accept"],
};
const EXPECTATION_FAILED: Refusal = refusal("ExpectationFailed", &[codes::EXPECTATION_FAILED]);
const FIELDS_INVALID: Refusal = refusal("FieldsInvalid", &[codes::FIELDS_INVALID]);
const FIELDS_INVALID_OR_REUSED: Refusal =
    refusal("FieldsInvalidOrReused", &[codes::FIELDS_INVALID, codes::IDEMPOTENCY_KEY_REUSED]);
const FIELDS_INVALID_OR_TOO_WIDE: Refusal =
    refusal("FieldsInvalidOrTooWide", &[codes::FIELDS_INVALID, codes::ANALYTICS_TOO_WIDE]);
const QUOTA_EXCEEDED: Refusal = Refusal {
    name: "QuotaExceeded",
    codes: &[codes::QUOTA_EXCEEDED],
    headers: &["x-request-id", "x-gateway-problem", "retry-after", "ratelimit", "ratelimit-policy"],
};
const HEADERS_TOO_LARGE: Refusal = refusal("HeadersTooLarge", &[codes::HEADERS_TOO_LARGE]);
const INTERNAL: Refusal = refusal("Internal", &[codes::INTERNAL]);
const UNAVAILABLE: Refusal = Refusal {
    name: "Unavailable",
    codes: &[
        codes::PAGES_UNAVAILABLE,
        codes::KEY_STORE_UNAVAILABLE,
        codes::METER_UNAVAILABLE,
        codes::NOT_CONFIGURED,
    ],
    headers: LATER,
};
const KEYS_UNAVAILABLE: Refusal = Refusal {
    name: "KeysUnavailable",
    codes: &[codes::KEY_STORE_UNAVAILABLE, codes::METER_UNAVAILABLE, codes::NOT_CONFIGURED],
    headers: LATER,
};
const WEBHOOKS_UNAVAILABLE: Refusal = Refusal {
    name: "WebhooksUnavailable",
    codes: &[
        codes::WEBHOOKS_UNAVAILABLE,
        codes::PAGES_UNAVAILABLE,
        codes::KEY_STORE_UNAVAILABLE,
        codes::METER_UNAVAILABLE,
        codes::NOT_CONFIGURED,
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
