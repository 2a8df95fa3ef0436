//! Adds the examples: requests to an account in memory, and the responses that it gives.

use biolink::route::{AdminEndpoint, PagesEndpoint, WebhooksEndpoint};
use biolink::webhooks::WebhookKind;
use serde_json::{Value, json};

use super::example::{self, Exchange};
use crate::endpoint::Endpoint;

/// The schema of a page. All responses with one share an example, which keeps the text short.
const PAGE: &str = "Page";

/// Adds an example of each body and each id.
pub(super) fn add(description: &mut Value) {
    for own in PagesEndpoint::ALL.into_iter().filter(|own| *own != PagesEndpoint::Export) {
        add_exchange(description, Endpoint::Pages(own), &example::exchange(own));
    }
    for own in AdminEndpoint::ALL {
        add_exchange(description, Endpoint::Admin(own), &example::administered(own));
    }
    for own in WebhooksEndpoint::ALL {
        add_exchange(description, Endpoint::Webhooks(own), &example::webhooks(own));
    }
    add_other_media_types(description);
    let kinds = WebhookKind::ALL.into_iter().map(|kind| (kind.as_str(), Some(kind)));
    for (name, kind) in kinds.chain([("batch", None)]) {
        let body = format!("/x-webhooks/{name}/post/requestBody");
        insert(description, &body, "example", example::delivered(kind));
    }
    insert(description, "/components", "examples", json!({ PAGE: { "value": example::page_response() } }));
    for (parameter, value) in of_parameters() {
        insert(description, &format!("/components/parameters/{parameter}"), "example", value);
    }
}

fn insert(description: &mut Value, place: &str, name: &str, value: Value) {
    if let Some(members) = description.pointer_mut(place).and_then(Value::as_object_mut) {
        members.insert(name.to_owned(), value);
    }
}

fn add_exchange(description: &mut Value, endpoint: Endpoint, exchange: &Exchange) {
    let method = endpoint.method().as_str().to_lowercase();
    let item = description.get_mut("paths").and_then(|paths| paths.get_mut(endpoint.path()));
    let Some(operation) = item.and_then(|item| item.get_mut(method)) else { return };
    if let Some(request) = &exchange.request {
        insert(operation, "/requestBody", "example", request.clone());
    }
    let responses = operation.get_mut("responses").and_then(Value::as_object_mut).into_iter().flatten();
    for (status, response) in responses.filter(|(status, _)| status.starts_with('2')) {
        let media_type = if response.get("content").is_some() { "/content/application~1json" } else { "" };
        let Some(body) = response.pointer_mut(media_type) else { continue };
        let (Some(schema), Some(shown)) = (body.get("schema"), &exchange.response) else { continue };
        if schema == PAGE {
            let reference = json!({ "$ref": format!("#/components/examples/{PAGE}") });
            insert(body, "", "examples", json!({ "page": reference }));
            continue;
        }
        let mut shown = shown.clone();
        // The other status of a creation is that of a dry run, which makes no secret.
        if endpoint == Endpoint::Webhooks(WebhooksEndpoint::Create) && *status != exchange.status.to_string()
        {
            insert(&mut shown, "", "secret", Value::Null);
        }
        insert(body, "", "example", shown);
    }
}

fn add_other_media_types(description: &mut Value) {
    let account = example::exchange(PagesEndpoint::Export).response.unwrap_or_default();
    let lines = format!("{account}\n{}\n", example::event());
    for (path, media_type, text) in
        [("~1account~1export", "application~1x-ndjson", lines), ("~1analytics", "text~1csv", example::csv())]
    {
        let body = format!("/paths/{path}/get/responses/200/content/{media_type}");
        insert(description, &body, "example", text.into());
    }
}

/// Returns the examples of parameters: those with which the other examples were made.
fn of_parameters() -> impl Iterator<Item = (&'static str, Value)> {
    let (ids, webhooks) = (example::ids(), example::webhook_ids());
    let texts = [
        ("page_or_slug", ids.page.clone()),
        ("event_page", ids.page.clone()),
        ("link_id", ids.link),
        ("image_id", example::IMAGE.to_string()),
        ("source_id", ids.source),
        ("domain_id", ids.domain),
        ("account_id", ids.account.clone()),
        ("confirm", ids.account),
        ("webhook_id", webhooks.webhook),
        ("delivery_id", webhooks.delivery),
        ("event_id", webhooks.event.clone()),
        ("sent_webhook_id", webhooks.event),
        ("interval", example::INTERVAL.to_owned()),
        ("timezone", example::TIMEZONE.to_owned()),
    ];
    let lists = [("page_ids", json!([ids.page])), ("group_by", json!(example::GROUPS))];
    let page = ("page_id", ids.page.into());
    texts.map(|(name, text)| (name, text.into())).into_iter().chain(lists).chain([page])
}
