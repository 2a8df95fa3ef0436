//! Denials and refusals that a cache keeps, and newer records.

use serde_json::json;
use shared::key::KeyError;
use shared::lease_cache::{Admission, Step};
use shared::meter::{Change, MeterRequest};
use shared::tier::Tier;
use shared::tool::Tool;

use crate::{NOON, Pair, allowed};

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

/// Whatever brings the news: here the report of another call.
#[test]
fn denial_is_forgotten_once_the_meter_has_calls_left() {
    let patch = |minute, day| json!({"patch": {"limits": {"minute": minute, "day": day}}});
    for (minute, day, is_forgotten) in [(20, 20, true), (20, 10, false), (10, 20, false)] {
        let mut pair = Pair::new(Tier::Free);
        while !matches!(pair.admit(0), Admission::Deny(..)) {}
        pair.change(serde_json::from_value(patch(minute, day)).unwrap(), 100);
        let read = pair.cache.read(&pair.key, NOON.plus(200));
        assert_eq!(pair.exchange(&read, 200), None);
        assert_eq!(matches!(pair.call(300), Step::Ask(..)), is_forgotten, "{minute} {day}");
    }
}

#[test]
fn long_denial_is_rechecked_every_half_minute() {
    let mut pair = Pair::new(Tier::Free);
    for n in 0..100 {
        pair.admit(n * 6_400);
    }
    assert!(matches!(pair.admit(640_000), Admission::Deny(denial, _) if denial.retry_ms > 3_600_000));
    assert!(matches!(pair.expect_decision(670_019), Admission::Deny(..)));
    pair.expect_request(670_020);
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
    assert!(matches!(pair.cache.call(&other, Tool::Qr, NOON.plus(5_219)), Step::Ask(..)));
    pair.expect_request(5_220);
}

#[test]
fn revoked_key_is_refused_after_the_next_renewal() {
    let mut pair = Pair::new(Tier::Pro);
    pair.admit_from_afar(0);
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
