//! A [`LeaseCache`] against a real [`Meter`], message by message.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use shared::{
    key::{ApiKey, KeyEnv, KeyError, KeyId, KeyRecord, VerifiedKey},
    lease_cache::{Admission, Charge, LeaseCache, Step},
    meter::{Change, Message, Meter, MeterRequest, MeterResponse, MeterSnapshot, Reply},
    secret::MacKeys,
    tier::Tier,
    time::UnixMillis,
    tool::Tool,
};

const NOON: UnixMillis = UnixMillis(1_763_726_400_000);

/// One isolate and the meter, without any network between them.
struct Pair {
    meter: Meter,
    cache: LeaseCache,
    key: VerifiedKey,
}

fn key(tier: Tier, secret: u8) -> VerifiedKey {
    let keys = MacKeys::parse("0123456789abcdef0123456789abcdef").unwrap();
    ApiKey::mint(KeyEnv::Live, KeyId::new([7; 12]), tier, NOON, [secret; 16], &keys).1
}

impl Pair {
    fn new(tier: Tier) -> Self {
        let key = key(tier, 1);
        let mut cache = LeaseCache::new(1);
        cache.learn(KeyRecord { version: 1, ..KeyRecord::provisional(&key) });
        Self { meter: Meter::default(), cache, key }
    }

    /// Returns the same key with another secret, as after a rotation.
    fn other_secret(&self) -> VerifiedKey {
        key(self.key.issued_tier, 2)
    }

    fn call(&mut self, at: u64) -> Step {
        self.cache.call(&self.key, NOON.plus(at))
    }

    /// Makes a call that needs the meter. Returns its request.
    fn expect_request(&mut self, at: u64) -> MeterRequest {
        match self.call(at) {
            Step::Ask(request) => request,
            Step::Decided(admission, _) => panic!("decided without the meter: {admission:?}"),
        }
    }

    /// Makes a call that is decided here. Returns the decision.
    fn expect_decision(&mut self, at: u64) -> Admission {
        match self.call(at) {
            Step::Decided(admission, _) => admission,
            Step::Ask(_) => panic!("needs the meter"),
        }
    }

    fn meter(&mut self, request: &MeterRequest, at: u64) -> MeterResponse {
        match self.meter.handle(Message::Ask(request.clone()), NOON.plus(at)) {
            Reply::Ask(response) => response,
            other => panic!("{other:?}"),
        }
    }

    /// Carries a request and its response within 20 ms.
    fn exchange(&mut self, request: &MeterRequest, at: u64) -> Option<Admission> {
        let response = self.meter(request, at + 10);
        self.cache.handle_response(request, NOON.plus(at), &response, NOON.plus(at + 20))
    }

    /// Makes a call, with the meter if it needs it.
    fn admit(&mut self, at: u64) -> Admission {
        match self.call(at) {
            Step::Decided(admission, _) => admission,
            Step::Ask(request) => self.exchange(&request, at).unwrap(),
        }
    }

    fn flush(&mut self, renew: bool, at: u64) -> Option<MeterRequest> {
        self.cache.flush(&self.key, renew, NOON.plus(at))
    }

    fn change(&mut self, change: Change, at: u64) {
        self.meter.handle(Message::Change { record: None, by: None, change }, NOON.plus(at));
    }

    fn snapshot(&self, at: u64) -> MeterSnapshot {
        let request = LeaseCache::new(9).read(&self.key, NOON.plus(at));
        match self.meter.clone().handle(Message::Read(request), NOON.plus(at)) {
            Reply::Read(snapshot) => snapshot,
            other => panic!("{other:?}"),
        }
    }
}

fn charge(admission: &Admission) -> Charge {
    match admission {
        Admission::Allow { charge, .. } => *charge,
        other => panic!("{other:?}"),
    }
}

fn allowed(admission: &Admission) -> bool {
    matches!(admission, Admission::Allow { degraded: false, .. })
}

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
fn remaining_falls_by_one_with_each_call() {
    let mut pair = Pair::new(Tier::Pro);
    let shown: Vec<u32> = (0..6).map(|n| pair.admit(n * 100).quota().unwrap().minute.remaining).collect();
    assert_eq!(shown, [99, 98, 97, 96, 95, 94]);
}

#[test]
fn lease_that_ends_soon_is_renewed_in_the_background() {
    let mut pair = Pair::new(Tier::Pro);
    pair.admit(0);
    assert!(matches!(pair.call(3_000), Step::Decided(_, None)), "there is time");
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
    assert!(matches!(pair.call(9_000), Step::Decided(_, Some(_))));
}

#[test]
fn lease_requested_before_the_clock_went_back_is_not_spent() {
    let mut pair = Pair::new(Tier::Pro);
    let before = pair.expect_request(60_000);
    let response = pair.meter(&before, 60_010);
    assert!(response.lease.is_some());
    // Another call has seen the step, and the clock has gone on since.
    pair.expect_request(1_000);
    let admission =
        pair.cache.handle_response(&before, NOON.plus(60_000), &response, NOON.plus(1_020)).unwrap();
    assert!(allowed(&admission), "the call itself was counted");
    assert_eq!(pair.cache.flush_at(), None);
    pair.expect_request(1_100);
}

#[test]
fn denial_is_cached_until_it_can_change() {
    let mut pair = Pair::new(Tier::Free);
    for n in 0..10 {
        assert!(allowed(&pair.admit(n * 10_000 / 10)));
    }
    let Admission::Deny(first, _) = pair.admit(40_000) else { panic!("admitted") };
    let Admission::Deny(later, quota) = pair.expect_decision(50_000) else { panic!("admitted") };
    assert_eq!(later.retry_ms, first.retry_ms - (50_000 - 40_020));
    assert_eq!(quota.minute.remaining, 0);
    assert!(allowed(&pair.admit(50_000 + later.retry_ms)));
}

#[test]
fn long_denial_is_rechecked_every_half_minute() {
    let mut pair = Pair::new(Tier::Free);
    for n in 0..100 {
        pair.admit(n * 6_100);
    }
    assert!(matches!(pair.admit(610_000), Admission::Deny(denial, _) if denial.retry_ms > 3_600_000));
    assert!(matches!(pair.expect_decision(640_019), Admission::Deny(..)));
    pair.expect_request(640_020);
}

#[test]
fn denial_is_rechecked_when_a_lease_may_return() {
    let mut pair = Pair::new(Tier::Pro);
    // Another isolate holds half of the minute.
    let other = MeterRequest { holder: 2, rate: 60_000, ..pair.expect_request(0) };
    pair.meter(&other, 0);
    let mut at = 100;
    let denial = loop {
        if let Admission::Deny(denial, _) = pair.admit(at) {
            break denial;
        }
        at += 25;
    };
    assert!(denial.retry_ms > 50_000, "promised is what holds whatever the other isolate does");
    let Admission::Deny(..) = pair.expect_decision(at + 1_000) else { panic!("admitted") };
    pair.expect_request(10_100);
}

#[test]
fn refusal_is_cached_for_five_seconds_per_secret() {
    let mut pair = Pair::new(Tier::Free);
    pair.admit(0);
    pair.change(Change::Revoke, 100);
    assert_eq!(pair.admit(200), Admission::Refuse(KeyError::Revoked));
    assert_eq!(pair.expect_decision(5_219), Admission::Refuse(KeyError::Revoked));
    let other = pair.other_secret();
    assert!(matches!(pair.cache.call(&other, NOON.plus(5_219)), Step::Ask(_)));
    pair.expect_request(5_220);
}

#[test]
fn revoked_key_is_refused_after_the_next_renewal() {
    let mut pair = Pair::new(Tier::Pro);
    pair.admit(0);
    pair.change(Change::Revoke, 100);
    let Step::Decided(_, Some(renewal)) = pair.call(8_000) else { panic!("not renewed") };
    assert_eq!(pair.exchange(&renewal, 8_000), None);
    assert_eq!(pair.expect_decision(8_100), Admission::Refuse(KeyError::Revoked));
}

#[test]
fn older_record_that_comes_late_is_ignored() {
    let mut pair = Pair::new(Tier::Pro);
    let early = pair.expect_request(0);
    let late = pair.expect_request(1);
    let overtaken = pair.meter(&early, 10);
    pair.change(Change::Revoke, 20);
    let response = pair.meter(&late, 30);
    pair.cache.handle_response(&late, NOON.plus(1), &response, NOON.plus(40));
    pair.cache.handle_response(&early, NOON, &overtaken, NOON.plus(50));
    assert!(pair.cache.record().unwrap().version > 1);
}

#[test]
fn meter_failure_is_503_for_free_keys_and_a_budget_for_paid() {
    let mut free = Pair::new(Tier::Free);
    let request = free.expect_request(0);
    let refused = free.cache.handle_failure(&request, NOON.plus(300)).unwrap();
    assert_eq!(refused, Admission::Unavailable { retry_ms: 1_000 });
    let rendered = refused.problem().unwrap().render(&shared::request_id::RequestId([0; 16]));
    assert_eq!(rendered.status, 503);
    assert!(rendered.headers.contains(&("retry-after", "1".into())));

    let mut pro = Pair::new(Tier::Pro);
    let request = pro.expect_request(0);
    let first = pro.cache.handle_failure(&request, NOON.plus(300)).unwrap();
    assert!(matches!(first, Admission::Allow { degraded: true, .. }));
    let passed =
        (0..60).filter(|n| matches!(pro.expect_decision(400 + n), Admission::Allow { degraded: true, .. }));
    assert_eq!(1 + passed.count(), 25);
}

#[test]
fn meter_failure_is_503_for_an_unknown_secret() {
    let mut pair = Pair::new(Tier::Pro);
    pair.admit(0);
    let other = pair.other_secret();
    let Step::Ask(request) = pair.cache.call(&other, NOON.plus(100)) else {
        panic!("decided without the meter")
    };
    let waits = pair.cache.handle_failure(&request, NOON.plus(400));
    assert_eq!(waits, Some(Admission::Unavailable { retry_ms: 1_000 }));
}

#[test]
fn denial_is_shown_to_the_keys_own_secret_only() {
    let mut pair = Pair::new(Tier::Free);
    for n in 0..11 {
        pair.admit(n * 100);
    }
    assert!(matches!(pair.expect_decision(1_200), Admission::Deny(..)));
    let other = pair.other_secret();
    let Step::Ask(request) = pair.cache.call(&other, NOON.plus(1_300)) else {
        panic!("decided without the meter")
    };
    assert_eq!(pair.exchange(&request, 1_300), Some(Admission::Refuse(KeyError::Invalid)));
}

#[test]
fn silent_meter_is_asked_after_one_two_four_and_five_seconds() {
    let mut pair = Pair::new(Tier::Free);
    let mut at = 0;
    for pause in [1_000, 2_000, 4_000, 5_000, 5_000] {
        let request = pair.expect_request(at);
        pair.cache.handle_failure(&request, NOON.plus(at + 300));
        assert!(matches!(pair.expect_decision(at + 300 + pause - 1), Admission::Unavailable { retry_ms: 1 }));
        at += 300 + pause;
    }
    let request = pair.expect_request(at);
    pair.exchange(&request, at);
    let request = pair.expect_request(at + 1_000);
    let again = pair.cache.handle_failure(&request, NOON.plus(at + 1_300));
    assert_eq!(again, Some(Admission::Unavailable { retry_ms: 1_000 }), "a response ends the outage");
}

#[test]
fn failed_background_request_decides_no_call() {
    let mut pair = Pair::new(Tier::Pro);
    pair.admit(0);
    let Step::Decided(_, Some(renewal)) = pair.call(8_000) else { panic!("not renewed") };
    assert_eq!(pair.cache.handle_failure(&renewal, NOON.plus(8_300)), None);
    assert_eq!(pair.cache.read(&pair.key, NOON.plus(8_400)).batch, None, "no debt");
}

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
