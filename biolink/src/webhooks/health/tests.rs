use shared::json;

use super::*;

const HOUR: u64 = 3_600_000;
const DAY: u64 = 24 * HOUR;
const START: UnixMillis = UnixMillis(1_000 * DAY);

fn failed(moments: &[u64]) -> Health {
    let mut health = Health::default();
    for at in moments {
        assert_eq!(health.record_failure(START.plus(*at)), None);
    }
    health
}

#[test]
fn circuit_opens_after_five_failures_in_a_row() {
    let mut health = failed(&[0, 1, 2, 3]);
    assert!(!health.is_open() && health.may_attempt(START, 5) && !health.may_attempt(START, 6));
    health.record_failure(START.plus(4));
    let probe = START.plus(4 + FIRST_PROBE_MS);
    assert_eq!(health.next_probe(), Some(probe));
    assert!(!health.may_attempt(probe.minus(1), 0));
    assert!(health.may_attempt(probe, 0) && !health.may_attempt(probe, 1));
    let mut other = failed(&[0, 1, 2, 3]);
    assert_eq!(other.record_success(START), Recovery::None);
    other.record_failure(START.plus(4));
    assert!(!other.is_open());
}

#[test]
fn pause_between_probes_doubles_up_to_half_an_hour() {
    let mut health = failed(&[0, 0, 0, 0, 0]);
    // Attempts that began before the circuit opened are no probes.
    health.record_failure(START.plus(1));
    let mut pauses = Vec::new();
    let mut at = START;
    for _ in 0..7 {
        let probe = health.next_probe().unwrap();
        pauses.push(probe.since(at) / 60_000);
        at = probe;
        health.record_failure(at);
    }
    assert_eq!(pauses, [1, 2, 4, 8, 16, 30, 30]);
}

#[test]
fn success_closes_the_circuit() {
    let mut health = failed(&[0, 0, 0, 0, 0]);
    assert_eq!(health.record_success(START.plus(9)), Recovery::Recovered);
    assert_eq!(health, Health { last_success_at: Some(START.plus(9)), ..Health::default() });
    assert!(health.may_attempt(START, 0));
    assert_eq!(health.record_success(START.plus(10)), Recovery::None);
}

#[test]
fn endpoint_that_fails_for_five_days_is_disabled() {
    let mut health = failed(&[0, 13 * HOUR, 5 * DAY - 1]);
    assert_eq!(health.record_failure(START.plus(5 * DAY)), Some(DisabledReason::Failing));
    assert_eq!(health.disabled.map(|disabled| disabled.at), Some(START.plus(5 * DAY)));
    assert!(!health.may_attempt(START.plus(6 * DAY), 0));
    assert_eq!(health.record_failure(START.plus(6 * DAY)), None, "once");
    health.reset();
    assert!(health.may_attempt(START.plus(6 * DAY), 0) && health.failing_since.is_none());
}

#[test]
fn failures_less_than_12_hours_apart_do_not_disable() {
    let mut health = failed(&[0, 11 * HOUR]);
    assert_eq!(health.record_failure(START.plus(6 * DAY)), None);
    assert_eq!(health.record_failure(START.plus(6 * DAY)), Some(DisabledReason::Failing));
    // A success starts the five days anew.
    let mut health = failed(&[0, 13 * HOUR]);
    health.record_success(START.plus(DAY));
    assert_eq!(health.record_failure(START.plus(5 * DAY)), None);
}

#[test]
fn gone_endpoint_is_disabled_at_once() {
    let mut health = Health::default();
    health.record_gone(START);
    let disabled = Disabled { reason: DisabledReason::Gone, at: START };
    assert_eq!((health.disabled, health.may_attempt(START, 0)), (Some(disabled), false));
    // An attempt that was in flight may end well.
    health.record_success(START.plus(1));
    assert_eq!(health.disabled, Some(disabled));
}

#[test]
fn owner_is_warned_at_50_70_90_and_100_percent() {
    let health = failed(&[0]);
    let percent = BUDGET_MS / 100;
    let cases = [
        (0, 0, None),
        (50 * percent - 1, 49, None),
        (50 * percent, 50, Some(50)),
        (70 * percent, 70, Some(70)),
        (90 * percent, 90, Some(90)),
        (9 * DAY, 100, Some(100)),
    ];
    for (at, used, warning) in cases {
        let now = START.plus(at);
        assert_eq!((health.budget_percent(now), health.warning(now)), (used, warning), "{at}");
    }
    assert_eq!(health.disabled_from(), Some(START.plus(5 * DAY)));
    assert_eq!(Health::default().warning(START), None);
}

#[test]
fn health_is_read_as_it_was_stored() {
    let mut health = failed(&[0, 1, 2, 3, 4]);
    health.record_gone(START.plus(5));
    let text = serde_json::to_string(&health).unwrap();
    assert_eq!(json::from_str(&text), Ok(health));
    assert_eq!(json::from_str("{}"), Ok(Health::default()));
}
