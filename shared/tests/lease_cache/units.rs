//! Units are reserved by the meter before a call passes, and what the call does not cost comes back once.

use std::num::NonZeroU32;

use shared::lease_cache::{Admission, Charge, Step};
use shared::meter::{MeterRequest, Verdict};
use shared::policy::{UnitLimits, Window};
use shared::quota::{Denial, SpentUnits};
use shared::tier::Tier;
use shared::tool::Tool;

use crate::{NOON, Pair};

/// Returns a key with a limit of 100 units a day.
fn pair() -> Pair {
    let mut pair = Pair::new(Tier::Pro);
    let limits = UnitLimits { day: NonZeroU32::new(100), ..UnitLimits::NONE };
    pair.learn(|record| record.limits.units = limits);
    pair
}

impl Pair {
    fn reserve(&mut self, units: u32, at: u64) -> MeterRequest {
        match self.cache.call_priced(&self.key, Tool::Narrate, units, NOON.plus(at)) {
            Step::Ask(request, _) => request,
            Step::Decided(admission, _) => panic!("decided without the meter: {admission:?}"),
        }
    }

    fn admit_priced(&mut self, units: u32, at: u64) -> Charge {
        let request = self.reserve(units, at);
        match self.exchange(&request, at).unwrap() {
            Admission::Allow { charge, degraded: false, .. } => charge,
            other => panic!("{other:?}"),
        }
    }

    fn refuse_priced(&mut self, units: u32, at: u64) -> Denial {
        let admission = match self.cache.call_priced(&self.key, Tool::Narrate, units, NOON.plus(at)) {
            Step::Decided(admission, _) => admission,
            Step::Ask(request, _) => self.exchange(&request, at).unwrap(),
        };
        match admission {
            Admission::Deny(denial, _) => denial,
            other => panic!("{other:?}"),
        }
    }

    /// Reports everything, and returns the units of today at the meter.
    fn units_today(&mut self, at: u64) -> u32 {
        let request = self.cache.read(&self.key, NOON.plus(at));
        let response = self.meter(&request, at);
        self.cache.handle_response(&request, NOON.plus(at), &response, NOON.plus(at));
        let day = response.quota.unwrap().units.unwrap().day.unwrap();
        day.limit - day.remaining
    }
}

#[test]
fn most_is_reserved_and_the_rest_comes_back() {
    let mut pair = pair();
    let charge = pair.admit_priced(60, 0);
    assert_eq!((charge.units(), pair.units_today(100)), (60, 60));
    assert_eq!(pair.refuse_priced(41, 200).window, Window::UnitsDay);
    pair.admit_priced(40, 300);
    let left = pair.cache.record_units(charge, 5, NOON.plus(400));
    assert_eq!((left.units(), pair.units_today(500)), (5, 45));
    pair.admit_priced(55, 2_000);
    let denial = pair.refuse_priced(1, 2_100);
    assert_eq!(denial.retry_ms, NOON.day().end().since(NOON.plus(2_110)));
}

#[test]
fn refunded_or_aborted_call_costs_nothing() {
    let mut pair = pair();
    let failed = pair.admit_priced(30, 0);
    pair.cache.record_outcome(Tool::Narrate, 503, true, failed, NOON.plus(50));
    assert_eq!(pair.units_today(100), 0);
    let stream = pair.admit_priced(30, 200);
    pair.cache.record_outcome(Tool::Narrate, 200, false, stream, NOON.plus(250));
    let stream = pair.cache.record_units(stream, 20, NOON.plus(250));
    assert_eq!(pair.units_today(300), 20);
    pair.cache.record_aborted(Tool::Narrate, 200, stream, NOON.plus(400));
    assert_eq!(pair.units_today(500), 0);
}

/// A cache that learned of the limits late must not let the others spend more.
#[test]
fn meter_decides_by_its_own_record() {
    let mut pair = Pair::new(Tier::Free);
    let limits = UnitLimits { minute: NonZeroU32::new(10), ..UnitLimits::NONE };
    let record = pair.cache.record().unwrap().clone();
    let request = MeterRequest { record: Some(record.clone()), ..pair.reserve(11, 0) };
    assert_eq!(pair.meter(&request, 5).verdict, Verdict::Allow, "no limit yet");
    let mut newer = record;
    newer.version += 1;
    newer.limits.units = limits;
    let request = MeterRequest { record: Some(newer), ..pair.reserve(11, 10) };
    let denial = Denial { window: Window::UnitsMinute, retry_ms: Denial::NEVER };
    assert_eq!(pair.meter(&request, 15).verdict, Verdict::Deny(denial));
}

#[test]
fn key_without_limits_in_units_spends_leases() {
    let mut pair = Pair::new(Tier::Pro);
    let request = pair.expect_request(0);
    pair.exchange(&request, 0).unwrap();
    let request = pair.expect_request_of_lease(30);
    pair.exchange(&request, 30);
    let step = pair.cache.call_priced(&pair.key, Tool::Narrate, 600, NOON.plus(100));
    assert!(matches!(step, Step::Decided(Admission::Allow { charge, .. }, _) if charge.units() == 0));
}

#[test]
fn call_without_price_of_a_limited_key_spends_leases() {
    let mut pair = pair();
    let request = pair.expect_request_of_lease(0);
    assert!(pair.meter(&request, 5).lease.is_some());
    pair.exchange(&request, 0);
    assert!(matches!(pair.expect_decision(100), Admission::Allow { .. }));
    assert_eq!(pair.reserve(1, 200).rate, 0, "a reservation asks for no lease");
}

#[test]
fn retried_request_is_reserved_once_and_withdrawn_once() {
    let mut pair = pair();
    let request = pair.reserve(60, 0);
    let first = pair.meter(&request, 10);
    let again = pair.cache.retry(&request, 4_000);
    let second = pair.meter(&again, 500);
    let (first, second) = (first.reserved.unwrap(), second.reserved.unwrap());
    assert_eq!((first.units, second.units), (60, 60));
    assert_eq!(second.at, NOON.plus(10 + 4_000 - 300), "it is counted later");
    assert!(pair.cache.give_up(&request, NOON.plus(3_000)).is_some());
    assert_eq!((pair.units_today(3_100), pair.units_today(3_200)), (0, 0));
}

#[test]
fn repeated_return_is_taken_once() {
    let mut pair = pair();
    pair.admit_priced(20, 0);
    let charge = pair.admit_priced(60, 100);
    let _left = pair.cache.record_units(charge, 0, NOON.plus(200));
    let request = pair.cache.read(&pair.key, NOON.plus(300));
    for at in [310, 320, 330] {
        let day = pair.meter(&request, at).quota.unwrap().units.unwrap().day.unwrap();
        assert_eq!(day.remaining, 80);
    }
}

#[test]
fn reservation_needs_the_meter_and_other_calls_continue_without() {
    let mut pair = pair();
    for at in [0, 100] {
        pair.admit_priced(1, at);
    }
    let priced = pair.reserve(1, 1_000);
    assert!(matches!(
        pair.cache.handle_failure(&priced, NOON.plus(4_000)),
        Some(Admission::Unavailable { .. })
    ));
    let step = pair.cache.call_priced(&pair.key, Tool::Narrate, 1, NOON.plus(4_001));
    assert!(matches!(step, Step::Decided(Admission::Unavailable { .. }, _)));
    assert!(matches!(pair.expect_decision(4_002), Admission::Allow { degraded: true, .. }));
}

#[test]
fn refusal_of_a_price_is_cached_for_a_second_and_for_no_cheaper_call() {
    let mut pair = pair();
    pair.admit_priced(60, 0);
    pair.refuse_priced(50, 100);
    let decided = |pair: &mut Pair, units, at| {
        matches!(pair.cache.call_priced(&pair.key, Tool::Narrate, units, NOON.plus(at)), Step::Decided(..))
    };
    assert!(decided(&mut pair, 50, 200) && decided(&mut pair, 70, 1_000));
    assert!(!decided(&mut pair, 49, 1_000) && !decided(&mut pair, 50, 1_200));
}

/// What is read from a stored row is what was stored.
#[test]
fn reservations_survive_a_restart_of_the_meter() {
    let mut pair = pair();
    let charge = pair.admit_priced(60, 0);
    let text = serde_json::to_string(&pair.meter).unwrap();
    pair.meter = serde_json::from_str(&text).unwrap();
    let _left = pair.cache.record_units(charge, 10, NOON.plus(50));
    assert_eq!(pair.units_today(100), 10);
    let snapshot = pair.snapshot(200);
    assert_eq!(snapshot.units, Some(SpentUnits { minute: 10, day: 10, month: 10 }));
}
