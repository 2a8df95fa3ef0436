//! Reports of refunds and debts.

use std::collections::BTreeMap;

use shared::key::KeyRecord;
use shared::lease_cache::{Admission, LeaseCache, Step};
use shared::meter::{Batch, CallFilter, LoggedCall, Message, Meter, MeterRequest};
use shared::policy::LimitOverrides;
use shared::request_id::RequestId;
use shared::tier::Tier;
use shared::tool::Tool;

use crate::{MIDNIGHT, NOON, batch, key, key_with, record, request, restarted, send, snapshot};

#[test]
fn batch_is_taken_once_and_acknowledged_every_time() {
    let mut meter = Meter::default();
    for seq in 0..8 {
        send(
            &mut meter,
            &MeterRequest { record: Some(record(Tier::Free, 1)), ..request(Tier::Free, 1, seq) },
            NOON,
        );
    }
    for seq in 10..13 {
        let next = MeterRequest { want: false, batch: Some(batch(1, 3)), ..request(Tier::Free, 1, seq) };
        assert_eq!(send(&mut meter, &next, NOON).batch, 1);
    }
    let snapshot = snapshot(&meter, Tier::Free, NOON);
    assert_eq!((snapshot.minute_used, snapshot.day_used), (8, 5));
    assert_eq!(snapshot.tally.by_status.get(&503), Some(&3));
}

/// Returns the batch of this number, with as many failed calls.
fn batch_of_calls(number: u32, calls: u8) -> Batch {
    let mut batch = batch(number, 0);
    for id in 0..calls {
        batch.calls.add(LoggedCall::new(RequestId([id; 16]), NOON.plus(9_000), 503));
    }
    batch
}

#[test]
fn calls_of_a_batch_are_logged_once_and_survive_a_restart() {
    let mut meter = Meter::default();
    for seq in 1..=3 {
        let batch = Some(batch_of_calls(1, 2));
        send(&mut meter, &MeterRequest { batch, ..request(Tier::Free, 1, seq) }, NOON);
    }
    let filter = CallFilter { limit: 9, ..CallFilter::default() };
    for meter in [meter.clone(), restarted(&meter)] {
        let page = filter.page(meter.calls().unstored(), NOON);
        let moments: Vec<_> = page.calls.iter().map(|call| call.at).collect();
        assert_eq!(moments, [NOON, NOON], "no call is from the future");
    }
    assert_eq!(meter.take_full_rows(), []);
}

/// Whatever the shell does with them: the state has no more than what is not full.
#[test]
fn full_row_of_calls_leaves_the_state() {
    let mut meter = Meter::default();
    for number in 1..=2 {
        let batch = Some(batch_of_calls(number, 32));
        send(&mut meter, &MeterRequest { batch, ..request(Tier::Free, 1, number) }, NOON);
    }
    let rows = meter.take_full_rows();
    assert_eq!((rows.len(), meter.take_full_rows().len()), (1, 0));
    let filter = CallFilter { limit: 99, ..CallFilter::default() };
    assert_eq!(filter.page(meter.calls().unstored(), NOON).calls, []);
    // Both batches name the same requests.
    assert_eq!(filter.page(rows, NOON).calls.len(), 32);
}

#[test]
fn last_use_is_the_last_report_of_ended_calls() {
    let mut meter = Meter::default();
    for (number, ended, at) in [(1, vec![(Tool::Qr.label(), 200, 1)], NOON), (2, vec![], NOON.plus(9_000))] {
        let report = Some(Batch { ended, ..batch(number, 0) });
        let request = MeterRequest { want: false, batch: report, ..request(Tier::Free, 1, number) };
        send(&mut meter, &request, at);
    }
    assert_eq!(snapshot(&meter, Tier::Free, NOON.plus(9_000)).last_used, Some(NOON));
}

/// Of a key that neither the cache nor the meter knows, the meter can only say that it is invalid.
#[test]
fn unknown_key_is_refused_as_invalid_and_a_known_one_is_not() {
    let stored = record(Tier::Free, 2);
    let mut meter = Meter::default();
    send(&mut meter, &MeterRequest { record: Some(stored.clone()), ..request(Tier::Free, 1, 1) }, NOON);
    assert_eq!(meter.record(), Some(&stored));
    let known = meter.handle(Message::Ask(request(Tier::Free, 1, 2)), NOON);
    let other = MeterRequest { key: key_with(Tier::Free, NOON, 9), ..request(Tier::Free, 1, 3) };
    let refused = meter.handle(Message::Ask(other), NOON);
    assert_eq!((known.refuses_as_invalid(), refused.refuses_as_invalid()), (false, true));
}

#[test]
fn call_without_a_tool_is_not_tallied() {
    for tool in [None, Some(Tool::Qr.label())] {
        let mut meter = Meter::default();
        let mut send = |seq| send(&mut meter, &MeterRequest { tool, ..request(Tier::Free, 1, seq) }, NOON);
        let responses: Vec<_> = (1..=11).map(&mut send).collect();
        let tallied = responses.iter().filter(|response| response.tallied).count();
        assert_eq!(tallied, if tool.is_some() { 10 } else { 0 }, "the eleventh is denied");
    }
}

/// Returns a key's meter with high limits.
fn wide_meter() -> Meter {
    let limits = LimitOverrides {
        minute: 100_000.try_into().ok(),
        day: 100_000.try_into().ok(),
        ..LimitOverrides::NONE
    };
    let stored = KeyRecord { limits, ..record(Tier::Pro, 1) };
    let mut meter = Meter::default();
    send(&mut meter, &MeterRequest { want: false, record: Some(stored), ..request(Tier::Pro, 0, 1) }, NOON);
    meter
}

/// Makes one call on each isolate, `gap_ms` apart, that ends in a 503. Its refund arrives 5 seconds
/// later, and again up to `late_ms` after that, when it must change nothing. Returns the calls that
/// stay counted.
fn used_after_refunds(isolates: u64, gap_ms: u64, late_ms: u64) -> u32 {
    let mut meter = wide_meter();
    let mut events: BTreeMap<(u64, u64), MeterRequest> = BTreeMap::new();
    let key = key(Tier::Pro);
    for isolate in 1..=isolates {
        let at = isolate * gap_ms;
        let due: Vec<_> = events.extract_if(..=(at, 0), |_, _| true).collect();
        for ((then, _), refund) in due {
            send(&mut meter, &refund, NOON.plus(then));
        }
        let (mut cache, now) = (LeaseCache::new(isolate), NOON.plus(at));
        let Step::Ask(request, _) = cache.call(&key, Tool::Qr, now) else {
            panic!("decided without the meter")
        };
        let response = send(&mut meter, &request, now);
        let Some(Admission::Allow { charge, .. }) = cache.handle_response(&request, now, &response, now)
        else {
            panic!("{response:?}")
        };
        cache.record_outcome(Tool::Qr, 503, true, charge, now.plus(50));
        let refund = cache.flush(&key, false, now.plus(5_050)).unwrap();
        events.insert((at + 5_050, isolate), refund.clone());
        events.insert((at + 5_060 + isolate * 7_919 % late_ms, isolate), refund);
    }
    for (number, ((then, _), refund)) in events.into_iter().enumerate() {
        send(&mut meter, &refund, NOON.plus(then));
        // A restart for each would take half a minute.
        if number.is_multiple_of(10) {
            meter = restarted(&meter);
        }
    }
    let snapshot = snapshot(&meter, Tier::Pro, NOON.plus(isolates * gap_ms + 10_000));
    assert_eq!(snapshot.tally.by_status.values().sum::<u32>(), u32::try_from(isolates).unwrap());
    let size = serde_json::to_string(&meter).unwrap().len();
    assert!(size < 64_000, "{size} bytes");
    snapshot.day_used
}

#[test]
fn refunds_of_any_number_of_isolates_are_taken_once() {
    for (isolates, gap_ms) in [(300, 1_000), (300, 10), (3_000, 1_000), (3_000, 20)] {
        assert_eq!(used_after_refunds(isolates, gap_ms, 60_000), 0, "{isolates} isolates, {gap_ms} ms apart");
    }
}

/// More isolates than are tracked report within a few seconds, and repeat it much later: then
/// refunds are lost, and none is taken twice.
#[test]
fn refunds_of_too_many_isolates_at_once_are_never_taken_twice() {
    let used = used_after_refunds(3_000, 1, 3_600_000);
    assert!((1..3_000).contains(&used), "{used}");
}

#[test]
fn batch_of_a_forgotten_holder_counts_debts_and_no_refunds() {
    let mut meter = wide_meter();
    for seq in 2..10 {
        send(&mut meter, &request(Tier::Pro, 1, seq), NOON);
    }
    let repeated = Batch { debts: 1, ..batch(1, 2) };
    let first = MeterRequest { want: false, batch: Some(repeated), ..request(Tier::Pro, 500, 1) };
    send(&mut meter, &first, NOON.plus(10));
    assert_eq!(snapshot(&meter, Tier::Pro, NOON).day_used, 7);
    for holder in 1_000..3_000 {
        let other = Batch { since: NOON, ..batch(1, 0) };
        let next = MeterRequest { want: false, batch: Some(other), ..request(Tier::Pro, holder, 1) };
        send(&mut meter, &next, NOON.plus(20));
    }
    assert_eq!(send(&mut meter, &MeterRequest { seq: 2, ..first }, NOON.plus(30)).batch, 1);
    assert_eq!(snapshot(&meter, Tier::Pro, NOON).day_used, 8);
}

#[test]
fn refund_of_yesterday_changes_nothing_today() {
    let mut meter = Meter::default();
    let today = MIDNIGHT.plus(1_000);
    for seq in 0..5 {
        send(
            &mut meter,
            &MeterRequest { record: Some(record(Tier::Free, 1)), ..request(Tier::Free, 1, seq) },
            today,
        );
    }
    let next = MeterRequest { want: false, batch: Some(batch(1, 3)), ..request(Tier::Free, 1, 9) };
    send(&mut meter, &next, today);
    assert_eq!(snapshot(&meter, Tier::Free, today).day_used, 5);
}
