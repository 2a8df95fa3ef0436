//! An event of a visitor, on its way from the page's store to the store of webhooks.

use serde::{Deserialize, Serialize};
use shared::time::UnixMillis;

use super::WebhookKind;
use crate::events::{Dimension, Event};

/// A counted event with what receivers get of it. It has no address and no user agent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Visit {
    /// The kind.
    pub kind: WebhookKind,
    /// The moment.
    pub at: UnixMillis,
    /// The visitor's number on this page and UTC day; 0 means none.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub visitor: u64,
    /// The values that are not empty, by dimension.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    values: Vec<(u8, String)>,
}

fn is_zero(visitor: &u64) -> bool {
    *visitor == 0
}

impl Visit {
    /// Returns the visit that an event is; `None` if it is not counted or gives no webhook.
    pub fn of(event: &Event) -> Option<Self> {
        let kind = WebhookKind::of(event.kind).filter(|_| event.is_counted())?;
        Some(Self::new(kind, event.at, event.visitor, |dimension| event.value(dimension).to_owned()))
    }

    /// Returns a visit of these values. An empty text means none.
    pub fn new(kind: WebhookKind, at: UnixMillis, visitor: u64, value: impl Fn(Dimension) -> String) -> Self {
        let values = Dimension::ALL.into_iter().filter(|dimension| *dimension != Dimension::Ignored);
        let values = values.map(|dimension| (dimension as u8, value(dimension)));
        Self { kind, at, visitor, values: values.filter(|(_, value)| !value.is_empty()).collect() }
    }

    /// Returns the value of a dimension.
    pub fn value(&self, dimension: Dimension) -> Option<&str> {
        let found = self.values.iter().find(|(code, _)| *code == dimension as u8);
        found.map(|(_, value)| value.as_str())
    }
}

#[cfg(test)]
mod tests {
    use shared::json;

    use super::*;
    use crate::events::EventKind;

    fn click() -> Event {
        let event = Event::new(UnixMillis(7_000), EventKind::Click).with_visitor(9);
        event.with(Dimension::Target, "lnk_1").with(Dimension::Country, "DE")
    }

    #[test]
    fn visit_has_the_values_of_its_event() {
        let visit = Visit::of(&click()).unwrap();
        assert_eq!((visit.kind, visit.visitor), (WebhookKind::Click, 9));
        let values = Dimension::ALL.map(|dimension| visit.value(dimension).unwrap_or_default().to_owned());
        assert_eq!(values, Dimension::ALL.map(|dimension| click().value(dimension).to_owned()));
        let text = serde_json::to_string(&visit).unwrap();
        assert_eq!(text, r#"{"kind":"click","at":7000,"visitor":9,"values":[[0,"lnk_1"],[5,"DE"]]}"#);
        assert_eq!(json::from_str(&text), Ok(visit));
    }

    #[test]
    fn event_that_is_not_counted_is_no_visit() {
        assert_eq!(Visit::of(&click().with(Dimension::Ignored, "bot:search")), None);
        assert_eq!(Visit::of(&Event::new(UnixMillis(7), EventKind::Confirm)), None);
    }
}
