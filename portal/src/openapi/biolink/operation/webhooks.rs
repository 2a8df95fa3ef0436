//! The operations of webhooks, and the requests that receivers get.

use biolink::{route::WebhooksEndpoint, webhooks::WebhookKind};
use serde_json::{Map, Value, json};

use super::super::{
    super::{outcome::references, reference},
    example::{self, Exchange},
    parameter, refusal,
    texts::{Texts, delivered_texts, webhooks_texts},
};

/// Returns the description of an endpoint.
pub(super) fn describe(endpoint: WebhooksEndpoint) -> Value {
    let Texts(tag, id, summary, about) = webhooks_texts(endpoint);
    let exchange = example::webhooks(endpoint);
    let mut operation = json!({
        "operationId": id, "tags": [tag.name()], "summary": summary, "description": about,
        "security": [{ "ApiKey": [] }], "responses": responses(endpoint, &exchange),
    });
    let Some(members) = operation.as_object_mut() else { return operation };
    let parameters: Vec<_> =
        parameter::webhooks_names(endpoint).map(|name| reference("parameters", name)).collect();
    if !parameters.is_empty() {
        members.insert("parameters".to_owned(), parameters.into());
    }
    if let Some(body) = exchange.request {
        // A rotation without a body has its defaults.
        let is_required = endpoint != WebhooksEndpoint::RotateSecret;
        let content = json!({ "schema": reference("schemas", request_schema(endpoint)), "example": body });
        let body = json!({ "required": is_required, "content": { "application/json": content } });
        members.insert("requestBody".to_owned(), body);
    }
    operation
}

/// Returns the schema component of a request's body.
const fn request_schema(endpoint: WebhooksEndpoint) -> &'static str {
    use WebhooksEndpoint as E;
    match endpoint {
        E::Patch => "WebhookPatch",
        E::RotateSecret => "WebhookRotation",
        E::Test => "WebhookTest",
        E::Replay => "WebhookReplayInput",
        _ => "WebhookInput",
    }
}

/// Returns the schema component of a successful response, and what it is.
const fn response_schema(endpoint: WebhooksEndpoint) -> (&'static str, &'static str) {
    use WebhooksEndpoint as E;
    match endpoint {
        E::List => ("WebhookList", "The webhooks."),
        E::Create => ("CreatedWebhook", "The webhook, with its secret."),
        E::Read | E::Patch | E::Delete => ("Webhook", "The webhook as it is now."),
        E::ReadSecret | E::RotateSecret => ("WebhookSecret", "The current secret."),
        E::Test => ("WebhookDelivery", "The delivery, which is sent now."),
        E::Retry => ("WebhookDelivery", "The delivery, which is sent again."),
        E::Deliveries => ("WebhookDeliveryList", "The deliveries."),
        E::ReadDelivery => ("WebhookDelivery", "The delivery."),
        E::Replay => ("WebhookReplay", "The number of deliveries that are sent again."),
        E::Stats => ("WebhookStatistics", "The statistics."),
        E::Schema => ("WebhookSchema", "The schema, and an example."),
        E::Events => ("EventList", "The events."),
        E::ReadEvent => ("Event", "The event."),
    }
}

fn responses(endpoint: WebhooksEndpoint, exchange: &Exchange) -> Map<String, Value> {
    let mut responses: Map<_, _> =
        refusal::of_webhooks(endpoint).into_iter().map(refusal::Refusal::refer).collect();
    let mut headers = vec!["x-request-id"];
    if endpoint != WebhooksEndpoint::Schema {
        headers.extend(["ratelimit", "ratelimit-policy"]);
    }
    let Some(body) = &exchange.response else {
        let gone = json!({ "description": "It is done.", "headers": references(&headers) });
        responses.insert(exchange.status.to_string(), gone);
        return responses;
    };
    let (schema, about) = response_schema(endpoint);
    let success = |about: &str, headers: &[&str], body: &Value| {
        json!({
            "description": about, "headers": references(headers),
            "content": { "application/json": { "schema": reference("schemas", schema), "example": body } },
        })
    };
    if endpoint == WebhooksEndpoint::Create {
        let mut tried = body.clone();
        if let Some(members) = tried.as_object_mut() {
            members.insert("secret".to_owned(), Value::Null);
        }
        let about = "A dry run: the webhook as it would be, without a secret.";
        responses.insert("200".to_owned(), success(about, &headers, &tried));
        headers.extend(["location", "idempotency-replayed"]);
    }
    responses.insert(exchange.status.to_string(), success(about, &headers, body));
    responses
}

/// Returns the requests that receivers get, by kind: what OpenAPI 3.1 calls `webhooks`.
pub(in super::super) fn deliveries() -> Map<String, Value> {
    let kinds = WebhookKind::ALL.into_iter().map(Some).chain([None]);
    kinds.map(|kind| (kind.map_or("batch", WebhookKind::as_str).to_owned(), delivery(kind))).collect()
}

fn delivery(kind: Option<WebhookKind>) -> Value {
    let Texts(tag, id, summary, about) = delivered_texts(kind);
    let parameters: Vec<_> = parameter::delivered_names().map(|name| reference("parameters", name)).collect();
    let schema = reference("schemas", kind.map_or("EventBatch", example::event_schema));
    let response = |about: &str| json!({ "description": about });
    json!({ "post": {
        "operationId": id, "tags": [tag.name()], "summary": summary, "description": about, "security": [],
        "parameters": parameters,
        "requestBody": {
            "required": true,
            "content": { "application/json": { "schema": schema, "example": example::delivered(kind) } },
        },
        "responses": {
            "2XX": response("You have it. Any other response within 15 seconds, or none, is a failure, and it is sent again."),
            "410": response("You want nothing any more: the webhook is disabled."),
        },
    } })
}
