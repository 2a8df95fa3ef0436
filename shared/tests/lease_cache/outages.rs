//! A meter that fails or is silent.

use serde_json::json;
use shared::key::{KeyError, KeyRecord, WhenMeterUnreachable};
use shared::lease_cache::{Admission, LeaseCache, Step};
use shared::meter::{MeterRequest, MeterResponse};
use shared::policy::LimitOverrides;
use shared::tier::Tier;
use shared::tool::Tool;

use crate::{NOON, Pair, allowed};

impl Pair {
    /// Makes a call whose request fails immediately. Returns the decision on it.
    fn fail_at(&mut self, at: u64) -> Admission {
        match self.call(at) {
            Step::Decided(admission, _) => admission,
            Step::Ask(request, _) => self.cache.handle_failure(&request, NOON.plus(at)).unwrap(),
        }
    }

    /// Takes over a record in which `change` is made.
    pub(crate) fn learn(&mut self, change: impl FnOnce(&mut KeyRecord)) {
        let mut record = self.cache.record().cloned().unwrap();
        record.version += 1;
        change(&mut record);
        self.cache.learn(record);
    }
}

fn degraded(admission: &Admission) -> bool {
    matches!(admission, Admission::Allow { degraded: true, .. })
}

/// Returns a response without a decision, a lease or a share.
fn nothing(request: &MeterRequest) -> MeterResponse {
    let text = json!({"verdict": "noted", "version": request.version, "batch": 0});
    serde_json::from_value(text).unwrap()
}

fn unavailable(admission: &Admission) -> bool {
    matches!(admission, Admission::Unavailable { .. })
}

/// The sum of the local budgets would grow with the number of isolates.
#[test]
fn isolate_that_never_met_the_meter_has_no_local_budget() {
    for tier in Tier::ALL {
        let mut pair = Pair::new(tier);
        let record = pair.cache.record().cloned().unwrap();
        pair.cache = LeaseCache::new(2);
        pair.cache.learn(record);
        let Step::Ask(request, timeouts) = pair.call(0) else { panic!("decided without the meter") };
        assert_eq!(timeouts.total_ms, 3_000);
        let refused = pair.cache.handle_failure(&request, NOON.plus(3_000)).unwrap();
        assert_eq!(refused, Admission::Unavailable { retry_ms: 1_000 }, "{tier}");
        assert!(!pair.cache.has_met_meter());
        assert!(allowed(&pair.admit(4_000)), "{tier}: the first response ends it");
        assert!(pair.cache.has_met_meter());
        assert_eq!(degraded(&pair.fail_at(20_000)), tier != Tier::Free, "{tier}");
    }
}

#[test]
fn share_of_the_local_budget_is_that_of_the_last_response() {
    let mut pair = Pair::new(Tier::Pro);
    let mut at = 0;
    // One other isolate, then four.
    for (others, share) in [(0, 13), (1, 9), (4, 5)] {
        for _ in 0..3 {
            for holder in 0..others {
                let heard = shared::meter::HeldShare { heard: u32::try_from(at).unwrap(), calls: 0 };
                let seq = u32::try_from(at).unwrap() + 1;
                let request =
                    MeterRequest { holder: 90 + holder, seq, ..pair.cache.read(&pair.key, NOON.plus(at)) };
                pair.meter(&MeterRequest { reports: Vec::new(), batch: None, budget: heard, ..request }, at);
            }
            assert!(allowed(&pair.admit(at)));
            at += 70_000;
        }
        let passed = (0..60).filter(|n| degraded(&pair.fail_at(at + 10 * n)));
        assert_eq!(passed.count(), share, "beside {others}");
        at += 70_000;
        pair.admit(at);
    }
}

/// A call waits for 0.6 s only if it can continue without a response.
#[test]
fn used_up_share_lets_calls_wait_for_the_meter() {
    let mut pair = Pair::new(Tier::Pro);
    pair.admit(0);
    let mut passed = 0;
    loop {
        let at = 20_000 + passed * 2_000;
        let Step::Ask(request, timeouts) = pair.call(at) else { panic!("decided without the meter") };
        let admission = pair.cache.handle_failure(&request, NOON.plus(at)).unwrap();
        assert_eq!(timeouts.total_ms, if degraded(&admission) { 600 } else { 3_000 }, "{passed}");
        if !degraded(&admission) {
            break;
        }
        passed += 1;
        // A response that brings nothing ends the pause between two requests.
        pair.cache.handle_response(&request, NOON.plus(at), &nothing(&request), NOON.plus(at));
    }
    assert_eq!(passed, 13);
}

/// The age of a share is not known by a clock that went back.
#[test]
fn share_is_not_used_after_the_clock_went_back() {
    let mut pair = Pair::new(Tier::Pro);
    pair.admit(3_600_000);
    assert!(unavailable(&pair.fail_at(0)));
}

/// Nobody tells an isolate that was idle for long how many others there are.
#[test]
fn old_share_is_not_taken_up_and_one_in_use_lasts() {
    let mut pair = Pair::new(Tier::Pro);
    assert!(allowed(&pair.admit(0)));
    assert!(unavailable(&pair.fail_at(300_001)));
    assert!(allowed(&pair.admit(310_000)));
    assert!(degraded(&pair.fail_at(600_000)));
    for minutes in 11..130 {
        assert!(degraded(&pair.fail_at(minutes * 60_000 + 2_000)), "after {minutes} minutes");
    }
}

#[test]
fn degraded_response_shows_the_limit_of_the_key() {
    let mut pair = Pair::new(Tier::Pro);
    let Admission::Allow { quota, degraded: true, .. } = pair.fail_at(0) else { panic!("not degraded") };
    assert_eq!((quota.minute.limit, quota.minute.remaining, quota.day), (100, 12, None));
}

#[test]
fn key_that_refuses_without_its_meter_is_503() {
    let mut pair = Pair::new(Tier::Enterprise);
    pair.admit(0);
    pair.learn(|record| record.when_meter_unreachable = WhenMeterUnreachable::Refuse);
    let Step::Ask(request, timeouts) = pair.call(20_000) else { panic!("decided without the meter") };
    assert_eq!(timeouts.total_ms, 3_000, "it has no other way");
    assert!(unavailable(&pair.cache.handle_failure(&request, NOON.plus(23_000)).unwrap()));
    assert_eq!(pair.admit(30_000).quota().unwrap().minute.limit, 500);
    pair.learn(|record| record.when_meter_unreachable = WhenMeterUnreachable::Continue);
    assert!(degraded(&pair.fail_at(50_000)));
}

/// The meter grants no share on a record that only a MAC proves.
#[test]
fn key_without_a_stored_record_has_no_local_budget() {
    let mut pair = Pair::new(Tier::Pro);
    pair.cache = LeaseCache::new(2);
    let request = MeterRequest { unread: false, ..pair.expect_request(0) };
    assert!(allowed(&pair.exchange(&request, 0).unwrap()));
    assert!(unavailable(&pair.fail_at(10_000)));
}

#[test]
fn used_up_day_leaves_no_local_budget() {
    let mut pair = Pair::new(Tier::Pro);
    let day = |calls: u32| LimitOverrides { day: calls.try_into().ok(), ..LimitOverrides::NONE };
    pair.learn(|record| record.limits = day(3));
    for at in [0, 10, 20] {
        assert!(allowed(&pair.admit(at)));
    }
    assert!(matches!(pair.admit(30), Admission::Deny(..)));
    assert!(unavailable(&pair.fail_at(40_000)));
    let midnight = NOON.day().end().since(NOON);
    pair.learn(|record| record.limits = day(40));
    assert!(allowed(&pair.admit(midnight)));
    let passed = (0..60).filter(|n| degraded(&pair.fail_at(midnight + 20_000 + 61_000 * n)));
    assert_eq!(passed.count(), 5, "as large a share of the day as of the minute");
}

/// The share of the minute is not used up, and that of the day is 2.
#[test]
fn day_that_the_meter_counted_as_used_up_leaves_no_local_budget() {
    let mut pair = Pair::new(Tier::Pro);
    pair.learn(|record| {
        record.limits = LimitOverrides { day: 20_u32.try_into().ok(), ..LimitOverrides::NONE }
    });
    let passed = (0..40).filter(|n| allowed(&pair.admit(10 * n))).count();
    assert_eq!(passed, 20);
    assert!(unavailable(&pair.fail_at(40_000)));
}

#[test]
fn meter_failure_is_503_for_free_keys_and_a_budget_for_paid() {
    let mut free = Pair::new(Tier::Free);
    let request = free.expect_request(0);
    let refused = free.cache.handle_failure(&request, NOON.plus(300)).unwrap();
    assert_eq!(refused, Admission::Unavailable { retry_ms: 1_000 });
    let rendered = refused.problem().unwrap().render(&shared::request_id::RequestId([0; 16]));
    assert_eq!(rendered.status, 503);
    assert_eq!(rendered.header("retry-after"), Some("1"));

    let mut pro = Pair::new(Tier::Pro);
    let request = pro.expect_request(0);
    let first = pro.cache.handle_failure(&request, NOON.plus(300)).unwrap();
    assert!(matches!(first, Admission::Allow { degraded: true, .. }));
    let passed = (0..60).filter(|n| degraded(&pro.expect_decision(400 + n)));
    assert_eq!(1 + passed.count(), 13, "one half is for the next isolate");
    assert!(unavailable(&pro.expect_decision(500)), "the key is not over its limit");
}

#[test]
fn meter_failure_is_503_for_an_unknown_secret() {
    let mut pair = Pair::new(Tier::Pro);
    pair.admit(0);
    let other = pair.other_secret();
    let Step::Ask(request, _) = pair.cache.call(&other, Tool::Qr, NOON.plus(100)) else {
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
    let Step::Ask(request, _) = pair.cache.call(&other, Tool::Qr, NOON.plus(1_300)) else {
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
    pair.admit_from_afar(0);
    let Step::Decided(_, Some(renewal)) = pair.call(8_000) else { panic!("not renewed") };
    assert_eq!(pair.cache.handle_failure(&renewal, NOON.plus(8_300)), None);
    assert_eq!(
        pair.cache.read(&pair.key, NOON.plus(8_400)).batch.map_or(0, |batch| batch.debts),
        0,
        "no debt"
    );
}
