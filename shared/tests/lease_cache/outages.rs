//! A meter that fails or is silent.

use shared::{
    key::KeyError,
    lease_cache::{Admission, Step},
    tier::Tier,
    tool::Tool,
};

use crate::{NOON, Pair};

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
