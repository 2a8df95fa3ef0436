//! The envelope of each kind: the body of a request to a receiver.

mod alert;
mod alert_list;
mod data;

use serde::Serialize;
use shared::json;
use shared::time::UnixMillis;

use self::alert::AlertData;
pub use self::alert_list::{alert_list, describe_alert};
use self::data::{Data, published, visited};
use super::{AlertEvent, BatchId, Card, EventId, Publication, Visit, WebhookKind};

/// The version of the envelopes.
pub const API_VERSION: &str = "2026-11-01";
/// The largest envelope, in bytes.
pub const MAX_ENVELOPE: usize = 20_480;

/// The members that an envelope has whatever its kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EventHead {
    /// The event.
    pub id: EventId,
    /// The time of the event.
    pub at: UnixMillis,
    /// Whether its owner asked for a sample.
    pub is_test: bool,
    /// Its number among the events of the account.
    pub sequence: u64,
    /// Its number among the events of the page; 0 for an alert.
    pub page_sequence: u64,
}

#[derive(Serialize)]
struct Envelope<'a> {
    id: EventId,
    #[serde(rename = "type")]
    kind: WebhookKind,
    timestamp: String,
    api_version: &'static str,
    test: bool,
    sequence: u64,
    page_sequence: u64,
    data: Data<'a>,
}

impl EventHead {
    /// Returns the envelope of a visitor's event.
    pub fn render_visit(&self, visit: &Visit, card: &Card) -> String {
        self.render(visit.kind, visited(visit, card))
    }

    /// Returns the envelope of a publication. If it is too large, the names of products in the shop
    /// are left out.
    pub fn render_publication(&self, publication: &Publication, card: &Card) -> String {
        let render =
            |has_names| self.render(WebhookKind::PagePublished, published(publication, card, has_names));
        let whole = render(true);
        if whole.len() <= MAX_ENVELOPE { whole } else { render(false) }
    }

    /// Returns the envelope of an alert.
    pub fn render_alert(&self, event: &AlertEvent) -> String {
        Self { page_sequence: 0, ..*self }.render(event.kind(), Data::Alert(AlertData::of(event)))
    }

    fn render(&self, kind: WebhookKind, data: Data<'_>) -> String {
        let envelope = Envelope {
            id: self.id,
            kind,
            timestamp: self.at.to_rfc3339_ms(),
            api_version: API_VERSION,
            test: self.is_test,
            sequence: self.sequence,
            page_sequence: self.page_sequence,
            data,
        };
        // A struct always serializes.
        json::to_string(&envelope).unwrap_or_default()
    }
}

/// Returns the envelope of a batch. `events` are envelopes.
pub fn render_batch<'a>(id: BatchId, at: UnixMillis, events: impl Iterator<Item = &'a str>) -> String {
    let mut text = format!(
        r#"{{"id":"{id}","type":"batch","timestamp":"{}","api_version":"{API_VERSION}","data":{{"events":["#,
        at.to_rfc3339_ms()
    );
    for (at, event) in events.enumerate() {
        if at > 0 {
            text.push(',');
        }
        text.push_str(event);
    }
    text.push_str("]}}");
    text
}

#[cfg(test)]
mod tests;
