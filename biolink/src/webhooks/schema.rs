//! JSON Schema (2020-12) of each kind's envelope.

use shared::time::UnixMillis;

use super::{EventHead, EventId, WebhookKind};

/// The schema of every kind: `{kind}` stands for its name.
const SCHEMA: &str = include_str!("schema/envelope.json");
/// The moment of examples.
const EXAMPLE_AT: UnixMillis = UnixMillis(1_795_262_400_123);

/// Returns the response to `GET /events/schemas/{kind}`, as JSON: the schema, and an example.
pub fn describe_schema(kind: WebhookKind) -> String {
    let head = EventHead {
        id: EventId::numbered(4812, [0x5a; 8]),
        at: EXAMPLE_AT,
        is_test: false,
        sequence: 4812,
        page_sequence: 311,
    };
    format!(
        r#"{{"object":"webhook_schema","type":"{}","json_schema":{},"example_event":{}}}"#,
        kind.as_str(),
        schema(kind),
        head.render_sample(kind)
    )
}

/// Returns the JSON Schema of a kind, as JSON.
pub fn schema(kind: WebhookKind) -> String {
    SCHEMA.trim_end().replace("{kind}", kind.as_str())
}

#[cfg(test)]
mod tests;
