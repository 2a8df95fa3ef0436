//! The parameters of webhooks and events, and the headers of requests to receivers.

use biolink::{
    route::WebhooksEndpoint,
    webhooks::{HEADER_ID, HEADER_SIGNATURE, HEADER_TIMESTAMP, MAX_NUMBER, WebhookKind},
    webhooks_api::{DEFAULT_LIMIT, DeliveryState, HEADER_ATTEMPT, MAX_LIMIT, MAX_WAIT_S},
};
use serde_json::{Map, Value, json};

use super::example;

/// The components of headers to receivers.
const DELIVERED: [&str; 4] =
    ["sent_webhook_id", "sent_webhook_timestamp", "sent_webhook_signature", "sent_webhook_attempt"];

/// Returns the names of an operation's parameters, as [`components`] has them.
pub(in super::super) fn webhooks_names(endpoint: WebhooksEndpoint) -> impl Iterator<Item = &'static str> {
    use WebhooksEndpoint as E;
    let has = |part: &str| endpoint.path().contains(part);
    let of_deliveries = ["delivery_status", "event_type", "of_event", "created_since", "delivery_cursor"];
    let of_events = ["after", "event_type", "event_page", "wait"];
    [
        ("webhook_id", has("{webhook_id}")),
        ("delivery_id", has("{delivery_id}")),
        ("event_id", has("{event_id}")),
        ("schema_type", has("{type}")),
        ("dry_run", endpoint.takes_dry_run()),
        ("idempotency_key", endpoint.takes_idempotency_key()),
    ]
    .into_iter()
    .chain(of_deliveries.map(|name| (name, endpoint == E::Deliveries)))
    .chain(of_events.map(|name| (name, endpoint == E::Events)))
    .chain([("limit_webhooks", matches!(endpoint, E::Deliveries | E::Events))])
    .filter_map(|(name, is_taken)| is_taken.then_some(name))
}

/// Returns the names of the headers of a request to a receiver.
pub(in super::super) fn delivered_names() -> impl Iterator<Item = &'static str> {
    DELIVERED.into_iter()
}

/// Returns the components.
pub(super) fn components(page: &str) -> Map<String, Value> {
    let components = paths().into_iter().chain(of_lists(page)).chain(headers());
    components.map(|(name, component)| (name.to_owned(), component)).collect()
}

fn paths() -> [(&'static str, Value); 4] {
    let ids = example::webhook_ids();
    let id = |name: &str, (prefix, length): (&str, u8), example: &str, about: &str| {
        json!({
            "name": name, "in": "path", "required": true, "description": about, "example": example,
            "schema": { "type": "string", "pattern": format!("^{prefix}_[0-9A-Za-z]{{{length}}}$") },
        })
    };
    [
        ("webhook_id", id("webhook_id", ("whe", 17), &ids.webhook, "The webhook's `id`.")),
        ("delivery_id", id("delivery_id", ("dlv", 22), &ids.delivery, "The delivery's `id`.")),
        ("event_id", id("event_id", ("evt", 22), &ids.event, "The event's `id`.")),
        (
            "schema_type",
            json!({
                "name": "type", "in": "path", "required": true, "description": "The kind of event.",
                "example": WebhookKind::Click.as_str(), "schema": kinds(),
            }),
        ),
    ]
}

fn of_lists(page: &str) -> [(&'static str, Value); 9] {
    let query = |name: &str, about: &str, schema: Value| json!({ "name": name, "in": "query", "description": about, "schema": schema });
    let states = DeliveryState::ALL.map(DeliveryState::as_str);
    [
        (
            "limit_webhooks",
            query(
                "limit",
                "The most deliveries or events in the response.",
                json!({ "type": "integer", "minimum": 1, "maximum": MAX_LIMIT, "default": DEFAULT_LIMIT }),
            ),
        ),
        (
            "delivery_cursor",
            query("cursor", "The `next_cursor` of the response before.", json!({ "type": "string" })),
        ),
        (
            "delivery_status",
            query("status", "Only deliveries with this status.", json!({ "type": "string", "enum": states })),
        ),
        ("event_type", query("type", "Only events of this kind. Deliveries of batches have none.", kinds())),
        (
            "of_event",
            query(
                "event_id",
                "Only deliveries with this event.",
                json!({ "type": "string", "pattern": "^evt_[0-9A-Za-z]{22}$" }),
            ),
        ),
        (
            "created_since",
            query(
                "since",
                "Only deliveries from this moment on.",
                json!({ "type": "string", "format": "date-time" }),
            ),
        ),
        (
            "after",
            query(
                "after",
                "Only events after this `sequence`: the `next_after` of the response before.",
                json!({ "type": "integer", "format": "int64", "minimum": 0, "maximum": MAX_NUMBER, "default": 0 }),
            ),
        ),
        (
            "event_page",
            json!({
                "name": "page_id", "in": "query", "description": "Only events of this page.", "example": page,
                "schema": { "type": "string", "pattern": "^pg_[0-9A-Za-z]{17}$" },
            }),
        ),
        (
            "wait",
            query(
                "wait",
                "Seconds for which a response without events waits for one.",
                json!({ "type": "integer", "minimum": 0, "maximum": MAX_WAIT_S, "default": 0 }),
            ),
        ),
    ]
}

fn headers() -> [(&'static str, Value); 4] {
    let ids = example::webhook_ids();
    let header = |name: &str, example: &str, about: &str| {
        json!({
            "name": name, "in": "header", "required": true, "description": about, "example": example,
            "schema": { "type": "string" },
        })
    };
    let [id, timestamp, signature, attempt] = DELIVERED;
    [
        (
            id,
            header(
                HEADER_ID,
                &ids.event,
                "Names the message. It is the same on each attempt: drop what you have had.",
            ),
        ),
        (
            timestamp,
            header(
                HEADER_TIMESTAMP,
                "1767607260",
                "The moment of the attempt, in seconds. Refuse it if it is more than 5 minutes from now.",
            ),
        ),
        (
            signature,
            header(
                HEADER_SIGNATURE,
                "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=",
                "`v1,` and base64 of the HMAC-SHA256 of `id.timestamp.body`, for each secret that is live, with a space between two.",
            ),
        ),
        (attempt, header(HEADER_ATTEMPT, "1", "The number of the attempt. It is not signed.")),
    ]
}

fn kinds() -> Value {
    json!({ "type": "string", "enum": WebhookKind::ALL.map(WebhookKind::as_str) })
}
