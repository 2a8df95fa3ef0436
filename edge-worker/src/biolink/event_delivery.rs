//! The way of this isolate's events to the stores of their pages: directly, or through the queue if
//! that fails. No visitor waits for any of it.
//!
//! **If a store fails or hangs**, the queue gets its events, and for a minute all others. **If the
//! queue takes nothing either**, batches are kept and sent again, up to a megabyte.
//!
//! Why: docs/decisions/analytics.md, "A batch goes directly to the stores, and to the queue if
//! that fails".

use std::cell::RefCell;
use std::time::Duration;

use biolink::events::{Batch, Buffer, Event, Flush, Occurrence, StoreBreaker, WAIT_MS, deliveries};
use biolink::page::PageId;
use futures_util::future::join_all;
use worker::{Delay, ObjectNamespace, Queue};

use crate::bindings::BiolinkBindings;
use crate::biolink::stats_client;
use crate::runtime::{calls, clock, entropy, log, promise};

/// Time that a store has to take a batch, in milliseconds. The queue has it after that.
const STORE_TIMEOUT_MS: u64 = 2_000;
/// Times that what the queue did not take is sent again before it waits for the next event.
const RETRIES: u32 = 4;
/// Time before the first retry, in milliseconds. It doubles each time.
const RETRY_MS: u64 = 1_000;

thread_local! {
    static BUFFER: RefCell<Option<Buffer>> = const { RefCell::new(None) };
    static BREAKER: RefCell<StoreBreaker> = const { RefCell::new(StoreBreaker::new()) };
}

/// The places that take events.
pub(crate) struct EventSinks {
    stats: ObjectNamespace,
    queue: Queue,
}

impl EventSinks {
    pub(crate) fn of(bindings: &BiolinkBindings) -> Self {
        Self { stats: bindings.stats.clone(), queue: bindings.events.clone() }
    }

    /// Sends what is due, and again what was not taken.
    pub(crate) async fn deliver(&self, flush: Flush) {
        let mut batches = match flush {
            Flush::Now => with_buffer(Buffer::take),
            Flush::Later(number) => {
                Delay::from(Duration::from_millis(WAIT_MS)).await;
                with_buffer(|buffer| buffer.take_due(number))
            }
        };
        for retry in 0..=RETRIES {
            let mut refused = Vec::new();
            for batch in batches {
                if let Some(left) = self.store(batch).await {
                    refused.extend(self.enqueue(left).await);
                }
            }
            if refused.is_empty() {
                return;
            }
            // Before the wait: the isolate may end in it, and an event in the meantime sends them
            // along.
            with_buffer(|buffer| buffer.restore(refused));
            if retry == RETRIES {
                return;
            }
            Delay::from(Duration::from_millis(RETRY_MS << retry)).await;
            batches = with_buffer(Buffer::take);
        }
    }

    /// Gives a batch to the stores of its pages. Returns what they did not take: all of it if it does
    /// not go to them directly.
    async fn store(&self, batch: Batch) -> Option<Batch> {
        if !BREAKER.with_borrow(|breaker| breaker.is_direct(&batch, clock::now())) {
            return Some(batch);
        }
        let deliveries = deliveries(vec![batch.clone()]);
        let appends =
            deliveries.iter().map(|delivery| stats_client::append(&self.stats, delivery, STORE_TIMEOUT_MS));
        let outcomes = join_all(appends).await;
        let taken = deliveries.iter().zip(outcomes).filter(|(_, is_taken)| *is_taken);
        // What a store has taken does not go to the queue. It would be dropped there as a
        // repetition.
        let left = batch.without(&taken.map(|(delivery, _)| delivery.page).collect::<Vec<PageId>>());
        // One failure is enough: each further batch would wait for two seconds too, and the queue
        // takes it anyway.
        if left.is_some() {
            BREAKER.with_borrow_mut(|breaker| breaker.record_failure(clock::now()));
        }
        left
    }

    /// Gives a batch to the queue. Returns it if the queue does not take it.
    async fn enqueue(&self, batch: Batch) -> Option<Batch> {
        let sent = calls::send_text(self.queue.as_ref(), &batch.to_json());
        let error = worker::Error::from(promise::settled(sent).await.err()?);
        log::error(
            log::Event("event batch not queued"),
            None,
            &[("number", &batch.number), ("error", &error)],
        );
        Some(batch)
    }
}

/// Appends an event to the buffer. Returns when to deliver it; `None` if the isolate has no buffer.
pub(crate) fn push(occurrence: &Occurrence, event: &Event) -> Option<Flush> {
    BUFFER.with_borrow_mut(|place| {
        let buffer = match place {
            Some(buffer) => buffer,
            None => place.insert(Buffer::new(isolate()?)),
        };
        Some(buffer.push(occurrence.account, occurrence.page, event))
    })
}

fn isolate() -> Option<[u8; 8]> {
    match entropy::random() {
        Ok(drawn) => Some(drawn),
        Err(error) => {
            log::error(log::Event("random number generator failed"), None, &[("error", &error)]);
            None
        }
    }
}

fn with_buffer<T: Default>(step: impl FnOnce(&mut Buffer) -> T) -> T {
    BUFFER.with_borrow_mut(|place| place.as_mut().map(step).unwrap_or_default())
}
