//! What a [`LeaseCache`] admits, asks and tells, against a real [`Meter`], message by message.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use shared::{
    key::{ApiKey, KeyEnv, KeyFault, KeyId, KeyRecord, VerifiedKey},
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
    holder: LeaseCache,
    key: VerifiedKey,
}

fn key(tier: Tier, secret: u8) -> VerifiedKey {
    let keys = MacKeys::parse("0123456789abcdef0123456789abcdef").unwrap();
    ApiKey::mint(KeyEnv::Live, KeyId::new([7; 12]), tier, NOON, [secret; 16], &keys).1
}

impl Pair {
    fn new(tier: Tier) -> Self {
        let key = key(tier, 1);
        let mut holder = LeaseCache::new(1);
        holder.learn(KeyRecord { version: 1, ..KeyRecord::provisional(&key) });
        Self { meter: Meter::default(), holder, key }
    }

    /// The same key by another secret, such as a rotation makes.
    fn other_secret(&self) -> VerifiedKey {
        key(self.key.issued_tier, 2)
    }

    fn call(&mut self, at: u64) -> Step {
        self.holder.call(&self.key, NOON.plus(at))
    }

    /// A call that has to ask; the question.
    fn asks(&mut self, at: u64) -> MeterRequest {
        match self.call(at) {
            Step::Ask(ask) => ask,
            Step::Decided(admission, _) => panic!("decided without asking: {admission:?}"),
        }
    }

    /// A call that is decided here; the decision.
    fn decides(&mut self, at: u64) -> Admission {
        match self.call(at) {
            Step::Decided(admission, _) => admission,
            Step::Ask(_) => panic!("asks"),
        }
    }

    fn meter(&mut self, ask: &MeterRequest, at: u64) -> MeterResponse {
        match self.meter.handle(Message::Ask(ask.clone()), NOON.plus(at)) {
            Reply::Ask(answer) => answer,
            other => panic!("{other:?}"),
        }
    }

    /// Carries a question there and back within 20 ms.
    fn carry(&mut self, ask: &MeterRequest, at: u64) -> Option<Admission> {
        let answer = self.meter(ask, at + 10);
        self.holder.answered(ask, NOON.plus(at), &answer, NOON.plus(at + 20))
    }

    /// A call, with whatever it takes.
    fn admit(&mut self, at: u64) -> Admission {
        match self.call(at) {
            Step::Decided(admission, _) => admission,
            Step::Ask(ask) => self.carry(&ask, at).unwrap(),
        }
    }

    fn flush(&mut self, renew: bool, at: u64) -> Option<MeterRequest> {
        self.holder.flush(&self.key, renew, NOON.plus(at))
    }

    fn change(&mut self, change: Change, at: u64) {
        self.meter.handle(Message::Change { record: None, by: None, change }, NOON.plus(at));
    }

    fn reading(&self, at: u64) -> MeterSnapshot {
        let ask = LeaseCache::new(9).read(&self.key, NOON.plus(at));
        match self.meter.clone().handle(Message::Read(ask), NOON.plus(at)) {
            Reply::Read(reading) => reading,
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
fn a_paid_key_spends_its_lease_without_asking_and_a_free_key_always_asks() {
    let mut pro = Pair::new(Tier::Pro);
    assert!(allowed(&pro.admit(0)));
    assert!(allowed(&pro.decides(100)));
    let mut free = Pair::new(Tier::Free);
    assert!(allowed(&free.admit(0)));
    free.asks(100);
}

#[test]
fn a_lease_is_spent_until_half_a_second_before_its_end_and_no_longer() {
    let mut pair = Pair::new(Tier::Pro);
    pair.admit(0);
    assert!(allowed(&pair.decides(9_499)));
    pair.asks(9_500);
}

#[test]
fn what_is_shown_as_remaining_falls_by_one_with_each_call() {
    let mut pair = Pair::new(Tier::Pro);
    let shown: Vec<u32> = (0..6).map(|n| pair.admit(n * 100).standing().unwrap().minute.remaining).collect();
    assert_eq!(shown, [99, 98, 97, 96, 95, 94]);
}

#[test]
fn a_lease_that_runs_out_soon_is_renewed_while_its_calls_still_pass() {
    let mut pair = Pair::new(Tier::Pro);
    pair.admit(0);
    assert!(matches!(pair.call(3_000), Step::Decided(_, None)), "there is time");
    let Step::Decided(admission, Some(renewal)) = pair.call(8_000) else { panic!("not renewed") };
    assert!(allowed(&admission) && !renewal.want);
    assert!(matches!(pair.call(8_100), Step::Decided(_, None)), "one renewal is on its way");
    let answer = pair.meter(&renewal, 8_110);
    assert_eq!(pair.holder.answered(&renewal, NOON.plus(8_000), &answer, NOON.plus(8_120)), None);
    assert!(allowed(&pair.decides(9_600)));
}

#[test]
fn at_a_leases_end_what_was_not_spent_is_given_back() {
    let mut pair = Pair::new(Tier::Pro);
    pair.admit(0);
    pair.decides(100);
    assert!(pair.reading(200).reserved > 0);
    let due = pair.holder.flush_at().unwrap();
    let at = due.since(NOON);
    assert_eq!(pair.flush(false, at - 1), None);
    let ask = pair.flush(false, at).unwrap();
    pair.asks(at);
    pair.carry(&ask, at);
    let reading = pair.reading(at + 50);
    assert_eq!((reading.minute_used, reading.reserved), (2, 0));
    assert!(pair.holder.idle());
}

#[test]
fn a_flush_renews_a_lease_that_was_used_and_no_other() {
    for (calls, renews) in [(0, false), (1, true)] {
        let mut pair = Pair::new(Tier::Pro);
        pair.admit(0);
        for n in 0..calls {
            pair.decides(100 + n);
        }
        assert_eq!(pair.flush(true, 9_500).unwrap().rate > 0, renews, "{calls} calls from the lease");
    }
}

#[test]
fn a_clock_that_goes_back_ends_every_lease_and_one_that_is_read_out_of_order_does_not() {
    let mut pair = Pair::new(Tier::Pro);
    pair.admit(1_000);
    assert!(allowed(&pair.decides(1_100)));
    assert!(allowed(&pair.decides(900)));
    pair.asks(899);
}

#[test]
fn leases_are_renewed_again_after_the_clock_went_back() {
    let mut pair = Pair::new(Tier::Pro);
    pair.admit(3_600_000);
    pair.admit(0);
    assert!(matches!(pair.call(9_000), Step::Decided(_, Some(_))));
}

#[test]
fn a_lease_asked_for_before_the_clock_went_back_is_not_spent() {
    let mut pair = Pair::new(Tier::Pro);
    let before = pair.asks(60_000);
    let answer = pair.meter(&before, 60_010);
    assert!(answer.lease.is_some());
    // Another call has seen the step, and the clock has gone on since.
    pair.asks(1_000);
    let admission = pair.holder.answered(&before, NOON.plus(60_000), &answer, NOON.plus(1_020)).unwrap();
    assert!(allowed(&admission), "the call itself was counted");
    assert_eq!(pair.holder.flush_at(), None);
    pair.asks(1_100);
}

#[test]
fn a_denial_is_repeated_without_asking_until_it_can_change() {
    let mut pair = Pair::new(Tier::Free);
    for n in 0..10 {
        assert!(allowed(&pair.admit(n * 10_000 / 10)));
    }
    let Admission::Deny(first, _) = pair.admit(40_000) else { panic!("admitted") };
    let Admission::Deny(later, standing) = pair.decides(50_000) else { panic!("admitted") };
    assert_eq!(later.retry_ms, first.retry_ms - (50_000 - 40_020));
    assert_eq!(standing.minute.remaining, 0);
    assert!(allowed(&pair.admit(50_000 + later.retry_ms)));
}

#[test]
fn a_long_denial_is_asked_about_every_half_minute() {
    let mut pair = Pair::new(Tier::Free);
    for n in 0..100 {
        pair.admit(n * 6_100);
    }
    assert!(matches!(pair.admit(610_000), Admission::Deny(denial, _) if denial.retry_ms > 3_600_000));
    assert!(matches!(pair.decides(640_019), Admission::Deny(..)));
    pair.asks(640_020);
}

#[test]
fn a_denial_ends_early_where_a_lease_may_come_back_but_promises_no_such_thing() {
    let mut pair = Pair::new(Tier::Pro);
    // Another isolate holds half of the minute.
    let other = MeterRequest { holder: 2, rate: 60_000, ..pair.asks(0) };
    pair.meter(&other, 0);
    let mut at = 100;
    let denial = loop {
        if let Admission::Deny(denial, _) = pair.admit(at) {
            break denial;
        }
        at += 25;
    };
    assert!(denial.retry_ms > 50_000, "promised is what holds whatever the other isolate does");
    let Admission::Deny(..) = pair.decides(at + 1_000) else { panic!("admitted") };
    pair.asks(10_100);
}

#[test]
fn a_refusal_is_believed_for_five_seconds_of_that_secret_only() {
    let mut pair = Pair::new(Tier::Free);
    pair.admit(0);
    pair.change(Change::Revoke, 100);
    assert_eq!(pair.admit(200), Admission::Refuse(KeyFault::Revoked));
    assert_eq!(pair.decides(5_219), Admission::Refuse(KeyFault::Revoked));
    let other = pair.other_secret();
    assert!(matches!(pair.holder.call(&other, NOON.plus(5_219)), Step::Ask(_)));
    pair.asks(5_220);
}

#[test]
fn the_answer_to_a_renewal_ends_a_revoked_key_at_once() {
    let mut pair = Pair::new(Tier::Pro);
    pair.admit(0);
    pair.change(Change::Revoke, 100);
    let Step::Decided(_, Some(renewal)) = pair.call(8_000) else { panic!("not renewed") };
    assert_eq!(pair.carry(&renewal, 8_000), None);
    assert_eq!(pair.decides(8_100), Admission::Refuse(KeyFault::Revoked));
}

#[test]
fn an_older_record_that_comes_late_changes_nothing() {
    let mut pair = Pair::new(Tier::Pro);
    let early = pair.asks(0);
    let late = pair.asks(1);
    let overtaken = pair.meter(&early, 10);
    pair.change(Change::Revoke, 20);
    let answer = pair.meter(&late, 30);
    pair.holder.answered(&late, NOON.plus(1), &answer, NOON.plus(40));
    pair.holder.answered(&early, NOON, &overtaken, NOON.plus(50));
    assert!(pair.holder.record().unwrap().version > 1);
}

#[test]
fn without_the_meter_a_free_key_waits_and_a_paid_one_goes_on_to_a_quarter_of_its_minute() {
    let mut free = Pair::new(Tier::Free);
    let ask = free.asks(0);
    let refused = free.holder.unanswered(&ask, NOON.plus(300)).unwrap();
    assert_eq!(refused, Admission::Unavailable { retry_ms: 1_000 });
    let rendered = refused.problem().unwrap().render(&shared::request_id::RequestId([0; 16]));
    assert_eq!(rendered.status, 503);
    assert!(rendered.headers.contains(&("retry-after", "1".into())));

    let mut pro = Pair::new(Tier::Pro);
    let ask = pro.asks(0);
    let first = pro.holder.unanswered(&ask, NOON.plus(300)).unwrap();
    assert!(matches!(first, Admission::Allow { degraded: true, .. }));
    let passed = (0..60).filter(|n| matches!(pro.decides(400 + n), Admission::Allow { degraded: true, .. }));
    assert_eq!(1 + passed.count(), 25);
}

#[test]
fn without_the_meter_a_secret_that_is_not_known_here_is_not_called_invalid() {
    let mut pair = Pair::new(Tier::Pro);
    pair.admit(0);
    let other = pair.other_secret();
    let Step::Ask(ask) = pair.holder.call(&other, NOON.plus(100)) else { panic!("decided without asking") };
    let waits = pair.holder.unanswered(&ask, NOON.plus(400));
    assert_eq!(waits, Some(Admission::Unavailable { retry_ms: 1_000 }));
}

#[test]
fn a_denial_is_told_to_the_keys_own_secret_only() {
    let mut pair = Pair::new(Tier::Free);
    for n in 0..11 {
        pair.admit(n * 100);
    }
    assert!(matches!(pair.decides(1_200), Admission::Deny(..)));
    let other = pair.other_secret();
    let Step::Ask(ask) = pair.holder.call(&other, NOON.plus(1_300)) else { panic!("decided without asking") };
    assert_eq!(pair.carry(&ask, 1_300), Some(Admission::Refuse(KeyFault::Invalid)));
}

#[test]
fn a_silent_meter_is_asked_after_one_second_then_two_then_every_five() {
    let mut pair = Pair::new(Tier::Free);
    let mut at = 0;
    for pause in [1_000, 2_000, 4_000, 5_000, 5_000] {
        let ask = pair.asks(at);
        pair.holder.unanswered(&ask, NOON.plus(at + 300));
        assert!(matches!(pair.decides(at + 300 + pause - 1), Admission::Unavailable { retry_ms: 1 }));
        at += 300 + pause;
    }
    let ask = pair.asks(at);
    pair.carry(&ask, at);
    let ask = pair.asks(at + 1_000);
    let again = pair.holder.unanswered(&ask, NOON.plus(at + 1_300));
    assert_eq!(again, Some(Admission::Unavailable { retry_ms: 1_000 }), "an answer ends the outage");
}

#[test]
fn a_background_question_without_answer_costs_no_call() {
    let mut pair = Pair::new(Tier::Pro);
    pair.admit(0);
    let Step::Decided(_, Some(renewal)) = pair.call(8_000) else { panic!("not renewed") };
    assert_eq!(pair.holder.unanswered(&renewal, NOON.plus(8_300)), None);
    assert_eq!(pair.holder.read(&pair.key, NOON.plus(8_400)).batch, None, "no debt");
}

#[test]
fn debts_are_told_until_they_are_acknowledged_and_counted_once() {
    let mut pair = Pair::new(Tier::Pro);
    let ask = pair.asks(0);
    pair.holder.unanswered(&ask, NOON.plus(300));
    pair.decides(400);
    let lost = pair.asks(1_300);
    assert_eq!(lost.batch.as_ref().map(|batch| batch.debts), Some(2));
    pair.meter(&lost, 1_310);
    pair.holder.unanswered(&lost, NOON.plus(1_600));
    let again = pair.asks(3_600);
    assert_eq!(again.batch, lost.batch);
    pair.carry(&again, 3_600);
    // Two debts, and the two calls that came with the batch.
    assert_eq!(pair.reading(3_700).minute_used, 4);
    let next = pair.holder.read(&pair.key, NOON.plus(3_800));
    assert_eq!(next.batch.map(|batch| batch.debts), Some(1), "what passed since, on the budget");
}

#[test]
fn a_call_that_ended_in_503_is_given_back_to_the_day_it_was_counted_on() {
    let midnight = NOON.day().end().since(NOON);
    let mut pair = Pair::new(Tier::Free);
    let before = pair.admit(midnight - 1_000);
    // It ends on the next day, by the isolate's clock and by the meter's.
    pair.admit(midnight + 1_000);
    pair.holder.ended(Tool::Qr, 503, true, charge(&before));
    let ask = pair.flush(false, midnight + 2_000).unwrap();
    pair.carry(&ask, midnight + 2_000);
    let reading = pair.reading(midnight + 2_100);
    assert_eq!(reading.day_used, 1, "today's call stays counted");

    let today = pair.admit(midnight + 3_000);
    pair.holder.ended(Tool::Qr, 503, true, charge(&today));
    let ask = pair.flush(false, midnight + 4_000).unwrap();
    pair.carry(&ask, midnight + 4_000);
    let reading = pair.reading(midnight + 4_100);
    assert_eq!((reading.minute_used, reading.day_used), (3, 1));
    assert_eq!(reading.tally.by_status.get(&503), Some(&2));
}

#[test]
fn a_call_on_the_local_budget_that_ended_in_503_is_not_owed() {
    let mut pair = Pair::new(Tier::Pro);
    let ask = pair.asks(0);
    let admission = pair.holder.unanswered(&ask, NOON.plus(300)).unwrap();
    pair.holder.ended(Tool::Qr, 503, true, charge(&admission));
    let batch = pair.asks(1_300).batch.unwrap();
    assert_eq!((batch.debts, batch.refunds), (0, 0));
}

#[test]
fn how_calls_ended_goes_with_the_next_question_or_the_leases_end() {
    let mut pair = Pair::new(Tier::Pro);
    let admission = pair.admit(0);
    pair.holder.ended(Tool::Pdf, 200, false, charge(&admission));
    assert_eq!(pair.flush(false, 500), None, "the lease's end will carry it");
    let ask = pair.flush(false, 9_500).unwrap();
    assert_eq!(ask.batch.unwrap().ended, [(Tool::Pdf, 200, 1)]);
}

#[test]
fn a_fresh_paid_key_that_the_store_denies_gets_its_record_from_the_meter_and_spends_its_lease() {
    let mut pair = Pair::new(Tier::Pro);
    pair.holder = LeaseCache::new(1);
    pair.admit(0);
    assert!(allowed(&pair.decides(100)));
}
