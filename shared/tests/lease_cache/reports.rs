//! What a cache reports to the meter.

use shared::{lease_cache::LeaseCache, tier::Tier, tool::Tool};

use crate::{NOON, Pair, allowed, charge};

#[test]
fn debts_are_sent_until_acknowledged_and_counted_once() {
    let mut pair = Pair::new(Tier::Pro);
    let request = pair.expect_request(0);
    pair.cache.handle_failure(&request, NOON.plus(300));
    pair.expect_decision(400);
    let lost = pair.expect_request(1_300);
    assert_eq!(lost.batch.as_ref().map(|batch| batch.debts), Some(2));
    pair.meter(&lost, 1_310);
    pair.cache.handle_failure(&lost, NOON.plus(1_600));
    let again = pair.expect_request(3_600);
    assert_eq!(again.batch, lost.batch);
    pair.exchange(&again, 3_600);
    // Two debts, and the two calls that came with the batch.
    assert_eq!(pair.snapshot(3_700).minute_used, 4);
    let next = pair.cache.read(&pair.key, NOON.plus(3_800));
    assert_eq!(next.batch.map(|batch| batch.debts), Some(1), "what passed since, on the budget");
}

#[test]
fn call_with_503_is_refunded_to_the_day_it_was_counted_on() {
    let midnight = NOON.day().end().since(NOON);
    let mut pair = Pair::new(Tier::Free);
    let before = pair.admit(midnight - 1_000);
    // It ends on the next day, by the isolate's clock and by the meter's.
    pair.admit(midnight + 1_000);
    pair.cache.record_outcome(Tool::Qr, 503, true, charge(&before));
    let request = pair.flush(false, midnight + 2_000).unwrap();
    pair.exchange(&request, midnight + 2_000);
    let snapshot = pair.snapshot(midnight + 2_100);
    assert_eq!(snapshot.day_used, 1, "today's call stays counted");

    let today = pair.admit(midnight + 3_000);
    pair.cache.record_outcome(Tool::Qr, 503, true, charge(&today));
    let request = pair.flush(false, midnight + 4_000).unwrap();
    pair.exchange(&request, midnight + 4_000);
    let snapshot = pair.snapshot(midnight + 4_100);
    assert_eq!((snapshot.minute_used, snapshot.day_used), (3, 1));
    assert_eq!(snapshot.tally.by_status.get(&503), Some(&2));
}

#[test]
fn call_with_503_on_the_local_budget_is_no_debt() {
    let mut pair = Pair::new(Tier::Pro);
    let request = pair.expect_request(0);
    let admission = pair.cache.handle_failure(&request, NOON.plus(300)).unwrap();
    pair.cache.record_outcome(Tool::Qr, 503, true, charge(&admission));
    let batch = pair.expect_request(1_300).batch.unwrap();
    assert_eq!((batch.debts, batch.refunds), (0, 0));
}

#[test]
fn outcomes_are_reported_at_the_end_of_a_lease() {
    let mut pair = Pair::new(Tier::Pro);
    let admission = pair.admit(0);
    pair.cache.record_outcome(Tool::Pdf, 200, false, charge(&admission));
    assert_eq!(pair.flush(false, 500), None, "the lease's end will carry it");
    let request = pair.flush(false, 9_500).unwrap();
    assert_eq!(request.batch.unwrap().ended, [(Tool::Pdf, 200, 1)]);
}

#[test]
fn young_paid_key_without_a_stored_record_spends_its_lease() {
    let mut pair = Pair::new(Tier::Pro);
    pair.cache = LeaseCache::new(1);
    pair.admit(0);
    assert!(allowed(&pair.expect_decision(100)));
}
