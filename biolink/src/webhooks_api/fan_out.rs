//! Events of the log become deliveries to an endpoint.

use shared::{problem::Problem, time::UnixMillis};

use super::{
    delivery::{Delivery, DeliveryState},
    problems::{webhook_disabled, webhook_without_url},
};
use crate::{
    page::PageId,
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
    /// Its page; `None` for an alert.
    pub page: Option<PageId>,
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
    let wanted: Vec<_> =
        events.iter().filter(|event| endpoint.wants(event.kind, event.page.as_ref())).collect();
    if wanted.is_empty() || !endpoint.is_receiver() {
        return Vec::new();
    }
    // Before the mode is asked, so that the event which makes it a burst is in a batch already.
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
    // A replay must not count as traffic, or later events would come in batches.
    let mut endpoint = endpoint.clone();
    let mut again = fan_out(&mut endpoint, events, None, events.len() as u64, numbers, now);
    // An open batch too, for which no further events come.
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
    if !endpoint.is_receiver() {
        return Err(webhook_without_url());
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        fetch_url::FetchPolicy,
        webhooks::{EncryptionKeys, EndpointId, EndpointInput, WebhookSecret},
    };

    const NOW: UnixMillis = UnixMillis(1_795_000_000_000);
    const PAGE: PageId = PageId::new([1; 12]);

    fn endpoint(mode: &str) -> Endpoint {
        let body =
            format!(r#"{{"url":"https://a.example/","events":["click","page_published"],"mode":"{mode}"}}"#);
        let input = EndpointInput::create(body.as_bytes(), &FetchPolicy::default(), &[]).unwrap();
        let keys = EncryptionKeys::parse("0123456789abcdef0123456789abcdef").unwrap();
        let secret = keys.seal(&WebhookSecret::generate([1; 24]), "ada", &[1; 24]);
        Endpoint::new(EndpointId::new([7; 12]), input, secret, NOW)
    }

    fn events(kinds: &[(WebhookKind, usize)]) -> Vec<LoggedEvent> {
        let logged = |(sequence, (kind, bytes)): (u64, &(WebhookKind, usize))| LoggedEvent {
            id: EventId::numbered(sequence, [3; 8]),
            page: (!kind.is_alert()).then_some(PAGE),
            kind: *kind,
            bytes: *bytes,
        };
        (1..).zip(kinds).map(logged).collect()
    }

    fn fanned(mode: &str, kinds: &[(WebhookKind, usize)], open: Option<Delivery>) -> Vec<Delivery> {
        let (mut last, mut endpoint) = (40, endpoint(mode));
        let mut numbers = DeliveryNumbers { last: &mut last, draw: || [9; 8] };
        fan_out(&mut endpoint, &events(kinds), open, 0, &mut numbers, NOW)
    }

    fn counts(deliveries: &[Delivery]) -> Vec<(usize, DeliveryState)> {
        deliveries.iter().map(|delivery| (delivery.events.len(), delivery.state)).collect()
    }

    use DeliveryState::{Collecting, Pending};
    use WebhookKind::{Click, PagePublished, PageView};

    #[test]
    fn single_delivery_has_the_id_of_its_event() {
        let deliveries = fanned("single", &[(Click, 9), (PageView, 9), (Click, 9)], None);
        let messages: Vec<_> = deliveries.iter().map(|delivery| delivery.message.clone()).collect();
        let ids = [1, 3].map(|sequence| EventId::numbered(sequence, [3; 8]).to_string());
        assert_eq!(messages, ids, "only what it wants");
        assert_eq!(deliveries[1].id.number(), 42);
        assert!(deliveries.iter().all(|delivery| delivery.state == Pending && delivery.due == NOW));
    }

    #[test]
    fn batch_collects_until_it_is_full() {
        let open = fanned("batch", &[(Click, 1); 60], None);
        assert_eq!(counts(&open), [(60, Collecting)]);
        assert_eq!(open[0].due, NOW.plus(MAX_BATCH_WAIT_MS));
        let more = fanned("batch", &[(Click, 1); 60], open.into_iter().next());
        assert_eq!(counts(&more), [(100, Pending), (20, Collecting)]);
        assert_eq!(
            (more[0].due, more[0].batch(), more[0].id.number()),
            (NOW, Some(BatchId::from(more[0].id)), 41)
        );
    }

    #[test]
    fn batch_is_closed_before_it_is_too_large() {
        assert_eq!(counts(&fanned("batch", &[(Click, 20_000); 4], None)), [(3, Pending), (1, Collecting)]);
        let one = fanned("batch", &[(Click, MAX_BATCH_BYTES + 1)], None);
        assert_eq!(counts(&one), [(1, Collecting)]);
    }

    #[test]
    fn publication_closes_the_batch_and_is_one_of_its_own() {
        let deliveries = fanned("batch", &[(Click, 1), (PagePublished, 1), (Click, 1)], None);
        assert_eq!(counts(&deliveries), [(1, Pending), (1, Pending), (1, Collecting)]);
        assert_eq!((deliveries[1].kind.as_str(), deliveries[1].batch().is_some()), ("page_published", true));
    }

    #[test]
    fn alert_waits_for_no_batch_and_no_page() {
        let other = PageId::new([2; 12]);
        let input = format!(
            r#"{{"url":"https://a.example/","events":["click","quota_threshold"],"page_ids":["{other}"],"mode":"batch"}}"#
        );
        let input = EndpointInput::create(input.as_bytes(), &FetchPolicy::default(), &[other]).unwrap();
        let mut filtered = endpoint("batch");
        filtered.update(input, NOW);
        let mut last = 0;
        let mut numbers = DeliveryNumbers { last: &mut last, draw: || [9; 8] };
        let logged = events(&[(Click, 1), (WebhookKind::QuotaThreshold, 1)]);
        let deliveries = fan_out(&mut filtered, &logged, None, 0, &mut numbers, NOW);
        assert_eq!(counts(&deliveries), [(1, Pending)]);
        assert_eq!(deliveries[0].kind, "quota_threshold");
    }

    #[test]
    fn many_events_at_once_are_a_batch_in_auto_mode() {
        assert_eq!(fanned("auto", &[(Click, 1); 10], None).len(), 10);
        assert_eq!(counts(&fanned("auto", &[(Click, 1); 11], None)), [(11, Collecting)]);
    }

    #[test]
    fn replay_is_sent_at_once() {
        let (mut last, endpoint) = (0, endpoint("batch"));
        let mut numbers = DeliveryNumbers { last: &mut last, draw: || [9; 8] };
        let again = replay_of(&endpoint, &events(&[(Click, 1), (PageView, 1)]), &mut numbers, NOW);
        assert_eq!((counts(&again), again[0].due), (vec![(1, Pending)], NOW));
    }

    #[test]
    fn endpoint_that_gets_no_requests_takes_no_test() {
        let (mut last, mut endpoint) = (0, endpoint("single"));
        let mut numbers = DeliveryNumbers { last: &mut last, draw: || [9; 8] };
        let test = new_test(&endpoint, r#"{"type":"click"}"#, &mut numbers, NOW).unwrap();
        assert!(test.is_test() && test.events.is_empty() && test.kind == "test");
        endpoint.url = None;
        assert!(fan_out(&mut endpoint, &events(&[(Click, 1)]), None, 0, &mut numbers, NOW).is_empty());
        let refused = new_test(&endpoint, r#"{"type":"click"}"#, &mut numbers, NOW).unwrap_err();
        assert!(refused.detail().contains("no url"), "{}", refused.detail());
        endpoint.enabled = false;
        let refused = new_test(&endpoint, r#"{"type":"click"}"#, &mut numbers, NOW).unwrap_err();
        assert!(refused.detail().contains("disabled"), "{}", refused.detail());
    }
}
