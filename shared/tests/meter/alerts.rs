//! Alerts: each is raised once, none is missed, and a key without webhooks has them in its list alone.

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroU32;

use proptest::collection::vec;
use proptest::prelude::*;
use shared::key::{BiolinkPlan, KeyRecord, KeyStatus, NamedSecret, Scopes, SecretHash, SecretId};
use shared::meter::{
    Alert, AlertCause, Batch, Message, Meter, MeterRequest, MeterResponse, THRESHOLDS, Verdict,
};
use shared::policy::{LimitOverrides, UnitLimits, Window};
use shared::tier::Tier;
use shared::time::{UnixMillis, UtcDay};

use crate::{MIDNIGHT, NOON, batch, record, request, restarted, send, snapshot};

const HOUR: u64 = 3_600_000;
const DAY: u64 = 24 * HOUR;

/// Returns the record of a key that has this many calls a day, and a plan with webhooks.
fn business(day: u32) -> KeyRecord {
    let limits =
        LimitOverrides { minute: NonZeroU32::new(1_000), day: NonZeroU32::new(day), ..LimitOverrides::NONE };
    KeyRecord { biolink_plan: BiolinkPlan::Business, limits, issued_at: NOON, ..record(Tier::Free, 1) }
}

fn call(meter: &mut Meter, record: &KeyRecord, seq: u32, now: UnixMillis) -> MeterResponse {
    let request = MeterRequest { record: Some(record.clone()), version: 1, ..request(Tier::Free, 1, seq) };
    send(meter, &request, now)
}

/// Removes the alerts that wait, as its shell does once they are delivered. Returns their causes.
fn deliver(meter: &mut Meter, now: UnixMillis) -> Vec<AlertCause> {
    meter.handle(Message::Alerts { delivered: Vec::new() }, now);
    let delivered = meter.alerts().to_vec();
    meter.handle(Message::Alerts { delivered: delivered.clone() }, now);
    assert_eq!(meter.alerts(), []);
    delivered.into_iter().map(|alert| alert.cause).collect()
}

fn percents(causes: &[AlertCause]) -> Vec<u8> {
    let percent = |cause: &AlertCause| match cause {
        AlertCause::QuotaThreshold { percent, .. } => Some(*percent),
        AlertCause::QuotaExceeded { .. } | AlertCause::KeyExpiring { .. } => None,
    };
    causes.iter().filter_map(percent).collect()
}

#[test]
fn threshold_of_the_day_is_told_once_with_the_call_that_reaches_it() {
    let (mut meter, record) = (Meter::default(), business(10));
    for seq in 1..=10 {
        assert_eq!(call(&mut meter, &record, seq, NOON).verdict, Verdict::Allow);
        meter = restarted(&meter);
        let told = deliver(&mut meter, NOON);
        let expected: &[u8] = match seq {
            5 => &[50],
            8 => &[80],
            10 => &[100],
            _ => &[],
        };
        assert_eq!(percents(&told), expected, "call {seq}");
        let is_new = |cause: &AlertCause| matches!(cause, AlertCause::QuotaThreshold { used, limit: 10, day, .. } if *used == seq && *day == NOON.day());
        assert!(told.iter().all(is_new), "{told:?}");
    }
    for seq in 11..=15 {
        call(&mut meter, &record, seq, MIDNIGHT.plus(u64::from(seq)));
    }
    assert_eq!(percents(&deliver(&mut meter, MIDNIGHT.plus(HOUR))), [50], "the next day begins anew");
}

#[test]
fn thresholds_of_units_are_told_once_a_day_and_once_a_month() {
    let units = UnitLimits { minute: None, day: NonZeroU32::new(100), month: NonZeroU32::new(200) };
    let calls = business(1_000);
    let record = KeyRecord { limits: LimitOverrides { units, ..calls.limits }, ..calls };
    let mut meter = Meter::default();
    let mut spend = |seq, units, now| {
        let request =
            MeterRequest { units, record: Some(record.clone()), version: 1, ..request(Tier::Free, 1, seq) };
        assert_eq!(send(&mut meter, &request, now).verdict, Verdict::Allow);
        meter = restarted(&meter);
        deliver(&mut meter, now)
    };
    let of_day = |now: UnixMillis, percent, used| {
        let (window, day, limit) = (Window::UnitsDay, now.day(), 100);
        AlertCause::QuotaThreshold { window, day, percent, used, limit }
    };
    let of_month = |now: UnixMillis, percent, used| {
        let (window, day, limit) = (Window::UnitsMonth, now.day().month().0, 200);
        AlertCause::QuotaThreshold { window, day, percent, used, limit }
    };
    assert_eq!(spend(1, 49, NOON), []);
    assert_eq!(spend(2, 1, NOON), [of_day(NOON, 50, 50)]);
    assert_eq!(spend(3, 50, NOON), [of_day(NOON, 80, 100), of_day(NOON, 100, 100), of_month(NOON, 50, 100)]);
    assert_eq!(spend(4, 50, MIDNIGHT), [of_day(MIDNIGHT, 50, 50)]);
    let (day, month) = (|percent| of_day(MIDNIGHT, percent, 100), |percent| of_month(MIDNIGHT, percent, 200));
    assert_eq!(spend(5, 50, MIDNIGHT), [day(80), day(100), month(80), month(100)]);
    let december = MIDNIGHT.plus(9 * DAY);
    let day = |percent| of_day(december, percent, 100);
    assert_eq!(spend(6, 100, december), [day(50), day(80), day(100), of_month(december, 50, 100)]);
}

#[test]
fn first_refusal_of_an_hour_is_told() {
    let (mut meter, record) = (Meter::default(), business(1));
    let mut told = Vec::new();
    for (seq, after) in [(1, 0), (2, 1), (3, 2), (4, HOUR), (5, HOUR + 1)] {
        call(&mut meter, &record, seq, NOON.plus(after));
        meter = restarted(&meter);
        told.extend(deliver(&mut meter, NOON.plus(after)));
    }
    let exceeded = AlertCause::QuotaExceeded { window: Window::Day };
    assert_eq!(told.iter().filter(|cause| **cause == exceeded).count(), 2, "{told:?}");
}

#[test]
fn alert_waits_with_its_state_and_is_dropped_after_a_day() {
    let (mut meter, record) = (Meter::default(), business(2));
    call(&mut meter, &record, 1, NOON);
    let meter = restarted(&meter);
    assert_eq!((meter.alerts().len(), meter.next_alert_at()), (1, Some(NOON)));
    let mut late = meter.clone();
    late.handle(Message::Alerts { delivered: Vec::new() }, NOON.plus(DAY - 1));
    assert_eq!(late.alerts(), meter.alerts());
    late.handle(Message::Alerts { delivered: Vec::new() }, NOON.plus(DAY));
    assert_eq!((late.alerts(), late.next_alert_at()), ([].as_slice(), None));
}

/// Returns the causes of the alerts that the shell lists.
fn listed(meter: &mut Meter) -> Vec<AlertCause> {
    meter.take_raised_alerts().into_iter().map(|alert| alert.cause).collect()
}

#[test]
fn key_whose_plan_has_no_webhooks_lists_its_alerts_once_and_has_no_outbox() {
    let at = NOON.plus(30 * DAY);
    let plan = BiolinkPlan::Standard;
    let record = KeyRecord { biolink_plan: plan, expires_at: Some(at), ..business(2) };
    let (mut meter, mut told) = (Meter::default(), Vec::new());
    for (seq, after) in [(1, 0), (2, 1), (3, 2), (4, 3)] {
        call(&mut meter, &record, seq, NOON.plus(after));
        assert_eq!((meter.alerts(), meter.next_alert_at()), ([].as_slice(), None));
        told.extend(listed(&mut meter));
        assert_eq!(listed(&mut meter), []);
        meter = restarted(&meter);
    }
    assert_eq!(percents(&told), [50, 80, 100]);
    assert_eq!(told[3..], [AlertCause::QuotaExceeded { window: Window::Day }]);
    let read = Message::ReadAlerts(MeterRequest { version: 1, ..request(Tier::Free, 2, 1) });
    for (before, days) in [(6 * DAY, 7), (HOUR, 1)] {
        assert!(
            meter.step(read.clone(), at.minus(before)).1,
            "with what the read lists, its state is stored"
        );
        assert_eq!(listed(&mut meter), [AlertCause::KeyExpiring { secret: None, expires_at: at, days }]);
        assert!(!meter.step(read.clone(), at.minus(before)).1);
    }
    assert_eq!((listed(&mut meter), meter.alerts()), (Vec::new(), [].as_slice()));
}

#[test]
fn key_without_alerts_stores_nothing_of_them() {
    let mut meter = Meter::default();
    call(&mut meter, &business(10), 1, NOON);
    assert_eq!(listed(&mut meter), []);
    assert!(!serde_json::to_string(&meter).unwrap().contains("alerts"));
}

#[test]
fn read_that_finds_no_alert_is_not_stored() {
    let (mut meter, record) = (Meter::default(), business(2));
    call(&mut meter, &record, 1, NOON);
    deliver(&mut meter, NOON);
    let read = Message::Read(MeterRequest { version: 1, ..request(Tier::Free, 2, 1) });
    for after in [1, DAY, 2 * DAY] {
        assert!(!meter.step(read.clone(), NOON.plus(after)).1);
    }
}

fn expiring(at: UnixMillis, seq: u32) -> Meter {
    let mut meter = Meter::default();
    call(&mut meter, &KeyRecord { expires_at: Some(at), ..business(100) }, seq, NOON);
    meter
}

#[test]
fn expiry_is_told_seven_days_and_one_day_before() {
    let at = NOON.plus(30 * DAY);
    let mut meter = expiring(at, 1);
    let cause = |days| AlertCause::KeyExpiring { secret: None, expires_at: at, days };
    for days in [7, 1] {
        let due = at.minus(u64::from(days) * DAY);
        assert_eq!(meter.next_alert_at(), Some(due));
        assert_eq!(deliver(&mut meter, due.minus(1)), []);
        assert_eq!(deliver(&mut meter, due), [cause(days)]);
        meter = restarted(&meter);
        assert_eq!(deliver(&mut meter, due.plus(1)), []);
    }
    assert_eq!(meter.next_alert_at(), None);
    assert_eq!(deliver(&mut expiring(at, 1), at.minus(HOUR)), [cause(1)], "the last one says it all");
    assert_eq!(deliver(&mut expiring(at, 1), at), [], "it has expired");
}

#[test]
fn expiry_that_was_near_from_the_beginning_is_not_told() {
    for (life, next) in [(HOUR, None), (DAY, None), (2 * DAY, Some(DAY)), (7 * DAY, Some(6 * DAY))] {
        let meter = expiring(NOON.plus(life), 1);
        assert_eq!(meter.next_alert_at(), next.map(|after| NOON.plus(after)), "{life}");
    }
}

#[test]
fn named_secret_that_expires_is_told_with_its_name() {
    let (id, at) = (SecretId::new([7; 8]), NOON.plus(10 * DAY));
    let secret = NamedSecret {
        id,
        name: "Build server".to_owned(),
        scopes: Scopes::ALL,
        hash: SecretHash::of(&[7; 16]),
        former: None,
        created_at: NOON,
        expires_at: Some(at),
        connection: None,
    };
    let record = KeyRecord { secrets: vec![secret], ..business(100) };
    let mut meter = Meter::default();
    call(&mut meter, &record, 1, NOON);
    let told = deliver(&mut meter, NOON.plus(3 * DAY));
    let secret = Some((id, "Build server".to_owned()));
    assert_eq!(told, [AlertCause::KeyExpiring { secret, expires_at: at, days: 7 }]);
    let mut disabled = Meter::default();
    call(&mut disabled, &KeyRecord { status: KeyStatus::Disabled, ..record }, 1, NOON);
    assert_eq!(disabled.next_alert_at(), None, "a key that is switched off has nothing to lose");
}

#[test]
fn id_of_an_alert_names_its_key_and_its_period() {
    let id = record(Tier::Free, 1).id;
    let alert = |at: u64, cause: &AlertCause| Alert { at: NOON.plus(at), cause: cause.clone() }.id(id);
    let reached =
        |window, percent| AlertCause::QuotaThreshold { window, day: NOON.day(), percent, used: 1, limit: 1 };
    let threshold = |percent| reached(Window::Day, percent);
    let each =
        [Window::Day, Window::UnitsDay, Window::UnitsMonth].map(|window| alert(0, &reached(window, 50)));
    assert_eq!(BTreeSet::from(each).len(), 3);
    assert_eq!(alert(0, &threshold(50)), alert(HOUR, &threshold(50)));
    assert_ne!(alert(0, &threshold(50)), alert(0, &threshold(80)));
    let [minute, day] = [Window::Minute, Window::Day].map(|window| AlertCause::QuotaExceeded { window });
    assert_eq!(alert(0, &minute), alert(HOUR - 1, &day), "one an hour, whatever was used up");
    assert_ne!(alert(0, &minute), alert(HOUR, &minute));
    assert!(alert(0, &minute).starts_with(&id.to_string()));
}

/// What happens to the alerts that wait after a step.
#[derive(Clone, Copy, Debug)]
enum Delivery {
    None,
    ReplyLost,
    Taken,
}

/// Something that happens to a meter.
#[derive(Clone, Debug)]
struct Step {
    passes_ms: u64,
    calls: u32,
    refunds: u32,
    debts: u32,
    repeats: bool,
    restarts: bool,
    delivery: Delivery,
}

fn step() -> impl Strategy<Value = Step> {
    let passes = prop_oneof![3 => 0u64..60_000, 2 => 0u64..HOUR, 1 => 0u64..3 * HOUR];
    let delivery = prop_oneof![Just(Delivery::None), Just(Delivery::ReplyLost), Just(Delivery::Taken)];
    (passes, 0u32..8, 0u32..3, 0u32..3, any::<bool>(), any::<bool>(), delivery).prop_map(
        |(passes_ms, calls, refunds, debts, repeats, restarts, delivery)| Step {
            passes_ms,
            calls,
            refunds,
            debts,
            repeats,
            restarts,
            delivery,
        },
    )
}

/// The webhooks of the account, which may hear of an alert several times.
#[derive(Default)]
struct Receiver {
    told: BTreeMap<String, Alert>,
    /// Those that the meter knows to be delivered.
    removed: BTreeSet<String>,
}

impl Receiver {
    fn hear(&mut self, meter: &mut Meter, delivery: Delivery, now: UnixMillis) {
        let waiting = meter.alerts().to_vec();
        let id = record(Tier::Free, 1).id;
        for alert in &waiting {
            assert!(!self.removed.contains(&alert.id(id)), "it was delivered before: {alert:?}");
            let known = self.told.insert(alert.id(id), alert.clone());
            assert!(known.is_none_or(|known| known == *alert), "another one has its id: {alert:?}");
        }
        match delivery {
            Delivery::None | Delivery::ReplyLost => {}
            Delivery::Taken => {
                self.removed.extend(waiting.iter().map(|alert| alert.id(id)));
                meter.handle(Message::Alerts { delivered: waiting }, now);
            }
        }
    }

    fn thresholds(&self) -> BTreeSet<(UtcDay, u8)> {
        let threshold = |alert: &Alert| match alert.cause {
            AlertCause::QuotaThreshold { day, percent, .. } => Some((day, percent)),
            AlertCause::QuotaExceeded { .. } | AlertCause::KeyExpiring { .. } => None,
        };
        self.told.values().filter_map(threshold).collect()
    }

    fn hours(&self) -> BTreeSet<u64> {
        let exceeded =
            self.told.values().filter(|alert| matches!(alert.cause, AlertCause::QuotaExceeded { .. }));
        exceeded.map(|alert| alert.at.hour()).collect()
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn every_alert_is_told_once_in_any_world(steps in vec(step(), 1..40), limit in 1u32..40) {
        let (mut meter, mut now, record) = (Meter::default(), NOON, business(limit));
        let (mut seq, mut number, mut receiver) = (0, 0, Receiver::default());
        let (mut reached, mut refused) = (BTreeSet::new(), BTreeSet::new());
        for step in steps {
            now = now.plus(step.passes_ms);
            number += 1;
            let ended = Batch { day: now.day(), debts: step.debts, since: now, ..batch(number, step.refunds) };
            let mut requests = vec![MeterRequest { want: false, batch: Some(ended), ..request(Tier::Free, 1, 0) }];
            requests.extend((0..step.calls).map(|_| {
                seq += 1;
                request(Tier::Free, 1, seq)
            }));
            if step.repeats {
                requests.extend(requests.clone());
            }
            for request in requests {
                let request = MeterRequest { record: Some(record.clone()), version: 1, ..request };
                let response = send(&mut meter, &request, now);
                // A repeated request gets the same refusal again, within the same moment.
                if matches!(response.verdict, Verdict::Deny(_)) {
                    refused.insert(now.hour());
                }
                let used = snapshot(&meter, Tier::Free, now).day_used;
                let parts = THRESHOLDS.into_iter().filter(|part| used * 100 >= limit * u32::from(*part));
                reached.extend(parts.map(|part| (now.day(), part)));
                if step.restarts {
                    meter = restarted(&meter);
                }
            }
            receiver.hear(&mut meter, step.delivery, now);
        }
        receiver.hear(&mut meter, Delivery::Taken, now);
        prop_assert_eq!(receiver.thresholds(), reached);
        prop_assert_eq!(receiver.hours(), refused);
    }
}
