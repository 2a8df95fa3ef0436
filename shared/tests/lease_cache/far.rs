//! A meter that is far away, or slow: second copies, late responses and withdrawals.

use shared::key::KeyError;
use shared::lease_cache::{Admission, LeaseCache, Step, Timeouts};
use shared::meter::{MeterRequest, MeterResponse, Verdict};
use shared::tier::Tier;
use shared::tool::Tool;

use crate::{NOON, Pair, allowed};

impl Pair {
    fn expect_asked(&mut self, at: u64) -> (MeterRequest, Timeouts) {
        match self.call(at) {
            Step::Ask(request, timeouts) => (request, timeouts),
            Step::Decided(admission, _) => panic!("decided without the meter: {admission:?}"),
        }
    }

    fn handle(
        &mut self,
        request: &MeterRequest,
        sent: u64,
        response: &MeterResponse,
        at: u64,
    ) -> Option<Admission> {
        self.cache.handle_response(request, NOON.plus(sent), response, NOON.plus(at))
    }

    fn fail(&mut self, request: &MeterRequest, at: u64) -> Admission {
        self.cache.handle_failure(request, NOON.plus(at)).unwrap()
    }

    /// Returns the calls counted in the minute and on the day.
    fn used(&self, at: u64) -> (u32, u32) {
        let snapshot = self.snapshot(at);
        (snapshot.minute_used, snapshot.day_used)
    }

    /// Makes calls with this round trip until its cache knows it.
    fn learn_distance(&mut self, round_trip_ms: u64) {
        for at in (0..4).map(|n| n * 10_000) {
            let (request, _) = self.expect_asked(at);
            let response = self.meter(&request, at + round_trip_ms / 2);
            assert!(self.handle(&request, at, &response, at + round_trip_ms).is_some());
        }
    }
}

#[test]
fn free_call_waits_three_seconds_and_is_sent_again() {
    let mut pair = Pair::new(Tier::Free);
    let (request, timeouts) = pair.expect_asked(0);
    assert_eq!(timeouts, Timeouts { hedge_ms: 1_000, total_ms: 3_000 });
    let response = pair.meter(&request, 700);
    assert!(allowed(&pair.handle(&request, 0, &response, 990).unwrap()));

    let mut pair = Pair::new(Tier::Free);
    pair.learn_distance(400);
    let (request, timeouts) = pair.expect_asked(50_000);
    assert!((500..1_000).contains(&timeouts.hedge_ms), "{timeouts:?}");
    assert_eq!((request.admit_within_ms, timeouts.total_ms), (timeouts.hedge_ms, 3_000));
}

#[test]
fn paid_call_waits_for_a_far_meter_once_its_distance_is_known() {
    let mut pair = Pair::new(Tier::Pro);
    let (request, timeouts) = pair.expect_asked(0);
    assert_eq!((request.admit_within_ms, timeouts.total_ms), (3_000, 3_000), "as long as a Free key");
    assert!(matches!(pair.fail(&request, 300), Admission::Allow { degraded: true, .. }));
    let response = pair.meter(&request, 200);
    assert_eq!(pair.handle(&request, 0, &response, 400), None, "it was decided");
    assert!(allowed(&pair.expect_decision(500)), "the late lease is spent");
    let (_, timeouts) = pair.expect_asked(20_000);
    assert!(timeouts.total_ms > 1_000, "{timeouts:?}");
}

/// The first response says that the call may be let through until the second copy is sent. Only the
/// response to that one knows of the longer time.
#[test]
fn late_response_to_the_first_copy_admits_no_free_call() {
    let mut pair = Pair::new(Tier::Free);
    pair.learn_distance(400);
    let (request, timeouts) = pair.expect_asked(50_000);
    let first = pair.meter(&request, 50_900);
    let again = pair.cache.retry(&request, timeouts.total_ms);
    assert_eq!((again.seq, again.retry, again.admit_within_ms), (request.seq, true, 3_000));
    let second = pair.meter(&again, 51_500);
    assert_eq!(pair.handle(&request, 50_000, &first, 51_800), None);
    assert!(allowed(&pair.handle(&again, 50_000, &second, 52_000).unwrap()));
    assert_eq!(pair.used(52_100), (5, 5), "both copies are one call");
}

#[test]
fn response_after_the_admission_time_admits_nothing() {
    let mut pair = Pair::new(Tier::Free);
    let ask = |pair: &mut Pair, now| MeterRequest { admit_within_ms: 300, ..pair.expect_asked(now).0 };
    let request = ask(&mut pair, 0);
    let response = pair.meter(&request, 10);
    assert_eq!(pair.handle(&request, 0, &response, 301), None);
    let request = ask(&mut pair, 1_000);
    let response = pair.meter(&request, 1_010);
    assert!(pair.handle(&request, 1_000, &response, 1_300).is_some());
}

#[test]
fn call_is_counted_until_a_minute_after_it_may_be_let_through() {
    let mut pair = Pair::new(Tier::Free);
    pair.learn_distance(200);
    let (request, timeouts) = pair.expect_asked(100_000);
    pair.meter(&request, 100_000);
    let again = pair.cache.retry(&request, timeouts.total_ms);
    pair.meter(&again, 100_400);
    assert_eq!(pair.used(162_990).0, 1, "it may be let through at 103,000");
    assert_eq!(pair.used(163_251).0, 0);
}

#[test]
fn call_of_a_503_is_not_charged() {
    let mut pair = Pair::new(Tier::Free);
    let (request, _) = pair.expect_asked(0);
    let late = pair.meter(&request, 2_000);
    assert!(matches!(pair.fail(&request, 3_000), Admission::Unavailable { .. }));
    assert_eq!(pair.used(3_000), (1, 1));
    assert_eq!(pair.handle(&request, 0, &late, 4_000), None);
    let report = pair.flush(false, 4_000).unwrap();
    assert_eq!(report.withdrawn, [request.seq]);
    for at in [4_100, 4_200] {
        pair.exchange(&report, at);
        assert_eq!(pair.used(at + 10), (0, 0), "it is taken back once");
    }
    assert!(pair.cache.is_idle());
}

/// A call whose response was late passes on a lease, and takes room as two calls until its withdrawal.
#[test]
fn withdrawal_does_not_wait_for_the_end_of_a_lease() {
    let mut pair = Pair::new(Tier::Pro);
    let (request, _) = pair.expect_asked(0);
    let late = pair.meter(&request, 10);
    let (other, _) = pair.expect_asked(100);
    assert!(allowed(&pair.exchange(&other, 100).unwrap()));
    assert!(allowed(&pair.handle(&request, 0, &late, 3_500).unwrap()), "on the lease");
    assert_eq!(pair.flush(false, 4_400), None, "another request may carry it");
    let report = pair.flush(false, 4_500).expect("the withdrawal is due after a second");
    assert_eq!(report.withdrawn, [request.seq]);
    pair.exchange(&report, 4_500);
    assert_eq!(pair.used(4_600), (2, 2), "two calls passed");
}

#[test]
fn withdrawn_call_is_not_counted_when_its_request_arrives() {
    let mut pair = Pair::new(Tier::Free);
    let (request, timeouts) = pair.expect_asked(0);
    let again = pair.cache.retry(&request, timeouts.total_ms);
    pair.fail(&request, 3_000);
    // The next call carries the withdrawal, and overtakes both copies.
    let (next, _) = pair.expect_asked(4_100);
    assert!(allowed(&pair.exchange(&next, 4_100).unwrap()));
    for copy in [request, again] {
        let response = pair.meter(&copy, 4_500);
        assert_eq!(response.verdict, Verdict::Noted);
        assert_eq!(pair.handle(&copy, 0, &response, 4_600), None);
    }
    assert_eq!(pair.used(4_700), (1, 1));
}

#[test]
fn call_on_the_local_budget_is_charged_once() {
    let mut pair = Pair::new(Tier::Pro);
    let (request, _) = pair.expect_asked(0);
    let late = pair.meter(&request, 250);
    assert!(matches!(pair.fail(&request, 300), Admission::Allow { degraded: true, .. }));
    assert_eq!(pair.handle(&request, 0, &late, 500), None);
    let report = pair.flush(false, 20_000).unwrap();
    assert_eq!((report.withdrawn.as_slice(), report.batch.as_ref().unwrap().debts), (&[request.seq][..], 1));
    pair.exchange(&report, 20_000);
    assert_eq!(pair.used(20_100), (1, 1));
}

#[test]
fn call_passes_on_the_lease_of_a_response_that_came_late() {
    let mut pair = Pair::new(Tier::Pro);
    pair.learn_distance(20);
    for at in [50_000, 50_010] {
        pair.call(at);
    }
    let (request, timeouts) = pair.expect_asked(50_020);
    let late = pair.meter(&request, 50_100);
    let again = pair.cache.retry(&request, timeouts.total_ms);
    assert!(allowed(&pair.handle(&request, 50_020, &late, 50_220).unwrap()), "on the lease");
    let response = pair.meter(&again, 50_220);
    assert_eq!(pair.handle(&again, 50_020, &response, 50_320), None, "it was decided");
    let lent = late.lease.unwrap().calls;
    // Before the last lent call, the meter is asked for more.
    for _ in 2..lent {
        assert!(allowed(&pair.expect_decision(50_400)));
    }
    pair.expect_asked(50_400);
}

#[test]
fn key_that_the_meter_does_not_know_is_asked_for_again_with_its_record() {
    let mut pair = Pair::new(Tier::Pro);
    let record = pair.cache.record().cloned().unwrap();
    pair.cache = LeaseCache::new(2);
    let (request, _) = pair.expect_asked(0);
    assert!(request.unread);
    let refused = pair.meter(&request, 100);
    assert_eq!(refused.verdict, Verdict::Refuse(KeyError::Invalid));
    assert_eq!(pair.handle(&request, 0, &refused, 200), None);
    pair.cache.learn(record.clone());
    let (again, timeouts) = pair.cache.ask_again(&request, Tool::Qr, NOON.plus(210));
    assert_eq!((again.unread, again.record.as_ref()), (false, Some(&record)));
    assert!(timeouts.total_ms > 300, "the distance is known");
    let response = pair.meter(&again, 310);
    assert!(allowed(&pair.handle(&again, 210, &response, 410).unwrap()));
    assert_eq!(pair.used(500), (1, 1));
}

#[test]
fn cancelled_call_is_withdrawn_a_minute_later() {
    let mut pair = Pair::new(Tier::Free);
    let (cancelled, _) = pair.expect_asked(0);
    pair.meter(&cancelled, 10);
    let (request, _) = pair.expect_asked(60_001);
    pair.exchange(&request, 60_001);
    let (next, _) = pair.expect_asked(60_100);
    assert_eq!(next.withdrawn, [cancelled.seq]);
}
