//! The schemas of webhooks and deliveries.

use biolink::webhooks::{
    DEFAULT_GRACE_S, MAX_DESCRIPTION, MAX_ENDPOINTS, MAX_GRACE_S, MAX_HEADER_VALUE, MAX_HEADERS,
    MAX_LIVE_SECRETS, MAX_PAGES, Mode, READ_ONLY, WebhookKind,
};
use biolink::webhooks_api::DeliveryState;
use serde_json::{Map, Value, json};

use super::parts::Presence::{Defaulted, Nullable, Required};
use super::parts::{
    Member, Use, boolean, constant, described, limited, list, member, metadata, names_of, nullable, object,
    text, time, url,
};
use crate::openapi::reference;

/// Returns the schema components.
pub(super) fn components() -> Map<String, Value> {
    let components = [
        ("WebhookInput", input(Use::Input)),
        ("WebhookPatch", input(Use::Patch)),
        ("WebhookRotation", rotation()),
        ("WebhookTest", object(Use::Input, vec![member("type", Required, kinds())])),
        ("WebhookReplayInput", replay()),
        ("Webhook", object(Use::Output, shown())),
        ("CreatedWebhook", created()),
        ("WebhookList", webhook_list()),
        ("WebhookSecret", secret()),
        ("WebhookDelivery", delivery()),
        ("WebhookDeliveryList", delivery_list()),
        (
            "WebhookReplay",
            object(
                Use::Output,
                vec![constant("object", "webhook_replay"), member("deliveries", Required, count())],
            ),
        ),
        ("WebhookStatistics", statistics()),
        ("WebhookSchema", described_kind()),
    ];
    components.into_iter().map(|(name, schema)| (name.to_owned(), schema)).collect()
}

/// Returns the schema of the response with a kind's schema. Its members are not called `schema` and
/// `example`, because linters take those beside a `type` for a schema of the document.
fn described_kind() -> Value {
    json!({
        "type": "object", "required": ["object", "type", "json_schema", "example_event"],
        "description": "`json_schema` is JSON Schema (2020-12).",
        "properties": {
            "object": { "type": "string", "enum": ["webhook_schema"] },
            "type": kinds(),
            "json_schema": { "type": "object", "additionalProperties": true },
            "example_event": reference("schemas", "Event"),
        },
        "additionalProperties": false,
    })
}

/// Returns what an owner writes of a webhook.
fn writable() -> Vec<Member> {
    let modes = [Mode::Auto, Mode::Single, Mode::Batch].map(Mode::as_str);
    let kinds =
        json!({ "type": "array", "minItems": 1, "items": kinds(), "description": "The kinds that it gets." });
    vec![
        member(
            "url",
            Required,
            described(
                nullable(url()),
                "A public https address. Without user info, IP address or redirects, on port 443 or 8443. `null` if events are only to be logged, for GET /events.",
            ),
        ),
        member("description", Defaulted, described(text(0, MAX_DESCRIPTION), "Your note.")),
        member("events", Required, kinds),
        member(
            "page_ids",
            Nullable,
            json!({
                "type": "array", "minItems": 1, "maxItems": MAX_PAGES, "uniqueItems": true,
                "items": { "type": "string", "pattern": "^pg_[0-9A-Za-z]{17}$" },
                "description": "The pages whose events it gets; null for all.",
            }),
        ),
        member("enabled", Defaulted, boolean("Whether it is to get anything.")),
        member(
            "mode",
            Defaulted,
            described(
                names_of(modes),
                "`single` has one event in a request, `batch` up to 100, and `auto` is `batch` above ten events a second.",
            ),
        ),
        member(
            "headers",
            Defaulted,
            json!({
                "type": "object", "maxProperties": MAX_HEADERS, "additionalProperties": text(1, MAX_HEADER_VALUE),
                "description": "Headers of each request, such as Authorization. Values are visible ASCII.",
            }),
        ),
        member("metadata", Defaulted, metadata()),
    ]
}

fn input(of: Use) -> Value {
    let mut members = writable();
    if of == Use::Input {
        members.push(member(
            "secret",
            Defaulted,
            described(signing_secret(), "A secret of yours, in place of a random one."),
        ));
    }
    let mut schema = object(of, members);
    if let Some(properties) = schema.get_mut("properties").and_then(Value::as_object_mut) {
        let ignored = |name: &&str| ((*name).to_owned(), json!({ "description": "Read-only, and ignored." }));
        properties.extend(READ_ONLY.iter().map(ignored));
    }
    schema
}

fn shown() -> Vec<Member> {
    let mut members = vec![
        member("id", Required, json!({ "type": "string", "pattern": "^whe_[0-9A-Za-z]{17}$" })),
        constant("object", "webhook"),
        member("status", Required, names_of(["enabled", "disabled"])),
        member(
            "disabled_reason",
            Nullable,
            described(
                names_of(["gone", "failing"]),
                "`gone` after a 410, `failing` after five days of failures. Null if you disabled it.",
            ),
        ),
        member("disabled_at", Nullable, time()),
        member("health", Required, health()),
        member("warnings", Required, json!({ "type": "array", "items": warning() })),
        member("secret_expirations", Required, expirations()),
        member("created_at", Required, time()),
        member("updated_at", Required, time()),
    ];
    members.extend(writable());
    members
}

fn health() -> Value {
    let moment = |name| member(name, Nullable, time());
    object(
        Use::Output,
        vec![
            member("consecutive_failures", Required, count()),
            moment("failing_since"),
            moment("last_failure_at"),
            moment("last_success_at"),
            member(
                "circuit",
                Required,
                described(
                    names_of(["open", "closed"]),
                    "`open` after five failures in a row: one probe at a time is sent.",
                ),
            ),
            moment("next_probe_at"),
            member(
                "failure_budget_used_percent",
                Required,
                json!({ "type": "integer", "minimum": 0, "maximum": 100, "description": "100 after five days without a success." }),
            ),
        ],
    )
}

fn warning() -> Value {
    object(
        Use::Output,
        vec![
            constant("code", "failure-budget"),
            member("percent", Required, json!({ "type": "integer", "enum": [50, 70, 90, 100] })),
            member("disabled_from", Nullable, time()),
            member("detail", Required, json!({ "type": "string" })),
        ],
    )
}

fn created() -> Value {
    let mut members = shown();
    let secret = "`whsec_` and base64 of 24 to 64 random bytes. Null in a dry run.";
    members.push(member("secret", Nullable, described(signing_secret(), secret)));
    object(Use::Output, members)
}

fn webhook_list() -> Value {
    object(
        Use::Output,
        vec![constant("object", "list"), member("data", Required, limited(list("Webhook"), MAX_ENDPOINTS))],
    )
}

fn secret() -> Value {
    object(
        Use::Output,
        vec![
            constant("object", "webhook_secret"),
            member("webhook_id", Required, json!({ "type": "string" })),
            member("secret", Required, signing_secret()),
            member("secret_expirations", Required, expirations()),
        ],
    )
}

fn rotation() -> Value {
    object(
        Use::Input,
        vec![
            member(
                "grace_period_seconds",
                Defaulted,
                json!({
                    "type": "integer", "minimum": 0, "maximum": MAX_GRACE_S, "default": DEFAULT_GRACE_S,
                    "description": "Time for which the replaced secret signs too.",
                }),
            ),
            member(
                "secret",
                Defaulted,
                described(signing_secret(), "A secret of yours, in place of a random one."),
            ),
        ],
    )
}

fn replay() -> Value {
    object(
        Use::Input,
        vec![
            member("since", Defaulted, described(time(), "At most 14 days ago, which it is if left out.")),
            member("until", Defaulted, described(time(), "Now, if left out.")),
            member("status", Defaulted, described(names_of(["failed", "all"]), "`failed`, if left out.")),
        ],
    )
}

fn delivery() -> Value {
    let string = || json!({ "type": "string" });
    let kinds = WebhookKind::ALL.into_iter().map(WebhookKind::as_str).chain(["batch", "test"]);
    let attempt = object(
        Use::Output,
        vec![
            member("at", Required, time()),
            member("status", Nullable, json!({ "type": "integer", "description": "That of the response." })),
            member("duration_ms", Required, count()),
            member(
                "error",
                Nullable,
                names_of(["redirect", "status", "timeout", "connection", "address_refused"]),
            ),
            member("response", Nullable, described(string(), "The first 4,096 bytes of the response.")),
        ],
    );
    object(
        Use::Output,
        vec![
            constant("object", "webhook_delivery"),
            member("id", Required, json!({ "type": "string", "pattern": "^dlv_[0-9A-Za-z]{22}$" })),
            member("webhook_id", Required, string()),
            member("message_id", Required, described(string(), "The `webhook-id` of each attempt.")),
            member("type", Required, names_of(kinds)),
            member("event_ids", Required, json!({ "type": "array", "items": string() })),
            member("status", Required, names_of(DeliveryState::ALL.map(DeliveryState::as_str))),
            member("created_at", Required, time()),
            member("next_attempt_at", Nullable, time()),
            member("attempts", Required, json!({ "type": "array", "items": attempt })),
        ],
    )
}

fn delivery_list() -> Value {
    object(
        Use::Output,
        vec![
            constant("object", "list"),
            member("data", Required, list("WebhookDelivery")),
            member("has_more", Required, json!({ "type": "boolean" })),
            member("next_cursor", Nullable, json!({ "type": "string" })),
        ],
    )
}

fn statistics() -> Value {
    let by_kind = ["total"].into_iter().chain(WebhookKind::ALL.map(WebhookKind::as_str));
    let by_kind = by_kind.map(|name| member(name, Required, count())).collect();
    let pair = |names: [&'static str; 2], schema: fn() -> Value| {
        object(Use::Output, names.into_iter().map(|name| member(name, Required, schema())).collect())
    };
    object(
        Use::Output,
        vec![
            constant("object", "webhook_statistics"),
            member("webhook_id", Required, json!({ "type": "string" })),
            member("delivered", Required, described(count(), "Events.")),
            member("failed", Required, described(count(), "Events whose attempts are used up.")),
            member("pending", Required, described(count(), "Deliveries that wait to be sent.")),
            member(
                "dropped",
                Required,
                described(object(Use::Output, by_kind), "Events that were dropped because too many waited."),
            ),
            member(
                "lost",
                Required,
                described(
                    count(),
                    "Events of the account that were dropped before they were logged, because the log took none for too long.",
                ),
            ),
            member("attempts", Required, pair(["successful", "failed"], count)),
            member(
                "latency_ms",
                Required,
                described(pair(["p50", "p95"], || nullable(count())), "Of successful attempts."),
            ),
            member("last_success_at", Nullable, time()),
            member("consecutive_failures_since", Nullable, time()),
        ],
    )
}

fn kinds() -> Value {
    names_of(WebhookKind::ALL.map(WebhookKind::as_str))
}

fn count() -> Value {
    json!({ "type": "integer", "minimum": 0 })
}

fn expirations() -> Value {
    json!({
        "type": "array", "maxItems": MAX_LIVE_SECRETS - 1, "items": time(),
        "description": "The moments at which secrets that were replaced end.",
    })
}

fn signing_secret() -> Value {
    json!({
        "type": "string", "pattern": "^whsec_[A-Za-z0-9+/]{32,88}={0,2}$",
        "description": "`whsec_` and base64 of 24 to 64 random bytes.",
    })
}
