//! Events on their way from a page's store to the account's webhooks.
//!
//! The store writes them in the same commit as the events themselves, and only those of kinds that an
//! endpoint wants. They stay until the webhooks have taken them.

use serde::{Deserialize, Serialize};

use crate::{
    events::{RowsError, Segment},
    webhooks::{KindSet, WebhookKind},
};

/// Events of a row, at most.
const MAX_EVENTS: usize = 500;
/// Rows that a store keeps for webhooks that take nothing. The oldest are dropped first.
pub const MAX_OUTBOX: u64 = 1_000;
/// Rows of a message, at most.
pub const OUTBOX_ROWS_PER_MESSAGE: u64 = 20;

/// A row of the outbox.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OutboxRow {
    /// The number, by which the webhooks know a repeated row. The first is 1.
    pub number: u64,
    /// A [`Segment`] in base64.
    pub events: String,
}

impl OutboxRow {
    /// Reads the events.
    ///
    /// # Errors
    /// If they are not a segment.
    pub fn segment(&self) -> Result<Segment, RowsError> {
        Segment::from_text(&self.events)
    }
}

/// Returns the counted events of kinds that are wanted, as the texts of rows.
pub fn outbox_texts(segment: &Segment, wanted: KindSet) -> Vec<String> {
    let is_wanted = |kind| WebhookKind::of(kind).is_some_and(|kind| wanted.has(kind));
    let mut found = segment.events().filter(|event| event.is_counted() && is_wanted(event.kind)).peekable();
    let mut texts = Vec::new();
    while found.peek().is_some() {
        let mut row = Segment::new(segment.day());
        // In parts: a row of the outbox is one value of the database, whose size has a limit.
        found.by_ref().take(MAX_EVENTS).for_each(|event| row.push(&event));
        texts.push(row.to_text());
    }
    texts
}

#[cfg(test)]
mod tests {
    use shared::time::UnixMillis;

    use super::*;
    use crate::events::{Dimension, Event, EventKind};

    const NOW: UnixMillis = UnixMillis(1_795_000_000_000);

    fn segment(kinds: &[EventKind]) -> Segment {
        let mut segment = Segment::new(NOW.day());
        kinds.iter().for_each(|kind| segment.push(&Event::new(NOW, *kind)));
        segment
    }

    fn kinds_of(texts: Vec<String>) -> Vec<EventKind> {
        let segments = texts.into_iter().map(|events| OutboxRow { number: 1, events }.segment().unwrap());
        segments.flat_map(|segment| segment.events().map(|event| event.kind).collect::<Vec<_>>()).collect()
    }

    #[test]
    fn outbox_has_only_kinds_that_are_wanted() {
        let all = segment(&EventKind::ALL);
        assert!(outbox_texts(&all, KindSet::default()).is_empty());
        let wanted: KindSet = [WebhookKind::Click, WebhookKind::PagePublished].into_iter().collect();
        assert_eq!(kinds_of(outbox_texts(&all, wanted)), [EventKind::Click]);
        let wanted: KindSet = WebhookKind::ALL.into_iter().collect();
        assert_eq!(
            kinds_of(outbox_texts(&all, wanted)),
            [EventKind::View, EventKind::Click, EventKind::Scan]
        );
    }

    #[test]
    fn outbox_has_no_ignored_event() {
        let mut segment = Segment::new(NOW.day());
        let mut event = Event::new(NOW, EventKind::View);
        if let Some(value) = event.values.get_mut(Dimension::Ignored as usize) {
            *value = "bot:search".into();
        }
        segment.push(&event);
        assert!(outbox_texts(&segment, [WebhookKind::PageView].into_iter().collect()).is_empty());
    }

    #[test]
    fn many_events_are_several_rows() {
        let texts =
            outbox_texts(&segment(&[EventKind::View; 1_201]), [WebhookKind::PageView].into_iter().collect());
        assert_eq!((texts.len(), kinds_of(texts).len()), (3, 1_201));
    }
}
