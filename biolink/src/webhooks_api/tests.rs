//! Deliveries from their first attempt to their description.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use shared::{
    key::KeyId,
    meter::{Alert, AlertCause, KeyAlerts},
    time::UnixMillis,
};

use super::*;
use crate::{
    fetch_url::FetchPolicy,
    page::PageId,
    stats::OutboxRow,
    webhooks::{
        AttemptResult, BatchId, DeliveryId, DisabledReason, EncryptionKeys, Endpoint, EndpointChange,
        EndpointId, EndpointInput, EventId, HEADER_SIGNATURE, MAX_NUMBER, WebhookKind, WebhookSecret, sign,
    },
};

const NOW: UnixMillis = UnixMillis(1_795_000_000_000);
const PAGE: PageId = PageId::new([1; 12]);

fn endpoint() -> Endpoint {
    let body = br#"{"url":"https://a.example/","events":["click"]}"#;
    let input = EndpointInput::create(body, &FetchPolicy::default(), &[]).unwrap();
    let keys = EncryptionKeys::parse("0123456789abcdef0123456789abcdef").unwrap();
    let secret = keys.seal(&WebhookSecret::generate([1; 24]), "ada", &[1; 24]);
    Endpoint::new(EndpointId::new([7; 12]), input, secret, NOW)
}

/// Returns a delivery of three events.
fn delivery() -> Delivery {
    let id = DeliveryId::numbered(4, [9; 8]);
    Delivery {
        id,
        endpoint: EndpointId::new([7; 12]),
        message: BatchId::from(id).to_string(),
        kind: "batch".to_owned(),
        state: DeliveryState::Pending,
        due: NOW,
        tries: 0,
        first_at: UnixMillis::default(),
        created_at: NOW,
        events: vec![1, 2, 3],
        bytes: 30,
        test: None,
        attempts: Vec::new(),
    }
}

const fn status(status: u16) -> AttemptResult {
    AttemptResult::Response { status, retry_after_ms: None }
}

fn record(delivery: &mut Delivery, endpoint: &mut Endpoint, result: AttemptResult) -> EndpointChange {
    let ended = EndedAttempt { at: NOW, result: Some(result), response: Some("thanks".to_owned()) };
    delivery.record(endpoint, ended, 0, NOW.plus(20))
}

#[test]
fn attempt_decides_about_delivery_and_endpoint() {
    for (result, state, change, counted) in [
        (status(204), DeliveryState::Delivered, EndpointChange::None, (3, 0)),
        (status(500), DeliveryState::Pending, EndpointChange::None, (0, 0)),
        (AttemptResult::TimedOut, DeliveryState::Pending, EndpointChange::None, (0, 0)),
        (status(410), DeliveryState::Failed, EndpointChange::Disabled(DisabledReason::Gone), (0, 3)),
    ] {
        let (mut delivery, mut endpoint) = (delivery(), endpoint());
        assert_eq!(record(&mut delivery, &mut endpoint, result), change, "{result:?}");
        let statistics = &endpoint.statistics;
        assert_eq!(
            (delivery.state, (statistics.delivered, statistics.failed)),
            (state, counted),
            "{result:?}"
        );
        assert_eq!(delivery.due > NOW, state == DeliveryState::Pending, "{result:?}: due {:?}", delivery.due);
        assert_eq!((delivery.tries, delivery.first_at), (1, NOW));
    }
}

#[test]
fn delivery_fails_after_its_last_attempt_and_keeps_twenty() {
    let (mut delivery, mut endpoint) = (delivery(), endpoint());
    for round in 0..3 {
        for attempt in 1..=10 {
            record(&mut delivery, &mut endpoint, status(500));
            let is_last = attempt == 10;
            assert_eq!(delivery.state == DeliveryState::Failed, is_last, "{round}: {attempt}");
        }
        delivery.restart(NOW);
    }
    assert_eq!((delivery.attempts.len(), endpoint.statistics.failed), (20, 9));
}

#[test]
fn failed_test_is_not_sent_again_and_says_nothing_about_the_endpoint() {
    let (mut test, mut endpoint) = (delivery(), endpoint());
    (test.events, test.test) = (Vec::new(), Some("{}".to_owned()));
    assert_eq!(record(&mut test, &mut endpoint, status(410)), EndpointChange::None);
    assert_eq!((test.state, endpoint.is_active()), (DeliveryState::Failed, true));
    let nothing = EndedAttempt { at: NOW, result: None, response: None };
    assert_eq!(delivery().record(&mut endpoint, nothing.clone(), 0, NOW), EndpointChange::None);
    let mut dropped = delivery();
    dropped.record(&mut endpoint, nothing, 0, NOW);
    assert_eq!((dropped.state, dropped.tries), (DeliveryState::Dropped, 0), "there was nothing to send");
}

#[test]
fn delivery_is_described_with_its_attempts_and_the_next_one() {
    let (mut delivery, mut endpoint) = (delivery(), endpoint());
    record(&mut delivery, &mut endpoint, status(500));
    let described = delivery.describe(&["evt_1".to_owned()], None);
    let attempt = json!({"at": NOW.to_rfc3339(), "status": 500, "duration_ms": 20, "error": "status", "response": "thanks"});
    assert_eq!(described["attempts"], json!([attempt]));
    assert_eq!((&described["status"], &described["event_ids"]), (&json!("pending"), &json!(["evt_1"])));
    assert_eq!(described["next_attempt_at"], delivery.due.to_rfc3339());
    let probe = delivery.due.plus(60_000);
    let next = |delivery: &Delivery| delivery.describe(&[], Some(probe))["next_attempt_at"].clone();
    assert_eq!(next(&delivery), probe.to_rfc3339(), "not before the endpoint is probed");
    delivery.test = Some("{}".to_owned());
    assert_eq!(next(&delivery), delivery.due.to_rfc3339(), "a test waits for no probe");
    delivery.state = DeliveryState::Dropped;
    assert_eq!(next(&delivery), Value::Null);
    let accepted = delivery.accepted(&[], None);
    assert_eq!((accepted.status, accepted.body), (202, delivery.describe(&[], None).to_string()));
    assert_eq!((replay_accepted(7).status, replay_accepted(7).body.contains(":7,")), (202, true));
}

#[test]
fn list_of_deliveries_ends_with_a_cursor_while_there_is_more() {
    let found = |count: u64| -> Vec<Delivery> {
        (0..count).map(|n| Delivery { id: DeliveryId::numbered(9 - n, [9; 8]), ..delivery() }).collect()
    };
    let query = DeliveryQuery::read(Some("limit=2&cursor=")).unwrap();
    let ids = |events: &[u64]| Ok::<_, ()>(events.iter().map(u64::to_string).collect());
    let list = |count| -> Value {
        serde_json::from_str(&query.render(found(count), None, ids).unwrap().body).unwrap()
    };
    let (more, last) = (list(3), list(2));
    assert_eq!((&more["has_more"], &more["next_cursor"]), (&json!(true), &more["data"][1]["id"]));
    assert_eq!((&last["has_more"], &last["next_cursor"]), (&json!(false), &Value::Null));
    assert_eq!(last["data"][0]["event_ids"], json!(["1", "2", "3"]));
    let next = format!("cursor={}", more["next_cursor"].as_str().unwrap());
    assert_eq!(DeliveryQuery::read(Some(&next)).unwrap().before, Some(8));
    assert_eq!(query.render(found(1), None, |_| Err("lost")).err(), Some("lost"));
}

#[test]
fn queries_read_every_parameter() {
    let event = EventId::numbered(7, [3; 8]);
    let query = format!(
        "limit=3&status=failed&type=click&event_id={event}&since=2026-11-20T12:00:00Z&cursor={}",
        delivery().id
    );
    let expected = DeliveryQuery {
        limit: 3,
        before: Some(4),
        state: Some(DeliveryState::Failed),
        kind: Some(WebhookKind::Click),
        event: Some(7),
        since: UnixMillis::from_rfc3339("2026-11-20T12:00:00Z"),
    };
    assert_eq!(DeliveryQuery::read(Some(&query)), Ok(expected));
    let query = format!("after={MAX_NUMBER}&limit=100&type=page_view&page_id={PAGE}&wait=25");
    let expected = EventQuery {
        after: MAX_NUMBER,
        limit: 100,
        kind: Some(WebhookKind::PageView),
        page: Some(PAGE),
        wait: 25,
    };
    assert_eq!(EventQuery::read(Some(&query)), Ok(expected));
    let replay = |body: &str| Replay::read(body.as_bytes(), NOW).map(|replay| replay.only_failed);
    assert_eq!((replay(r#"{"status":"all"}"#), replay(r#"{"status":"failed"}"#)), (Ok(false), Ok(true)));
    assert_eq!(replay(r#"{"status":"sent"}"#).unwrap_err().status(), 422);
}

#[test]
fn attempt_is_signed_afresh_and_numbered() {
    let secrets = [WebhookSecret::generate([1; 24]), WebhookSecret::generate([2; 24])];
    let delivery = Delivery { tries: 2, ..delivery() };
    let added = BTreeMap::from([("x-own".to_owned(), "1".to_owned())]);
    let headers: BTreeMap<_, _> =
        request_headers(added, &delivery, b"{}", &secrets, NOW).into_iter().collect();
    assert_eq!((&*headers["x-own"], &*headers[HEADER_ATTEMPT]), ("1", "3"));
    assert_eq!(headers[HEADER_SIGNATURE], sign(&delivery.message, NOW.seconds(), b"{}", &secrets));
}

#[test]
fn repeated_rows_and_publications_bring_nothing_new() {
    let rows = |numbers: &[u64]| -> Vec<OutboxRow> {
        numbers.iter().map(|number| OutboxRow { number: *number, events: String::new() }).collect()
    };
    let mut progress = PageProgress::default();
    let mut take = |numbers: &[u64]| {
        let rows = rows(numbers);
        let has_new = progress.has_new(&rows);
        let taken: Vec<u64> = progress.take_new(&rows).iter().map(|row| row.number).collect();
        assert_eq!(has_new, !taken.is_empty());
        taken
    };
    assert_eq!(take(&[1, 2]), [1, 2]);
    assert_eq!(take(&[2, 3, 4]), [3, 4], "a row that comes again is known");
    assert_eq!(take(&[1, 4]), Vec::<u64>::new());
    assert!(progress.publish(1) && progress.publish(2) && !progress.publish(1));
    assert!((3..=51).all(|version| progress.publish(version)));
    assert!(progress.publish(1) && !progress.publish(51), "fifty are remembered");
}

#[test]
fn unknown_delivery_and_event_are_named() {
    let (delivery, event) = (delivery().id, EventId::numbered(7, [3; 8]));
    let (no_delivery, no_event) = (delivery_unknown(&delivery), event_unknown(&event));
    assert!(no_delivery.detail().contains(&delivery.to_string()) && no_delivery.status() == 404);
    assert!(no_event.detail().contains(&event.to_string()) && no_event.status() == 404);
    assert_eq!(webhooks_unavailable().status(), 503);
}

/// The meter writes its message without this crate.
#[test]
fn alerts_of_a_key_are_a_message_to_the_webhooks() {
    let alert = Alert { at: NOW, cause: AlertCause::KeyExpiring { secret: None, expires_at: NOW, days: 7 } };
    let alerts = KeyAlerts { key: KeyId::new([1; 12]), alerts: vec![alert] };
    let message: WebhooksMessage = serde_json::from_str(&alerts.to_message().unwrap()).unwrap();
    assert_eq!(message, WebhooksMessage::Alert(alerts));
}
