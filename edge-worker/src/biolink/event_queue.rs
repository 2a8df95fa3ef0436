//! The consumer of the event queue: each page's store gets what a batch of messages has for it.

use biolink::events::{Batch, deliveries, retry_delay};
use futures_util::future::join_all;
use shared::time::UnixMillis;
use worker::{Env, MessageBatch, MessageExt, QueueRetryOptionsBuilder, RawMessage};

use crate::bindings;
use crate::biolink::stats_client;
use crate::runtime::{clock, log};

/// Stores that are written concurrently. The platform lets a worker have six connections.
const AT_ONCE: usize = 6;
/// Time that a store has to take its events, in milliseconds.
const TIMEOUT_MS: u64 = 15_000;

/// Delivers a batch of messages. A message of which a page's store took nothing comes again, and what
/// the others have taken of it counts once.
pub(crate) async fn consume(batch: &MessageBatch<()>, env: &Env) {
    let stats = match bindings::stats(env) {
        Ok(stats) => stats,
        Err(error) => {
            log::error(log::Event("event queue not consumed"), None, &[("error", &error)]);
            return batch.retry_all();
        }
    };
    let mut messages: Vec<RawMessage> = Vec::new();
    let mut batches = Vec::new();
    for message in batch.raw_iter() {
        match message.body().as_string().and_then(|text| Batch::from_json(&text)) {
            Some(batch) => {
                messages.push(message);
                batches.push(batch);
            }
            None => {
                log::error(log::Event("event batch is unreadable"), None, &[("id", &message.id())]);
                // It would never become readable, and come again until the queue gives it up.
                message.ack();
            }
        }
    }
    let mut failed = vec![false; messages.len()];
    let deliveries = deliveries(batches);
    for chunk in deliveries.chunks(AT_ONCE) {
        let appends = chunk.iter().map(|delivery| stats_client::append(&stats, delivery, TIMEOUT_MS));
        let outcomes = join_all(appends).await;
        for (delivery, _) in chunk.iter().zip(outcomes).filter(|(_, is_taken)| !is_taken) {
            for place in &delivery.batches {
                if let Some(failed) = failed.get_mut(*place) {
                    *failed = true;
                }
            }
        }
    }
    for (message, failed) in messages.iter().zip(failed) {
        if failed { retry(message) } else { message.ack() }
    }
}

fn retry(message: &RawMessage) {
    let age = clock::now().since(UnixMillis(message.timestamp().as_millis()));
    // By its age, not the number of its attempts: the queue gives a message up after a fixed number
    // of them.
    message.retry_with_options(&QueueRetryOptionsBuilder::new().with_delay_seconds(retry_delay(age)).build());
}
