//! The buffer of an isolate.
//!
//! Each event waits for others, at most [`WAIT_MS`], because a call of a store costs as much for one
//! event as for hundreds. What neither the stores nor the queue take stays, up to [`MAX_UNSENT`]
//! bytes, the oldest dropped first.

use std::collections::VecDeque;

use shared::{key::KeyId, sorted_map::SortedMap, time::UtcDay};

use super::{
    batch::{Batch, PageRows},
    event::Event,
    segment::Segment,
};
use crate::page::PageId;

/// The longest that an event waits for others, in milliseconds.
pub const WAIT_MS: u64 = 1_000;
/// Events that are sent without a wait.
const MAX_EVENTS: usize = 400;
/// Bytes that are sent without a wait. A message of the queue is at most 128 KB.
const MAX_BYTES: usize = 80_000;
/// Bytes that are kept while nothing takes them.
const MAX_UNSENT: usize = 1_000_000;
/// Bytes that a page adds to a batch, at most.
const PAGE_BYTES: usize = 200;
/// Bytes that an event adds to a batch apart from its values, at most.
const EVENT_BYTES: usize = 32;
/// Pages whose last batch is known.
const MAX_PAGES: usize = 10_000;

/// The action after an event was added.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flush {
    /// Send what there is.
    Now,
    /// Wait [`WAIT_MS`], and send then what [`Buffer::take_due`] returns for this number.
    Later(u64),
}

/// The events of an isolate that were not sent yet.
#[derive(Debug)]
pub struct Buffer {
    isolate: String,
    /// The number of the last batch.
    number: u64,
    events: SortedMap<(UtcDay, PageId), Pending>,
    rows: usize,
    bytes: usize,
    /// Batches that were not taken, the oldest first.
    unsent: VecDeque<Batch>,
    unsent_bytes: usize,
    /// The last batch with events of a page, and events that were dropped since.
    pages: SortedMap<PageId, (u64, u64)>,
}

#[derive(Debug)]
struct Pending {
    account: KeyId,
    segment: Segment,
}

impl Buffer {
    /// Returns the empty buffer of an isolate, which is known by these random bytes.
    pub fn new(isolate: [u8; 8]) -> Self {
        Self {
            isolate: format!("{:016x}", u64::from_be_bytes(isolate)),
            number: 0,
            events: SortedMap::new(),
            rows: 0,
            bytes: 0,
            unsent: VecDeque::new(),
            unsent_bytes: 0,
            pages: SortedMap::new(),
        }
    }

    /// Adds an event of a page.
    pub fn push(&mut self, account: KeyId, page: PageId, event: &Event) -> Flush {
        let day = event.at.day();
        let pending = self.events.get_or_insert_with((day, page), || {
            // Not only rows count: a batch of many pages with one event each must fit a message
            // too.
            self.bytes += PAGE_BYTES;
            Pending { account, segment: Segment::new(day) }
        });
        pending.segment.push(event);
        self.rows += 1;
        self.bytes += EVENT_BYTES + event.values.iter().map(|value| value.len()).sum::<usize>();
        let is_full = self.rows >= MAX_EVENTS || self.bytes >= MAX_BYTES;
        if is_full { Flush::Now } else { Flush::Later(self.number) }
    }

    /// Returns what is to be sent now, including what was not taken before. The oldest comes first.
    pub fn take(&mut self) -> Vec<Batch> {
        // The old ones first: a store that gets a later batch before them shows a gap until then.
        let mut batches: Vec<Batch> = std::mem::take(&mut self.unsent).into();
        self.unsent_bytes = 0;
        let coalesced = self.rows > 1;
        let mut last = None;
        for ((day, page), Pending { account, segment }) in std::mem::take(&mut self.events) {
            // Around midnight there are two days, and a batch is of one.
            if last != Some(day) {
                last = Some(day);
                self.number += 1;
                let isolate = self.isolate.clone();
                batches.push(Batch { isolate, number: self.number, coalesced, pages: Vec::new() });
            }
            let (previous, dropped) = self.follow(page);
            if let Some(batch) = batches.last_mut() {
                batch.pages.push(PageRows::new(account, page, previous, dropped, &segment));
            }
        }
        (self.rows, self.bytes) = (0, 0);
        batches
    }

    /// Returns what is to be sent after a wait: nothing if another request has sent it meanwhile. So the
    /// first event of a batch decides when it is sent, and the others see to it if that request ends.
    pub fn take_due(&mut self, number: u64) -> Vec<Batch> {
        // A number that has changed means that the events of this wait were sent with a full
        // buffer.
        match self.rows > 0 && self.number == number {
            true => self.take(),
            false => Vec::new(),
        }
    }

    /// Keeps batches that were not taken. They have their numbers, so that one which was taken after
    /// all counts once.
    pub fn restore(&mut self, batches: Vec<Batch>) {
        for batch in batches {
            self.unsent_bytes += size(&batch);
            self.unsent.push_back(batch);
        }
        // An outage of hours must not take the memory of the isolate, which serves calls too.
        while self.unsent_bytes > MAX_UNSENT {
            let Some(dropped) = self.unsent.pop_front() else { break };
            self.unsent_bytes = self.unsent_bytes.saturating_sub(size(&dropped));
            for rows in &dropped.pages {
                let events = rows.segment().map_or(0, |segment| segment.rows() as u64) + rows.dropped;
                // Reported with the next batch of the page, so that its owner sees what is missing.
                self.pages.get_or_default(rows.page).1 += events;
            }
        }
    }

    /// Returns the number of the batch before, and the events that were dropped since.
    fn follow(&mut self, page: PageId) -> (u64, u64) {
        if self.pages.len() >= MAX_PAGES {
            // Then the next batch of each page follows none that is known, and shows no gap.
            self.pages.clear();
        }
        self.pages.insert(page, (self.number, 0)).unwrap_or_default()
    }
}

/// Returns the bytes that a batch takes, about.
fn size(batch: &Batch) -> usize {
    batch.to_json().len()
}

#[cfg(test)]
mod tests {
    use shared::time::UnixMillis;

    use super::*;
    use crate::events::{EventKind, PageDelivery, deliveries};

    const NOW: UnixMillis = UnixMillis(1_795_000_000_000);

    fn buffer() -> Buffer {
        Buffer::new([7; 8])
    }

    fn page(number: u8) -> PageId {
        PageId::new([number; 12])
    }

    fn push(buffer: &mut Buffer, number: u8, now: UnixMillis) -> Flush {
        buffer.push(KeyId::new([1; 12]), page(number), &Event::new(now, EventKind::View))
    }

    fn rows(deliveries: &[PageDelivery]) -> usize {
        let parts = deliveries.iter().flat_map(|delivery| &delivery.parts);
        parts.map(|part| part.rows.segment().unwrap().rows()).sum()
    }

    /// Opens the page and fetches its image, as a visit does within a second.
    #[test]
    fn events_wait_and_become_one_batch() {
        let mut buffer = buffer();
        for nth in 0..20 {
            let now = NOW.plus(nth * 60_000);
            let flushes = [push(&mut buffer, 1, now), push(&mut buffer, 1, now.plus(300))];
            assert_eq!(flushes, [Flush::Later(nth); 2]);
            let batches = buffer.take_due(nth);
            assert_eq!((batches.len(), batches[0].number, batches[0].coalesced), (1, nth + 1, true));
            assert_eq!(batches[0].pages[0].previous, nth);
            assert_eq!(buffer.take_due(nth), [], "the second event has nothing left to send");
        }
        push(&mut buffer, 1, NOW);
        assert!(!buffer.take_due(20)[0].coalesced);
    }

    #[test]
    fn hot_isolate_sends_few_batches_with_every_event() {
        let (mut buffer, mut sent, mut timers) = (buffer(), Vec::new(), VecDeque::new());
        // 400 a second for 15 seconds, each of which arms its own timer.
        for nth in 0..6_000u64 {
            let now = NOW.plus(nth * 5 / 2);
            while timers.front().is_some_and(|(at, _)| *at <= now) {
                sent.extend(buffer.take_due(timers.pop_front().unwrap().1));
            }
            match push(&mut buffer, 1, now) {
                Flush::Now => sent.extend(buffer.take()),
                Flush::Later(number) => timers.push_back((now.plus(WAIT_MS), number)),
            }
        }
        timers.into_iter().for_each(|(_, number)| sent.extend(buffer.take_due(number)));
        assert!((15..=16).contains(&sent.len()), "{} batches", sent.len());
        assert!(sent.windows(2).all(|pair| pair[1].pages[0].previous == pair[0].number));
        assert_eq!(rows(&deliveries(sent)), 6_000);
    }

    #[test]
    fn full_buffer_is_sent_at_once() {
        let mut buffer = buffer();
        let flushes: Vec<_> = (0..MAX_EVENTS).map(|_| push(&mut buffer, 1, NOW)).collect();
        assert_eq!(flushes.iter().position(|flush| *flush == Flush::Now), Some(MAX_EVENTS - 1));
        for nth in 0..=u8::MAX {
            if push(&mut buffer, nth, NOW) == Flush::Now {
                let batches = buffer.take();
                assert!(batches.iter().all(|batch| batch.to_json().len() < 128_000));
            }
        }
    }

    #[test]
    fn events_around_midnight_are_two_batches() {
        let midnight = NOW.day().start().plus(86_400_000);
        let mut buffer = buffer();
        push(&mut buffer, 1, midnight.minus(1));
        push(&mut buffer, 1, midnight);
        let batches = buffer.take();
        assert_eq!(batches.iter().map(|batch| batch.number).collect::<Vec<_>>(), [1, 2]);
        assert_eq!(batches[1].pages[0].previous, 1);
    }

    #[test]
    fn batches_that_nothing_takes_are_dropped_from_the_oldest() {
        let mut buffer = buffer();
        for nth in 0..300u64 {
            for _ in 0..MAX_EVENTS {
                let at = NOW.plus(nth * 1000);
                let event = Event { visitor: nth | 1, ..Event::new(at, EventKind::View) };
                buffer.push(KeyId::new([1; 12]), page(1), &event);
            }
            let batches = buffer.take();
            buffer.restore(batches);
        }
        assert!(buffer.unsent_bytes <= MAX_UNSENT);
        push(&mut buffer, 1, NOW.plus(400_000));
        let kept = buffer.take();
        let dropped: u64 = kept.iter().map(|batch| batch.pages[0].dropped).sum();
        assert!(dropped > 0 && kept.len() < 301);
        assert_eq!(rows(&deliveries(kept)) as u64 + dropped, 300 * MAX_EVENTS as u64 + 1);
    }

    #[test]
    fn batches_of_several_isolates_are_one_delivery_for_each_page() {
        let (mut one, mut two) = (Buffer::new([1; 8]), Buffer::new([2; 8]));
        for number in [1, 2, 1] {
            push(&mut one, number, NOW);
        }
        push(&mut two, 2, NOW);
        let batches = [one.take(), two.take()].concat();
        assert_eq!(Batch::from_json(&batches[0].to_json()), Some(batches[0].clone()));
        let deliveries = deliveries(batches);
        assert_eq!(deliveries.len(), 2);
        assert_eq!(deliveries[1].batches, [0, 1]);
        assert_eq!(rows(&deliveries), 4);
    }
}
