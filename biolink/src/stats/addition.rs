//! What a store adds to its rows.

use shared::time::UnixMillis;

use crate::{
    analytics::EventCounts,
    events::{Part, Received, RowsError, Segment},
};

/// Events of a row that takes more. A row stays below two megabytes, because a message has at most
/// forty thousand.
pub const MAX_ROWS: usize = 4_096;

/// A row of a store: events of one UTC day.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Row {
    /// The events.
    pub segment: Segment,
    /// The batches that they came with.
    pub received: Received,
    /// Whether an isolate has coalesced any of them.
    pub coalesced: bool,
    /// Events that isolates have dropped.
    pub dropped: u64,
}

impl Row {
    /// Returns the counted events.
    pub fn counts(&self) -> EventCounts {
        EventCounts::of(&self.segment)
    }

    /// Adds what another row of the same day has.
    pub fn append(&mut self, other: &Self) {
        self.segment.append(&other.segment);
        self.received.extend(&other.received);
        self.coalesced |= other.coalesced;
        self.dropped = self.dropped.saturating_add(other.dropped);
    }
}

/// Returns what is new in `parts`, one row for each day, and what could not be read. Parts that were
/// received before add nothing, and neither do events before `reset_at`.
pub fn additions(parts: &[Part], received: &Received, reset_at: UnixMillis) -> (Vec<Row>, Vec<RowsError>) {
    let (mut rows, mut errors) = (Vec::<Row>::new(), Vec::new());
    let mut known = received.clone();
    for part in parts.iter() {
        // A message whose reply was lost comes again, maybe twice within one delivery.
        if known.contains(&part.isolate, part.number) {
            continue;
        }
        // Also of one that cannot be read: it would be tried again for days, and never be readable.
        known.insert(&part.isolate, part.rows.previous, part.number);
        let segment = match part.rows.segment() {
            Ok(segment) => since(segment, reset_at),
            Err(error) => {
                errors.push(error);
                continue;
            }
        };
        let mut batch = Received::default();
        batch.insert(&part.isolate, part.rows.previous, part.number);
        let row = Row { segment, received: batch, coalesced: part.coalesced, dropped: part.rows.dropped };
        match rows.iter_mut().find(|other| other.segment.day() == row.segment.day()) {
            Some(other) => other.append(&row),
            None => rows.push(row),
        }
    }
    (rows, errors)
}

/// Returns a segment without what is before `reset_at`.
fn since(segment: Segment, reset_at: UnixMillis) -> Segment {
    // In nearly every case, and then nothing is copied.
    if segment.span().is_none_or(|(first, _)| reset_at <= first) {
        return segment;
    }
    let mut later = Segment::new(segment.day());
    segment.events().filter(|event| reset_at <= event.at).for_each(|event| later.push(&event));
    later
}

#[cfg(test)]
mod tests {
    use proptest::{collection::vec, prelude::*};
    use shared::key::KeyId;

    use super::*;
    use crate::{
        events::{Buffer, Event, EventKind, deliveries},
        page::PageId,
    };

    const NOW: UnixMillis = UnixMillis(1_795_000_000_000);

    /// What isolates send for a page: `counts` says how many events each batch of each isolate has.
    fn parts(counts: &[Vec<u8>]) -> Vec<Part> {
        let batches = counts.iter().zip(1..).flat_map(|(counts, isolate)| {
            let mut buffer = Buffer::new([isolate; 8]);
            let mut batches = Vec::new();
            for (count, nth) in counts.iter().zip(0..) {
                // Half a day from batch to batch, so that days change.
                let at = NOW.plus(nth * 43_200_000);
                for _ in 0..*count {
                    buffer.push(KeyId::new([1; 12]), PageId::new([2; 12]), &Event::new(at, EventKind::View));
                }
                batches.extend(buffer.take());
            }
            batches
        });
        deliveries(batches.collect()).into_iter().flat_map(|delivery| delivery.parts).collect()
    }

    /// A store as the object keeps it: rows, and what was received.
    fn store(messages: &[&[Part]]) -> (EventCounts, usize) {
        let (mut received, mut counts) = (Received::default(), EventCounts::default());
        for parts in messages {
            let (rows, errors) = additions(parts, &received, UnixMillis(0));
            assert!(errors.is_empty());
            for row in rows {
                received.extend(&row.received);
                counts = counts.plus(row.counts());
            }
        }
        (counts, received.gaps())
    }

    proptest! {
        #[test]
        fn repetition_order_and_split_of_batches_change_nothing(
            counts in vec(vec(1..5u8, 1..8), 1..4),
            again in vec(any::<prop::sample::Index>(), 0..12),
            shuffle in any::<u64>(),
            size in 1..7usize,
        ) {
            let sent = parts(&counts);
            let total = counts.iter().flatten().map(|count| u64::from(*count)).sum();
            let mut arrived = sent.clone();
            arrived.extend(again.iter().map(|index| index.get(&sent).clone()));
            arrived.sort_by_key(|part| (part.number ^ shuffle).wrapping_mul(shuffle | 1));
            let messages: Vec<&[Part]> = arrived.chunks(size).collect();
            prop_assert_eq!(store(&messages), (EventCounts { views: total, ..EventCounts::default() }, 0));
            let everything_again: Vec<&[Part]> = messages.iter().chain(&messages).copied().collect();
            prop_assert_eq!(store(&everything_again).0.views, total);
        }
    }

    #[test]
    fn batch_that_never_comes_is_a_gap() {
        let sent = parts(&[vec![1, 2, 3]]);
        let (counts, gaps) = store(&[&[sent[0].clone(), sent[2].clone()]]);
        assert_eq!((counts.views, gaps), (4, 1));
    }

    #[test]
    fn events_before_a_reset_add_nothing() {
        let sent = parts(&[vec![2, 3]]);
        let (rows, _) = additions(&sent, &Received::default(), NOW.plus(1));
        assert_eq!(rows.iter().map(|row| row.counts().views).sum::<u64>(), 3);
    }
}
