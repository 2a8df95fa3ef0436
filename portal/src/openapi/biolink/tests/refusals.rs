//! The refusals of operations, and their parameters, which follow from the rows of their routes.

use super::*;

/// What any operation may be refused with.
const ANYWHERE: [&str; 5] =
    ["MethodNotAllowed", "TargetTooLong", "ExpectationFailed", "HeadersTooLarge", "Internal"];

/// Returns the rows of all routes that the description has, each with its refusals.
fn expected() -> Vec<(Endpoint, Vec<&'static str>)> {
    let push = [
        "MalformedBody",
        "PushUnsigned",
        "SourceUnknown",
        "Stalled",
        "BodyTooLarge",
        "MediaTypeUnsupported",
        "PushLimited",
        "Unavailable",
    ];
    let others =
        [(Endpoint::Asset(Asset::PagesOpenApi), vec!["Malformed"]), (Endpoint::PushProducts, push.to_vec())];
    let pages = PagesEndpoint::ALL.map(|own| (Endpoint::Pages(own), of_pages(own)));
    let admin = AdminEndpoint::ALL.map(|own| (Endpoint::Admin(own), of_admin(own)));
    let webhooks = WebhooksEndpoint::ALL.map(|own| (Endpoint::Webhooks(own), of_webhooks(own)));
    others.into_iter().chain(pages).chain(admin).chain(webhooks).collect()
}

#[test]
fn refusals_follow_from_the_route() {
    let document = document(SERVER);
    for (endpoint, refusals) in expected() {
        let method = endpoint.method().as_str().to_lowercase();
        let responses = document["paths"][endpoint.path()][&method]["responses"].as_object().unwrap();
        let mut described = BTreeSet::new();
        for (status, response) in responses {
            let Some(name) = response["$ref"].as_str().and_then(|target| target.rsplit('/').next()) else {
                continue;
            };
            described.insert(name);
            for code in openapi::tests::codes_of(&document["components"]["responses"][name]) {
                assert_eq!(code.status().to_string(), *status, "{endpoint:?} {name}");
            }
        }
        let refusals: BTreeSet<_> = refusals.into_iter().chain(ANYWHERE).collect();
        assert_eq!(described, refusals, "{endpoint:?}");
    }
}

#[test]
fn parameters_follow_from_the_route() {
    let document = document(SERVER);
    for (endpoint, _) in expected() {
        let path = endpoint.path();
        let method = endpoint.method().as_str().to_lowercase();
        let operation = &document["paths"][&path][&method];
        let parameters = operation["parameters"].as_array().into_iter().flatten();
        let parameters: Vec<_> = parameters.map(|parameter| resolve(&document, parameter)).collect();
        let places: BTreeSet<_> = parameters
            .iter()
            .filter(|parameter| parameter["in"] == "path")
            .map(|parameter| format!("{{{}}}", parameter["name"].as_str().unwrap()))
            .collect();
        let named = path.split('/').filter(|segment| segment.starts_with('{')).map(str::to_owned);
        assert_eq!(places, named.collect(), "{endpoint:?}");
        let has = |name: &str| parameters.iter().any(|parameter| parameter["name"] == name);
        let (dry_run, once, if_match) = match endpoint {
            Endpoint::Pages(own) => (own.is_write(), own.takes_idempotency_key(), takes_revision(own)),
            Endpoint::Webhooks(own) => (own.takes_dry_run(), own.takes_idempotency_key(), false),
            _ => (false, false, false),
        };
        assert_eq!(has("dry_run"), dry_run, "{endpoint:?}");
        assert_eq!(has("Idempotency-Key"), once, "{endpoint:?}");
        assert_eq!(has("If-Match"), if_match, "{endpoint:?}");
        let has_body = match endpoint {
            Endpoint::Pages(own) => own.has_body() || own == PagesEndpoint::UploadImage,
            Endpoint::Webhooks(own) => own.has_body(),
            Endpoint::Admin(own) => own.has_body(),
            endpoint => endpoint == Endpoint::PushProducts,
        };
        assert_eq!(operation.get("requestBody").is_some(), has_body, "{endpoint:?}");
    }
}

/// Returns true if a call may name the revision that it changes.
fn takes_revision(endpoint: PagesEndpoint) -> bool {
    endpoint.is_write()
        && endpoint.path().contains("{page_id}")
        && endpoint != PagesEndpoint::ResetAnalytics
        && !endpoint.is_of_sources()
}

/// Returns what a request with a body, or without one, may be refused with.
fn of_body(has_body: bool) -> &'static [&'static str] {
    match has_body {
        true => &["MalformedBody", "Stalled", "BodyTooLarge", "MediaTypeUnsupported"],
        false => &["Malformed"],
    }
}

/// Returns what a call of the operator may be refused with.
fn of_admin(endpoint: AdminEndpoint) -> Vec<&'static str> {
    let mut refusals =
        vec!["AdminMissing", "AdminRefused", "FieldsInvalid", "AttemptsExceeded", "Unavailable"];
    refusals.extend(of_body(endpoint.has_body()));
    if endpoint.path().contains("{page_id}") {
        refusals.push("PageUnknown");
    } else if endpoint.path().contains("{id}") {
        refusals.push("AccountUnknown");
    }
    refusals
}

/// Returns what a call of the pages API may be refused with: it follows from the row of its route.
fn of_pages(endpoint: PagesEndpoint) -> Vec<&'static str> {
    let path = endpoint.path();
    let is_repeatable = endpoint.takes_idempotency_key();
    let is_report = matches!(endpoint, PagesEndpoint::Analytics | PagesEndpoint::LiveAnalytics);
    let has_slug = matches!(endpoint, PagesEndpoint::Create | PagesEndpoint::Replace | PagesEndpoint::Patch);
    let is_free = matches!(endpoint, PagesEndpoint::Account | PagesEndpoint::Erase);
    let is_upload = endpoint == PagesEndpoint::UploadImage;
    let mut refusals = vec!["KeyRefused", if is_upload { "ImagesUnavailable" } else { "Unavailable" }];
    refusals.push(match endpoint {
        PagesEndpoint::Analytics => "FieldsInvalidOrTooWide",
        _ if is_repeatable => "FieldsInvalidOrReused",
        _ => "FieldsInvalid",
    });
    refusals.push(match endpoint {
        PagesEndpoint::Analytics => "WindowExceeded",
        _ if !endpoint.needs_plan() => "ScopeMissing",
        PagesEndpoint::Create => "PageLimitReached",
        PagesEndpoint::CreateSource => "SourceLimitReached",
        PagesEndpoint::UploadImage => "ImageLimitReached",
        PagesEndpoint::CreateDomain => "DomainLimitReached",
        PagesEndpoint::Replace | PagesEndpoint::Patch | PagesEndpoint::Publish | PagesEndpoint::Delete => {
            "PageSuspended"
        }
        _ => "PlanRequired",
    });
    refusals.extend(of_body(endpoint.has_body() || is_upload));
    match (is_repeatable, has_slug) {
        _ if endpoint == PagesEndpoint::CreateDomain => refusals.extend(["DomainTakenOrBusy", "PageUnknown"]),
        _ if endpoint == PagesEndpoint::VerifyDomain => refusals.push("DomainTaken"),
        (true, true) => refusals.push("SlugTakenOrBusy"),
        (true, false) => refusals.push("Busy"),
        (false, true) => refusals.push("SlugTaken"),
        (false, false) => {}
    }
    if path.contains("{link_id}") {
        refusals.push("LinkUnknown");
    } else if path.contains("{source_id}") {
        refusals.push("SourceUnknown");
    } else if path.contains("{domain_id}") {
        refusals.push("DomainUnknown");
    } else if path.contains("{image_id}") {
        refusals.push("ImageUnknown");
    } else if path.contains("{revision}") {
        refusals.push("RevisionUnknown");
    } else if path.contains("{page_id}") || is_report {
        refusals.push("PageUnknown");
    }
    if takes_revision(endpoint) {
        refusals.push("RevisionMismatch");
    }
    if endpoint == PagesEndpoint::RefreshSource {
        refusals.push("RefreshLimited");
    } else if !is_free {
        refusals.push("QuotaExceeded");
    }
    refusals
}

/// Returns what a call of the webhooks API may be refused with: it follows from the row of its route.
fn of_webhooks(endpoint: WebhooksEndpoint) -> Vec<&'static str> {
    use WebhooksEndpoint as E;
    let path = endpoint.path();
    let mut refusals = vec!["KeyRefused"];
    refusals.extend(match endpoint {
        E::Create => ["WebhookLimitReached", "FieldsInvalidOrReused"],
        _ => ["PlanRequired", "FieldsInvalid"],
    });
    // Schemas and samples need no account.
    match endpoint {
        E::Schema => refusals.extend(["KeysUnavailable", "KindUnknown"]),
        E::Samples => refusals.push("KeysUnavailable"),
        _ => refusals.extend(["WebhooksUnavailable", "QuotaExceeded"]),
    }
    refusals.extend(of_body(endpoint.has_body()));
    if endpoint == E::Create {
        refusals.extend(["WebhookDeleted", "Busy"]);
    } else if path.contains("{delivery_id}") {
        refusals.push("DeliveryUnknown");
    } else if path.contains("{webhook_id}") {
        refusals.push("WebhookUnknown");
    } else if path.contains("{event_id}") {
        refusals.push("EventUnknown");
    } else if endpoint == E::Events {
        // Of one page.
        refusals.push("PageUnknown");
    }
    refusals
}
