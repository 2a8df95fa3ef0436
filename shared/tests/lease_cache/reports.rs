//! What a cache reports to the meter.

use shared::lease_cache::LeaseCache;
use shared::meter::{CallFilter, LoggedCall, MeterResponse};
use shared::problem::{Code, codes};
use shared::request_id::RequestId;
use shared::tier::Tier;
use shared::tool::Tool;

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
    // Two debts, and the call of the last request. That of the lost one is a debt, and is withdrawn.
    assert_eq!(pair.snapshot(3_700).minute_used, 3);
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
    pair.cache.record_outcome(Tool::Qr, 503, true, charge(&before), NOON.plus(midnight + 1_000));
    let request = pair.flush(false, midnight + 6_100).unwrap();
    pair.exchange(&request, midnight + 6_100);
    let snapshot = pair.snapshot(midnight + 6_200);
    assert_eq!(snapshot.day_used, 1, "today's call stays counted");

    let today = pair.admit(midnight + 7_000);
    pair.cache.record_outcome(Tool::Qr, 503, true, charge(&today), NOON.plus(midnight + 7_000));
    let request = pair.flush(false, midnight + 12_100).unwrap();
    pair.exchange(&request, midnight + 12_100);
    let snapshot = pair.snapshot(midnight + 12_200);
    assert_eq!((snapshot.minute_used, snapshot.day_used), (3, 1));
    assert_eq!(snapshot.tally.by_status.get(&503), Some(&1), "the other one is of yesterday");
}

#[test]
fn call_with_503_on_the_local_budget_is_no_debt() {
    let mut pair = Pair::new(Tier::Pro);
    let request = pair.expect_request(0);
    let admission = pair.cache.handle_failure(&request, NOON.plus(300)).unwrap();
    pair.cache.record_outcome(Tool::Qr, 503, true, charge(&admission), NOON.plus(400));
    let batch = pair.expect_request(1_300).batch.unwrap();
    assert_eq!((batch.debts, batch.refunds), (0, 0));
}

#[test]
fn aborted_response_is_refunded_and_tallied_as_failed() {
    let mut pair = Pair::new(Tier::Free);
    let [streamed, created] = [0, 50].map(|at| charge(&pair.admit(at)));
    pair.cache.record_outcome(Tool::Qr, 200, false, streamed, NOON.plus(100));
    pair.cache.record_outcome(Tool::Qr, 201, false, created, NOON.plus(100));
    pair.cache.record_aborted(Tool::Qr, 200, streamed, NOON.plus(20_000));
    pair.cache.record_aborted(Tool::Qr, 201, created, NOON.plus(20_000));
    let request = pair.flush(false, 25_100).unwrap();
    pair.exchange(&request, 25_100);
    let snapshot = pair.snapshot(25_200);
    assert_eq!((snapshot.minute_used, snapshot.day_used), (2, 0));
    assert_eq!(snapshot.tally.by_status, [(201, 1), (503, 1)].into(), "no call is tallied twice");
}

#[test]
fn aborted_response_of_an_uncharged_call_is_refunded_once() {
    let mut pair = Pair::new(Tier::Free);
    let [aborted, other] = [0, 50].map(|at| charge(&pair.admit(at)));
    pair.cache.record_outcome(Tool::Qr, 503, true, aborted, NOON.plus(100));
    pair.cache.record_outcome(Tool::Qr, 200, false, other, NOON.plus(100));
    pair.cache.record_aborted(Tool::Qr, 503, aborted, NOON.plus(200));
    let request = pair.flush(false, 25_100).unwrap();
    pair.exchange(&request, 25_100);
    assert_eq!(pair.snapshot(25_200).day_used, 1);
}

#[test]
fn aborted_response_on_the_local_budget_is_no_debt() {
    let mut pair = Pair::new(Tier::Pro);
    let request = pair.expect_request(0);
    let admission = pair.cache.handle_failure(&request, NOON.plus(300)).unwrap();
    pair.cache.record_outcome(Tool::Qr, 200, false, charge(&admission), NOON.plus(350));
    pair.cache.record_aborted(Tool::Qr, 200, charge(&admission), NOON.plus(400));
    let batch = pair.expect_request(1_300).batch.unwrap();
    assert_eq!((batch.debts, batch.ended), (0, vec![(Tool::Qr.label(), 503, 1)]));
}

#[test]
fn outcomes_are_reported_at_the_end_of_a_lease() {
    let mut pair = Pair::new(Tier::Pro);
    let asked = pair.admit(0);
    let [lent, other] = [50, 60].map(|at| pair.expect_decision(at));
    pair.cache.record_outcome(Tool::Qr, 200, false, charge(&lent), NOON.plus(100));
    for admission in [asked, other] {
        pair.cache.record_outcome(Tool::Qr, 500, false, charge(&admission), NOON.plus(200));
    }
    assert_eq!(pair.flush(false, 500), None, "the lease's end will carry it");
    let request = pair.flush(false, 9_500).unwrap();
    assert_eq!(request.batch.as_ref().unwrap().ended.iter().map(|(.., calls)| calls).sum::<u32>(), 2);
    pair.exchange(&request, 9_500);
    let tally = pair.snapshot(9_600).tally;
    assert_eq!(tally.by_tool, [(Tool::Qr.label(), 3)].into());
    assert_eq!(tally.by_status, [(200, 1), (500, 2)].into());
    assert_eq!(pair.cache.flush_at(), None);
}

#[test]
fn sparse_call_that_succeeds_is_one_message() {
    for tier in Tier::ALL {
        let mut pair = Pair::new(tier);
        for call in 1..6 {
            let at = call * 12_000;
            let request = pair.expect_request(at);
            assert_eq!((request.rate, &request.batch), (0, &None));
            let admission = pair.exchange(&request, at).unwrap();
            pair.cache.record_outcome(Tool::Qr, 200, false, charge(&admission), NOON.plus(at + 50));
            assert_eq!(pair.cache.flush_at(), None);
        }
        assert_eq!(pair.snapshot(60_100).tally.by_status, [(200, 5)].into());
    }
}

#[test]
fn other_outcomes_are_reported_late_and_together() {
    let mut pair = Pair::new(Tier::Free);
    let ended = [0, 50, 100].map(|at| charge(&pair.admit(at)));
    for (charge, at) in ended.into_iter().zip([1_000, 2_000, 3_000]) {
        pair.cache.record_outcome(Tool::Qr, 404, false, charge, NOON.plus(at));
    }
    assert_eq!(pair.cache.flush_at(), Some(NOON.plus(26_000)));
    assert_eq!(pair.flush(false, 25_999), None);
    let request = pair.flush(false, 26_000).unwrap();
    pair.exchange(&request, 26_000);
    assert_eq!(pair.cache.flush_at(), None);
    assert_eq!(pair.snapshot(26_100).tally.by_status, [(404, 3)].into());
}

#[test]
fn refund_is_reported_within_seconds_or_with_the_next_call() {
    let mut pair = Pair::new(Tier::Free);
    let first = pair.admit(0);
    pair.cache.record_outcome(Tool::Qr, 503, true, charge(&first), NOON.plus(100));
    assert_eq!(pair.cache.flush_at(), Some(NOON.plus(5_100)));
    pair.admit(200);
    assert_eq!(pair.cache.flush_at(), None, "the call has carried it");
    let snapshot = pair.snapshot(300);
    assert_eq!((snapshot.day_used, snapshot.tally.by_status), (1, [(200, 1), (503, 1)].into()));
}

#[test]
fn batch_without_acknowledgment_is_due_again() {
    let mut pair = Pair::new(Tier::Free);
    let first = pair.admit(0);
    pair.cache.record_outcome(Tool::Qr, 503, true, charge(&first), NOON.plus(100));
    let lost = pair.flush(false, 5_100).unwrap();
    pair.cache.handle_failure(&lost, NOON.plus(5_400));
    assert_eq!(pair.cache.flush_at(), Some(NOON.plus(10_100)));
    assert_eq!(pair.flush(false, 10_100).unwrap().batch, lost.batch);
}

#[test]
fn response_of_an_older_meter_leaves_the_tally_to_the_cache() {
    let mut pair = Pair::new(Tier::Free);
    let request = pair.expect_request(0);
    let response = MeterResponse { tallied: false, ..pair.meter(&request, 10) };
    pair.cache.handle_response(&request, NOON, &response, NOON.plus(20));
    let batch = pair.cache.read(&pair.key, NOON.plus(30)).batch.unwrap();
    assert_eq!((batch.ended, batch.refunds), (vec![(Tool::Qr.label(), 200, 1)], 0));
}

#[test]
fn young_paid_key_without_a_stored_record_spends_its_lease() {
    let mut pair = Pair::new(Tier::Pro);
    pair.cache = LeaseCache::new(1);
    let request = pair.expect_request(0);
    assert_eq!(pair.exchange(&request, 0), None, "the meter does not know the key");
    let (request, _) = pair.cache.ask_again(&request, Tool::Qr, NOON.plus(20));
    assert!(allowed(&pair.exchange(&request, 20).unwrap()));
    pair.admit(50);
    assert!(allowed(&pair.expect_decision(100)));
}

fn refuse(cache: &mut LeaseCache, id: u8, code: Code) {
    let call = LoggedCall::new(RequestId([id; 16]), NOON, code.status());
    let call = LoggedCall { code: Some(code.as_str().to_owned()), ..call };
    cache.log_call(call.request_id, call.status, NOON, |_| call);
}

fn succeed(cache: &mut LeaseCache, id: u8) {
    let call = LoggedCall::new(RequestId([id; 16]), NOON, 200);
    cache.log_call(call.request_id, call.status, NOON, |_| call);
}

impl Pair {
    /// Returns the requests of the log with their statuses, the latest first.
    fn logged(&mut self, at: u64) -> Vec<(u8, u16)> {
        let filter = CallFilter { limit: 9, ..CallFilter::default() };
        let page = filter.page(self.meter.calls().unstored(), NOON.plus(at));
        page.calls.iter().map(|call| (call.request_id.0[0], call.status)).collect()
    }
}

/// The next call carries it.
#[test]
fn logged_success_causes_no_message() {
    let mut pair = Pair::new(Tier::Free);
    pair.admit(0);
    succeed(&mut pair.cache, 1);
    assert_eq!((pair.cache.flush_at(), pair.logged(100)), (None, vec![]));
    pair.admit(200);
    assert_eq!((pair.cache.flush_at(), pair.logged(300)), (None, vec![(1, 200)]));
}

#[test]
fn cache_is_idle_without_leases_reports_and_withdrawals() {
    let mut pair = Pair::new(Tier::Free);
    assert!(pair.cache.is_idle());
    refuse(&mut pair.cache, 1, codes::KEY_REVOKED);
    assert!(pair.cache.is_idle(), "who cannot read the log has none");
    succeed(&mut pair.cache, 2);
    assert!(pair.cache.is_idle(), "a success of the log is no reason to keep it");
    refuse(&mut pair.cache, 3, codes::BODY_TOO_LARGE);
    assert!(!pair.cache.is_idle());
    let report = pair.cache.read(&pair.key, NOON.plus(100));
    pair.exchange(&report, 100);
    assert_eq!(pair.logged(200), [(3, 413), (2, 200)]);
    assert!(pair.cache.is_idle());

    let lost = pair.expect_request(200);
    pair.cache.handle_failure(&lost, NOON.plus(500));
    assert!(!pair.cache.is_idle(), "the call is withdrawn");
    let read = pair.cache.read(&pair.key, NOON.plus(3_000));
    pair.exchange(&read, 3_000);
    assert!(pair.cache.is_idle());

    let mut busy = Pair::new(Tier::Pro);
    let request = busy.expect_request_of_lease(0);
    busy.exchange(&request, 0);
    assert!(!busy.cache.is_idle(), "there is a lease");
    assert_eq!(busy.cache.read(&busy.key, NOON.plus(100)).record, None, "the meter has it");
}

#[test]
fn record_of_the_same_version_is_not_taken_over() {
    let pair = Pair::new(Tier::Free);
    let own = pair.cache.record().unwrap().clone();
    let (mut cache, mut same) = (pair.cache, own.clone());
    same.tier = Tier::Pro;
    cache.learn(same.clone());
    assert_eq!(cache.record(), Some(&own));
    same.version += 1;
    cache.learn(same.clone());
    assert_eq!(cache.record(), Some(&same));
}
