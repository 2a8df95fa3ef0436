//! Whether a batch goes directly to the stores of its pages.

use shared::time::UnixMillis;

use super::batch::Batch;

/// Pages of a batch that goes directly. The platform lets a worker have six concurrent connections.
const MAX_PAGES: usize = 6;
/// Time for which batches go through the queue after a store has failed, in milliseconds.
const OPEN_MS: u64 = 60_000;

/// A circuit breaker between an isolate and the stores of events.
///
/// A call of a store costs less than a message of the queue, but thousands of isolates can call one
/// store at the same time. So after a store has failed, batches go through the queue for a minute: it calls a
/// store once for many of them.
#[derive(Debug, Default)]
pub struct StoreBreaker {
    open_until: UnixMillis,
}

impl StoreBreaker {
    /// Returns the breaker of an isolate that has seen no store fail.
    pub const fn new() -> Self {
        Self { open_until: UnixMillis(0) }
    }

    /// Returns true if the batch goes to the stores of its pages before the queue gets what is left.
    pub fn is_direct(&self, batch: &Batch, now: UnixMillis) -> bool {
        // Beyond six, the calls would wait for each other, and the last one would time out.
        self.open_until <= now && batch.pages.len() <= MAX_PAGES
    }

    /// Records that a store has not taken its events.
    pub fn record_failure(&mut self, now: UnixMillis) {
        self.open_until = now.plus(OPEN_MS);
    }
}

#[cfg(test)]
mod tests {
    use shared::key::KeyId;

    use super::*;
    use crate::{
        events::{Buffer, Event, EventKind},
        page::PageId,
    };

    const NOW: UnixMillis = UnixMillis(1_795_000_000_000);

    /// Returns a batch with a view of each of this many pages.
    fn batch(pages: u8) -> Batch {
        let mut buffer = Buffer::new([7; 8]);
        for page in 0..pages {
            let view = Event::new(NOW, EventKind::View);
            buffer.push(KeyId::new([1; 12]), PageId::new([page; 12]), &view);
        }
        buffer.take().remove(0)
    }

    #[test]
    fn batch_of_up_to_six_pages_is_direct() {
        let breaker = StoreBreaker::new();
        let direct: Vec<_> = (1..9).filter(|pages| breaker.is_direct(&batch(*pages), NOW)).collect();
        assert_eq!(direct, [1, 2, 3, 4, 5, 6]);
    }

    #[test]
    fn batches_are_queued_for_a_minute_after_a_failure() {
        let (mut breaker, batch) = (StoreBreaker::new(), batch(1));
        breaker.record_failure(NOW);
        for (after, is_direct) in [(0, false), (59_999, false), (60_000, true), (90_000, true)] {
            assert_eq!(breaker.is_direct(&batch, NOW.plus(after)), is_direct, "{after}");
        }
        // The next batch is tried. If its store fails again, it is another minute.
        breaker.record_failure(NOW.plus(90_000));
        assert!(!breaker.is_direct(&batch, NOW.plus(149_999)));
        assert!(breaker.is_direct(&batch, NOW.plus(150_000)));
    }

    #[test]
    fn batch_without_stored_pages_has_the_others_under_its_number() {
        let batch = batch(3);
        let [first, second, third] = [0, 1, 2].map(|page| PageId::new([page; 12]));
        let left = batch.clone().without(&[first, third]).unwrap();
        assert_eq!((&left.isolate, left.number, left.coalesced), (&batch.isolate, batch.number, true));
        assert_eq!(left.pages, [batch.pages[1].clone()]);
        assert_eq!(left.without(&[second]), None);
        assert_eq!(batch.clone().without(&[]), Some(batch));
    }
}
