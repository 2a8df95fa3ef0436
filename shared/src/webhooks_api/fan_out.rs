//! Events of the log become deliveries to an endpoint.

use super::{
    delivery::{Delivery, DeliveryState},
    problems::webhook_disabled,
};
use crate::{
    page::PageId,
    problem::Problem,
    time::UnixMillis,
    webhooks::{
        BatchId, DeliveryId, Endpoint, EventHead, EventId, MAX_BATCH_BYTES, MAX_BATCH_EVENTS,
        MAX_BATCH_WAIT_MS, WebhookKind, read_test,
    },
};

/// An event of the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LoggedEvent {
    /// Its id.
    pub id: EventId,
    /// Its page.
    pub page: PageId,
    /// Its kind.
    pub kind: WebhookKind,
    /// The length of its envelope.
    pub bytes: usize,
}

/// The numbers of an account's deliveries.
#[derive(Debug)]
pub struct DeliveryNumbers<'a, E: FnMut() -> [u8; 8]> {
    /// The last number.
    pub last: &'a mut u64,
    /// Draws random bytes.
    pub draw: E,
}

impl<E: FnMut() -> [u8; 8]> DeliveryNumbers<'_, E> {
    /// Returns the id of the next delivery.
    pub fn next_id(&mut self) -> DeliveryId {
        *self.last = self.last.saturating_add(1);
        DeliveryId::numbered(*self.last, (self.draw)())
    }
}

/// Returns the deliveries of events to an endpoint that wants them, new or changed: one for each
/// event, or batches. `open` is the batch that takes more. `waiting` deliveries have not been sent.
pub fn fan_out<E: FnMut() -> [u8; 8]>(
    endpoint: &mut Endpoint,
    events: &[LoggedEvent],
    open: Option<Delivery>,
    waiting: u64,
    numbers: &mut DeliveryNumbers<'_, E>,
    now: UnixMillis,
) -> Vec<Delivery> {
    let wanted: Vec<_> = events.iter().filter(|event| endpoint.wants(event.kind, &event.page)).collect();
    if wanted.is_empty() {
        return Vec::new();
    }
    endpoint.rate.record(now, wanted.len() as u64);
    let waiting = usize::try_from(waiting).unwrap_or(usize::MAX);
    if !endpoint.mode.is_batching(&endpoint.rate, now, waiting) {
        return wanted.iter().map(|event| single(endpoint, event, numbers.next_id(), now)).collect();
    }
    let (mut done, mut open) = (Vec::new(), open);
    for event in wanted {
        if !event.kind.is_visit() {
            // What it waits for is sent first, and it is in no batch that may be dropped.
            done.extend(open.take().map(|batch| closed(batch, now)));
            let batch = new_batch(endpoint, numbers.next_id(), now);
            let message = batch.message.clone();
            done.push(Delivery { message, ..single(endpoint, event, batch.id, now) });
            continue;
        }
        let fitting = open.take().filter(|batch| {
            let fits = batch.bytes.saturating_add(event.bytes) <= MAX_BATCH_BYTES;
            if !fits {
                done.push(closed(batch.clone(), now));
            }
            fits
        });
        let mut batch = fitting.unwrap_or_else(|| new_batch(endpoint, numbers.next_id(), now));
        batch.events.push(event.id.number());
        batch.bytes = batch.bytes.saturating_add(event.bytes);
        if batch.events.len() >= MAX_BATCH_EVENTS {
            done.push(closed(batch, now));
        } else {
            open = Some(batch);
        }
    }
    done.extend(open);
    done
}

/// Returns deliveries of events that an endpoint wants, to be sent once more: batches if the endpoint
/// takes them.
pub fn replay_of<E: FnMut() -> [u8; 8]>(
    endpoint: &Endpoint,
    events: &[LoggedEvent],
    numbers: &mut DeliveryNumbers<'_, E>,
    now: UnixMillis,
) -> Vec<Delivery> {
    let mut endpoint = endpoint.clone();
    let mut again = fan_out(&mut endpoint, events, None, events.len() as u64, numbers, now);
    again.iter_mut().for_each(|delivery| delivery.restart(now));
    again
}

/// Returns the delivery of a test, with a sample event of the kind that `body` names.
///
/// # Errors
/// Returns `body-malformed`, or `fields-invalid` with every fault or for a disabled endpoint.
pub fn new_test<E: FnMut() -> [u8; 8]>(
    endpoint: &Endpoint,
    body: &str,
    numbers: &mut DeliveryNumbers<'_, E>,
    now: UnixMillis,
) -> Result<Delivery, Problem> {
    let kind = read_test(body.as_bytes())?;
    if !endpoint.is_active() {
        return Err(webhook_disabled());
    }
    let (id, event) = (numbers.next_id(), EventId::numbered(0, (numbers.draw)()));
    let head = EventHead { id: event, at: now, is_test: true, sequence: 0, page_sequence: 0 };
    Ok(Delivery {
        message: event.to_string(),
        kind: "test".to_owned(),
        state: DeliveryState::Pending,
        due: now,
        test: Some(head.render_sample(kind)),
        ..new_batch(endpoint, id, now)
    })
}

/// Returns the delivery of one event.
fn single(endpoint: &Endpoint, event: &LoggedEvent, id: DeliveryId, now: UnixMillis) -> Delivery {
    Delivery {
        message: event.id.to_string(),
        kind: event.kind.as_str().to_owned(),
        state: DeliveryState::Pending,
        due: now,
        events: vec![event.id.number()],
        bytes: event.bytes,
        ..new_batch(endpoint, id, now)
    }
}

/// Returns a batch that takes events.
fn new_batch(endpoint: &Endpoint, id: DeliveryId, now: UnixMillis) -> Delivery {
    Delivery {
        id,
        endpoint: endpoint.id,
        message: BatchId::from(id).to_string(),
        kind: "batch".to_owned(),
        state: DeliveryState::Collecting,
        due: now.plus(MAX_BATCH_WAIT_MS),
        tries: 0,
        first_at: UnixMillis::default(),
        created_at: now,
        events: Vec::new(),
        bytes: 0,
        test: None,
        attempts: Vec::new(),
    }
}

/// Returns a batch that takes no more events, and is sent now.
fn closed(batch: Delivery, now: UnixMillis) -> Delivery {
    Delivery { state: DeliveryState::Pending, due: now, ..batch }
}
