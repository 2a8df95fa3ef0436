//! What follows from the row of a route: its parameters, its refusals, and the headers of its successes.

use std::collections::BTreeMap;

use biolink::codes;
use biolink::page;
use biolink::route::{AdminEndpoint, PagesEndpoint, WebhooksEndpoint};
use biolink::webhooks;
use serde_json::{Value, json};

use super::events::envelope;
use crate::asset::Asset;
use crate::endpoint::Endpoint;

/// The refusals of any operation.
const ANYWHERE: [&str; 5] =
    ["MethodNotAllowed", "TargetTooLong", "ExpectationFailed", "HeadersTooLarge", "Internal"];
const PUSH: [&str; 8] = [
    "MalformedBody",
    "PushUnsigned",
    "SourceUnknown",
    "Stalled",
    "BodyTooLarge",
    "MediaTypeUnsupported",
    "PushLimited",
    "Unavailable",
];

/// Completes the operations, those of receivers of webhooks, and the schemas of requests.
pub(super) fn complete(description: &mut Value) {
    let statuses = statuses(description);
    for (endpoint, refusals) in all() {
        let method = endpoint.method().as_str().to_lowercase();
        let item = description.get_mut("paths").and_then(|paths| paths.get_mut(endpoint.path()));
        let operation = item.and_then(|item| item.get_mut(method)).and_then(Value::as_object_mut);
        let Some(operation) = operation else { continue };
        if matches!(endpoint, Endpoint::Admin(_)) {
            operation.insert("security".to_owned(), json!([{ "AdminSecret": [] }]));
        }
        let mut parameters = parameters(endpoint);
        if let Some(Value::Array(own)) = operation.get("parameters") {
            parameters.extend(own.iter().cloned());
        }
        if !parameters.is_empty() {
            operation.insert("parameters".to_owned(), parameters.into());
        }
        let Some(Value::Object(responses)) = operation.get_mut("responses") else { continue };
        let is_metered = refusals.iter().any(|name| matches!(*name, "QuotaExceeded" | "RefreshLimited"));
        responses.values_mut().for_each(|response| add_headers(response, is_metered));
        for name in refusals.into_iter().chain(ANYWHERE) {
            if let Some(status) = statuses.get(name) {
                responses.insert(status.clone(), name.into());
            }
        }
    }
    for (schema, names) in [
        ("PageInput", page::READ_ONLY),
        ("PagePatch", page::READ_ONLY),
        ("WebhookInput", webhooks::READ_ONLY),
        ("WebhookPatch", webhooks::READ_ONLY),
    ] {
        let properties = description.pointer_mut(&format!("/components/schemas/{schema}/properties"));
        if let Some(properties) = properties.and_then(Value::as_object_mut) {
            let ignored = json!({ "description": "Read-only, and ignored." });
            properties.extend(names.iter().map(|name| ((*name).to_owned(), ignored.clone())));
        }
    }
    let webhooks = description.get_mut("x-webhooks").and_then(Value::as_object_mut);
    webhooks.into_iter().flatten().for_each(|(kind, item)| complete_webhook(kind, item));
}

/// Adds the name and the body of the request to a receiver of webhooks.
fn complete_webhook(kind: &str, item: &mut Value) {
    if let Some(operation) = item.get_mut("post").and_then(Value::as_object_mut) {
        operation.insert("operationId".to_owned(), format!("on_{kind}").into());
        let body = json!({ "required": true, "schema": envelope(kind) });
        operation.insert("requestBody".to_owned(), body);
    }
}

/// Returns the status of each response with problems.
fn statuses(description: &Value) -> BTreeMap<String, String> {
    let responses = description.pointer("/components/responses").and_then(Value::as_object);
    let status = |(name, response): (&String, &Value)| {
        let codes = response.get("x-problems").unwrap_or(response);
        let code = codes.get(0).and_then(Value::as_str).and_then(codes::parse)?;
        Some((name.clone(), code.status().to_string()))
    };
    responses.into_iter().flatten().filter_map(status).collect()
}

/// Returns the names of the parameters that follow from the route, in the order in which they are described.
fn parameters(endpoint: Endpoint) -> Vec<Value> {
    let is_admin = matches!(endpoint, Endpoint::Admin(_));
    let path = endpoint.path();
    let places = path.split('/').filter_map(|segment| segment.strip_prefix('{')?.strip_suffix('}'));
    let mut names: Vec<&str> = places
        .map(|name| match name {
            "page_id" if is_admin => "page_or_slug",
            "id" => "account_id",
            "type" => "schema_type",
            name => name,
        })
        .collect();
    let (dry_run, if_match, once) = match endpoint {
        Endpoint::Pages(own) => (own.is_write(), takes_revision(own), own.takes_idempotency_key()),
        Endpoint::Webhooks(own) => (own.takes_dry_run(), false, own.takes_idempotency_key()),
        _ => (false, false, false),
    };
    names.extend(dry_run.then_some("dry_run"));
    names.extend(if_match.then_some("if_match"));
    names.extend(once.then_some("idempotency_key"));
    names.into_iter().map(Value::from).collect()
}

/// Adds the names of the headers that a success has in addition to its own.
fn add_headers(response: &mut Value, is_metered: bool) {
    let Some(members) = response.as_object_mut() else { return };
    let is_page = members.get("schema").is_some_and(|schema| schema == "Page");
    let Some(headers) = members.entry("headers").or_insert_with(|| json!([])).as_array_mut() else { return };
    headers.extend(is_page.then(|| "Etag".into()));
    if is_metered {
        headers.extend(["RateLimit", "RateLimit-Policy"].map(Value::from));
    }
}

/// Returns the endpoints that the description has, each with its refusals.
fn all() -> impl Iterator<Item = (Endpoint, Vec<&'static str>)> {
    let others =
        [(Endpoint::Asset(Asset::PagesOpenApi), vec!["Malformed"]), (Endpoint::PushProducts, PUSH.to_vec())];
    let pages = PagesEndpoint::ALL.map(|own| (Endpoint::Pages(own), of_pages(own)));
    let admin = AdminEndpoint::ALL.map(|own| (Endpoint::Admin(own), of_admin(own)));
    let webhooks = WebhooksEndpoint::ALL.map(|own| (Endpoint::Webhooks(own), of_webhooks(own)));
    others.into_iter().chain(pages).chain(admin).chain(webhooks)
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

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::super::DESCRIPTION;
    use super::*;
    use crate::openapi::parse;

    #[test]
    fn each_refusal_of_an_operation_has_a_status_of_its_own() {
        let statuses = statuses(&parse(DESCRIPTION));
        for (endpoint, refusals) in all() {
            let names: Vec<_> = refusals.into_iter().chain(ANYWHERE).collect();
            let found: BTreeSet<_> = names.iter().map(|name| statuses.get(*name).unwrap()).collect();
            assert_eq!(found.len(), names.len(), "{endpoint:?}");
        }
    }
}
