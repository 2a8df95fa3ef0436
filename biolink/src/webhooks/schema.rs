//! JSON Schema (2020-12) and an example of each kind's envelope.

use shared::time::UnixMillis;

use super::{EventHead, EventId, WebhookKind};

/// The schema of every kind: `{kind}` stands for its name.
const SCHEMA: &str = include_str!("schema/envelope.json");
/// The sequence of the first example.
const SEQUENCE: u64 = 4812;
/// Its moment.
const EXAMPLE_AT: UnixMillis = UnixMillis(1_795_262_400_123);

/// Returns the response to `GET /events/schemas/{kind}`, as JSON: the schema, and an example.
pub fn describe_schema(kind: WebhookKind) -> String {
    format!(
        r#"{{"object":"webhook_schema","type":"{}","json_schema":{},"example_event":{}}}"#,
        kind.as_str(),
        schema(kind),
        head(0).render_sample(kind)
    )
}

/// Returns the response to `GET /events/samples`, as JSON: an array of one example of each kind, or of the one
/// that is asked for. It has no object around it, and each event its own id, as tools that poll expect.
pub fn sample_events(only: Option<WebhookKind>) -> String {
    let kinds =
        WebhookKind::ALL.into_iter().zip(0..).filter(|(kind, _)| only.is_none_or(|only| only == *kind));
    let samples: Vec<String> = kinds.map(|(kind, place)| head(place).render_sample(kind)).collect();
    format!("[{}]", samples.join(","))
}

/// Returns the head of the example at this place of a list, the newest first.
fn head(place: u64) -> EventHead {
    EventHead {
        id: EventId::numbered(SEQUENCE.saturating_sub(place), [0x5a; 8]),
        at: EXAMPLE_AT.minus(place.saturating_mul(60_000)),
        is_test: false,
        sequence: SEQUENCE.saturating_sub(place),
        page_sequence: 311,
    }
}

/// Returns the JSON Schema of a kind, as JSON.
pub fn schema(kind: WebhookKind) -> String {
    SCHEMA.trim_end().replace("{kind}", kind.as_str())
}

#[cfg(test)]
mod tests;
