//! Leases that a cache spends, renews and returns.

use shared::lease_cache::Step;
use shared::tier::Tier;

use crate::{NOON, Pair, allowed};

#[test]
fn paid_key_spends_its_lease_and_free_key_always_asks() {
    let mut pro = Pair::new(Tier::Pro);
    assert!(allowed(&pro.admit(0)));
    assert!(allowed(&pro.expect_decision(100)));
    let mut free = Pair::new(Tier::Free);
    assert!(allowed(&free.admit(0)));
    free.expect_request(100);
}

#[test]
fn lease_is_spent_until_half_a_second_before_its_end() {
    let mut pair = Pair::new(Tier::Pro);
    pair.admit(0);
    assert!(allowed(&pair.expect_decision(9_499)));
    pair.expect_request(9_500);
}

#[test]
fn remaining_is_what_the_meter_said_and_then_what_is_lent_here() {
    let mut pair = Pair::new(Tier::Pro);
    let shown: Vec<u32> = (0..6).map(|n| pair.admit(n * 100).quota().unwrap().minute.remaining).collect();
    // Whatever else is left may be lent to others before the next call.
    assert_eq!(shown, [99, 6, 5, 4, 3, 2]);
}

#[test]
fn lease_that_ends_soon_is_renewed_in_the_background() {
    let mut pair = Pair::new(Tier::Pro);
    pair.admit_from_afar(0);
    assert!(matches!(pair.call(3_000), Step::Decided(_, None)), "there is time");
    assert!(matches!(pair.call(7_500), Step::Decided(_, None)), "two seconds are enough");
    let Step::Decided(admission, Some(renewal)) = pair.call(8_000) else { panic!("not renewed") };
    assert!(allowed(&admission) && !renewal.want);
    assert!(matches!(pair.call(8_100), Step::Decided(_, None)), "one renewal is on its way");
    let response = pair.meter(&renewal, 8_110);
    assert_eq!(pair.cache.handle_response(&renewal, NOON.plus(8_000), &response, NOON.plus(8_120)), None);
    assert!(allowed(&pair.expect_decision(9_600)));
}

#[test]
fn unspent_calls_are_returned_at_the_end_of_a_lease() {
    let mut pair = Pair::new(Tier::Pro);
    pair.admit(0);
    pair.expect_decision(100);
    assert!(pair.snapshot(200).reserved > 0);
    let due = pair.cache.flush_at().unwrap();
    let at = due.since(NOON);
    assert_eq!(pair.flush(false, at - 1), None);
    let request = pair.flush(false, at).unwrap();
    pair.expect_request(at);
    pair.exchange(&request, at);
    let snapshot = pair.snapshot(at + 50);
    assert_eq!((snapshot.minute_used, snapshot.reserved), (2, 0));
    assert!(pair.cache.is_idle());
}

/// One of two leases has ended: the other one is kept, because nothing renews it.
#[test]
fn flush_without_renewal_returns_what_has_ended_only() {
    let mut pair = Pair::new(Tier::Pro);
    pair.admit(0);
    let second = pair.expect_request_of_lease(5_000);
    pair.exchange(&second, 5_000);
    let request = pair.flush(false, 9_500).unwrap();
    let closed: Vec<bool> = request.reports.iter().map(|report| report.closed).collect();
    assert_eq!(closed, [true, false]);
    assert!(allowed(&pair.expect_decision(9_600)));
}

/// The slots of a lease begin with its request. A call is reported in the one it was made in.
#[test]
fn spent_calls_are_reported_by_quarters_of_a_second() {
    let mut pair = Pair::new(Tier::Pro);
    pair.admit(0);
    for at in [100, 249, 250, 1_100] {
        pair.expect_decision(at);
    }
    let request = pair.cache.read(&pair.key, NOON.plus(1_200));
    assert_eq!(request.reports[0].spent, [(0, 2), (1, 1), (4, 1)]);
}

#[test]
fn flush_renews_used_leases_only() {
    for (calls, renews) in [(0, false), (1, true)] {
        let mut pair = Pair::new(Tier::Pro);
        pair.admit(0);
        for n in 0..calls {
            pair.expect_decision(100 + n);
        }
        assert_eq!(pair.flush(true, 9_500).unwrap().rate > 0, renews, "{calls} calls from the lease");
    }
}

#[test]
fn slow_key_near_its_meter_renews_with_the_report_of_the_end() {
    let mut pair = Pair::new(Tier::Pro);
    pair.admit(0);
    for at in [3_000, 6_000, 9_000] {
        assert!(matches!(pair.call(at), Step::Decided(_, None)), "renewed at {at} ms");
    }
    let renewal = pair.flush(true, 9_500).unwrap();
    assert!(renewal.rate > 0 && renewal.reports.iter().all(|report| report.closed));
    assert_eq!(pair.exchange(&renewal, 9_500), None);
    assert!(allowed(&pair.expect_decision(12_000)));
}

#[test]
fn clock_that_goes_back_ends_leases_and_a_small_step_does_not() {
    let mut pair = Pair::new(Tier::Pro);
    pair.admit(1_000);
    assert!(allowed(&pair.expect_decision(1_100)));
    assert!(allowed(&pair.expect_decision(900)));
    pair.expect_request(899);
}

#[test]
fn lease_is_renewed_after_the_clock_went_back() {
    let mut pair = Pair::new(Tier::Pro);
    pair.admit(3_600_000);
    pair.admit(0);
    let mut calls = (1_000..2_000).step_by(10).map(|at| pair.call(at));
    assert!(calls.any(|step| matches!(step, Step::Decided(_, Some(_)))));
}

#[test]
fn lease_requested_before_the_clock_went_back_is_not_spent() {
    let mut pair = Pair::new(Tier::Pro);
    pair.expect_request(59_000);
    let before = pair.expect_request(60_000);
    let response = pair.meter(&before, 60_010);
    assert!(response.lease.is_some());
    // Another call has seen the step, and the clock has gone on since.
    pair.expect_request(1_000);
    let admission =
        pair.cache.handle_response(&before, NOON.plus(60_000), &response, NOON.plus(1_020)).unwrap();
    assert!(allowed(&admission), "the call itself was counted");
    assert_eq!(pair.cache.flush_at(), None);
    let Step::Ask(_, timeouts) = pair.call(1_100) else { panic!("decided without the meter") };
    assert_eq!(timeouts.hedge_ms, 1_000, "the round trip is not known by two clocks");
}
