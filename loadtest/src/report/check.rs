//! The checks of each scenario, evaluated from the log alone.

use std::time::Duration;

use serde::Serialize;

use super::group::CallGroup;
use crate::driver::{CallOutcome, CallRecord, RunLog};
use crate::scenario::{Outage, Scenario, ScenarioEvent};

/// A check and its result.
#[derive(Debug, Serialize)]
pub struct Check {
    /// The expected behavior.
    pub check: &'static str,
    /// Whether the check passed.
    pub passed: bool,
    /// The observed behavior.
    pub found: String,
}

/// The maximum time until a restarted tool serves calls again (design section 3).
const MAX_RECOVERY: Duration = Duration::from_secs(10);
const MINUTE: Duration = Duration::from_secs(60);

/// Evaluates the checks of a scenario. Returns a failed check if the scenario's event did not
/// happen.
pub(super) fn evaluate(scenario: Scenario, event: &ScenarioEvent, log: &RunLog) -> Vec<Check> {
    match (scenario, event) {
        (Scenario::Steady | Scenario::Burst, _) => vec![all_completed(log), no_server_errors(log)],
        (Scenario::OverLimit, _) => {
            vec![all_success_or_429(log), retry_after_on_429(log), some_429(log), minute_limit_kept(log)]
        }
        (Scenario::ToolDies, ScenarioEvent::Outage(outage)) => {
            vec![
                stopped_tool_is_503(log, event),
                other_tool_succeeds(log, event),
                recovers(log, event, outage),
            ]
        }
        (Scenario::KeyRotation, ScenarioEvent::Rotation { .. }) => {
            vec![all_success_or_429(log), both_keys_succeed(log, event), minute_limit_kept(log)]
        }
        (Scenario::ToolDies | Scenario::KeyRotation, _) => {
            let found = "the run ended before the event".to_owned();
            vec![Check { check: "the scenario's event happens", passed: false, found }]
        }
    }
}

/// Returns the status of the response, or `None` if the call failed.
const fn status(record: &CallRecord) -> Option<u16> {
    match record.outcome {
        CallOutcome::Completed { status, .. } => Some(status),
        CallOutcome::Failed(_) => None,
    }
}

/// Returns a check that passes if there are calls and all of them are as expected.
fn check_each<'a>(
    check: &'static str,
    calls: impl Iterator<Item = &'a CallRecord>,
    is_expected: impl Fn(&CallRecord) -> bool,
) -> Check {
    let (mut total, mut unexpected) = (0_usize, 0_usize);
    for record in calls {
        total += 1;
        unexpected += usize::from(!is_expected(record));
    }
    let found =
        if total == 0 { "no calls to check".to_owned() } else { format!("{unexpected} of {total} do not") };
    Check { check, passed: total > 0 && unexpected == 0, found }
}

fn all_completed(log: &RunLog) -> Check {
    check_each("all calls get a complete response", log.records.iter(), |record| status(record).is_some())
}

fn no_server_errors(log: &RunLog) -> Check {
    let completed = log.records.iter().filter(|record| status(record).is_some());
    check_each("all responses have a status below 500", completed, |record| {
        status(record).is_some_and(|status| status < 500)
    })
}

fn all_success_or_429(log: &RunLog) -> Check {
    check_each("all calls get 2xx or 429", log.records.iter(), |record| {
        record.is_success() || status(record) == Some(429)
    })
}

fn retry_after_on_429(log: &RunLog) -> Check {
    let refused = log.records.iter().filter(|record| status(record) == Some(429));
    check_each("all 429 responses have Retry-After", refused, |record| {
        matches!(record.outcome, CallOutcome::Completed { retry_after: true, .. })
    })
}

fn some_429(log: &RunLog) -> Check {
    let refused = log.records.iter().filter(|record| status(record) == Some(429)).count();
    Check {
        check: "the load exceeds the limit",
        passed: refused > 0,
        found: format!("{refused} calls got 429"),
    }
}

/// Checks that no window of 60 seconds contains more successful calls than the limit.
///
/// A window is sure to contain the calls that were sent and completed within it, because the
/// gateway counted them in between. The number found is therefore never higher than what the
/// gateway admitted.
fn minute_limit_kept(log: &RunLog) -> Check {
    let admitted = log.records.iter().filter(|record| record.is_success());
    let (mut sent, mut done): (Vec<Duration>, Vec<Duration>) =
        admitted.map(|record| (record.sent, record.done)).unzip();
    sent.sort_unstable();
    done.sort_unstable();
    let windows = sent.iter().enumerate().map(|(earlier, &from)| {
        done.partition_point(|&moment| moment < from + MINUTE).saturating_sub(earlier)
    });
    let maximum = windows.max().unwrap_or(0);
    let limit = log.minute_quota.and_then(|quota| usize::try_from(quota).ok());
    let found = match limit {
        Some(limit) => format!("at most {maximum} in 60 s, limit {limit}"),
        None => format!("at most {maximum} in 60 s, but no response announced a limit"),
    };
    let check = "no 60 seconds contain more calls than the limit of the key";
    Check { check, passed: limit.is_some_and(|limit| maximum <= limit), found }
}

/// Returns the calls of a group, without those that got 429.
fn group<'a>(
    log: &'a RunLog,
    event: &'a ScenarioEvent,
    group: CallGroup,
) -> impl Iterator<Item = &'a CallRecord> {
    let records = log.records.iter();
    records.filter(move |record| CallGroup::of(record, event) == group && status(record) != Some(429))
}

fn stopped_tool_is_503(log: &RunLog, event: &ScenarioEvent) -> Check {
    let calls = group(log, event, CallGroup::Stopped);
    check_each("all calls of the stopped tool get 503", calls, |record| status(record) == Some(503))
}

fn other_tool_succeeds(log: &RunLog, event: &ScenarioEvent) -> Check {
    let calls = group(log, event, CallGroup::OtherTool);
    check_each("all calls of another tool get 2xx", calls, CallRecord::is_success)
}

fn both_keys_succeed(log: &RunLog, event: &ScenarioEvent) -> Check {
    let successes = |calls| group(log, event, calls).filter(|record| record.is_success()).count();
    let (old, new) = (successes(CallGroup::OldKeyInGrace), successes(CallGroup::NewKey));
    let found = format!("{old} calls succeeded with the old key, {new} with the new one");
    Check { check: "after the rotation both keys are valid", passed: old > 0 && new > 0, found }
}

/// Checks the recovery time: until the last failure after the restart, or until the first success
/// if that is later.
fn recovers(log: &RunLog, event: &ScenarioEvent, outage: &Outage) -> Check {
    let restarted = || group(log, event, CallGroup::Restarted);
    let first_success = restarted().filter(|record| record.is_success()).map(|record| record.done).min();
    let last_failure = restarted().filter(|record| !record.is_success()).map(|record| record.sent).max();
    let recovered = first_success.max(last_failure).unwrap_or_default();
    let recovery = recovered.saturating_sub(outage.started);
    let found = match first_success {
        Some(_) => format!("{:.1} s", recovery.as_secs_f64()),
        None => "no call succeeded after the restart".to_owned(),
    };
    let check = "a restarted tool serves calls within 10 s";
    Check { check, passed: first_success.is_some() && recovery <= MAX_RECOVERY, found }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::driver::CallKind;

    fn record(kind: CallKind, at_ms: u64, status: u16) -> CallRecord {
        let sent = Duration::from_millis(at_ms);
        let outcome = CallOutcome::Completed { status, code: None, retry_after: status == 429, bytes: 0 };
        CallRecord { kind, due: sent, sent, done: sent + Duration::from_millis(1), outcome }
    }

    fn log(calls: impl IntoIterator<Item = (u64, u16)>) -> RunLog {
        let records =
            calls.into_iter().map(|(at_ms, status)| record(CallKind::Main, at_ms, status)).collect();
        RunLog { records, minute_quota: Some(10) }
    }

    fn passed(scenario: Scenario, event: &ScenarioEvent, log: &RunLog) -> Vec<bool> {
        evaluate(scenario, event, log).iter().map(|check| check.passed).collect()
    }

    #[test]
    fn one_call_over_limit_in_60_seconds_fails() {
        let ten_in_a_minute = (0..10).map(|n| (n * 6000, 200));
        // The eleventh call is in the 60th second after the first, then in the 61st.
        assert!(!minute_limit_kept(&log(ten_in_a_minute.clone().chain([(59_900, 200)]))).passed);
        assert!(minute_limit_kept(&log(ten_in_a_minute.clone().chain([(60_100, 200)]))).passed);
        assert!(minute_limit_kept(&log(ten_in_a_minute.chain([(59_900, 429)]))).passed);
    }

    #[test]
    fn call_completed_after_60_seconds_is_not_counted() {
        let mut log = log((0..11).map(|n| (n, 200)));
        log.records[10].done = Duration::from_millis(60_500);
        assert!(minute_limit_kept(&log).passed);
    }

    #[test]
    fn unannounced_limit_fails() {
        let unknown = RunLog { minute_quota: None, ..log([(0, 200)]) };
        assert!(!minute_limit_kept(&unknown).passed);
    }

    #[test]
    fn over_limit_fails_without_429_or_with_5xx() {
        let load = |refused: u64| log((0..10).map(|n| (n, 200)).chain((0..refused).map(|n| (10 + n, 429))));
        assert_eq!(passed(Scenario::OverLimit, &ScenarioEvent::None, &load(3)), [true; 4]);
        assert_eq!(passed(Scenario::OverLimit, &ScenarioEvent::None, &load(0)), [true, false, false, true]);
        let mut broken = load(3);
        broken.records.push(record(CallKind::Main, 50, 503));
        assert_eq!(passed(Scenario::OverLimit, &ScenarioEvent::None, &broken), [false, true, true, true]);
    }

    const OUTAGE: ScenarioEvent = ScenarioEvent::Outage(Outage {
        stopping: Duration::from_millis(1000),
        stopped: Duration::from_millis(1010),
        starting: Duration::from_millis(2000),
        started: Duration::from_millis(2010),
    });

    fn outage_log(calls: &[(u64, u16)], other: u16) -> RunLog {
        let mut log = log(calls.iter().copied());
        log.records.push(record(CallKind::OtherTool, 1500, other));
        log
    }

    #[test]
    fn outage_passes_if_only_stopped_tool_gets_503() {
        let good = [(500, 200), (1005, 200), (1500, 503), (2005, 503), (3000, 503), (5000, 200)];
        assert_eq!(passed(Scenario::ToolDies, &OUTAGE, &outage_log(&good, 200)), [true; 3]);
        assert_eq!(passed(Scenario::ToolDies, &OUTAGE, &outage_log(&good, 503)), [true, false, true]);
        let served_while_stopped = [(1500, 200), (5000, 200)];
        assert_eq!(
            passed(Scenario::ToolDies, &OUTAGE, &outage_log(&served_while_stopped, 200)),
            [false, true, true]
        );
    }

    #[test]
    fn recovery_ends_at_last_failure() {
        let flapping = [(1500, 503), (3000, 200), (13_000, 503), (13_001, 200)];
        assert!(!recovers_in_time(&flapping));
        assert!(!recovers_in_time(&[(1500, 503), (2500, 503)]));
        assert!(recovers_in_time(&[(1500, 503), (2500, 200)]));
    }

    fn recovers_in_time(calls: &[(u64, u16)]) -> bool {
        passed(Scenario::ToolDies, &OUTAGE, &outage_log(calls, 200))[2]
    }

    #[test]
    fn scenario_without_its_event_fails() {
        for scenario in [Scenario::ToolDies, Scenario::KeyRotation] {
            assert_eq!(passed(scenario, &ScenarioEvent::None, &log([(0, 200)])), [false]);
        }
    }
}
