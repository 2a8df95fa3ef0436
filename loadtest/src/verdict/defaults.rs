//! The checks of every run.

use std::collections::BTreeMap;

use super::{Check, Criteria, Evidence};
use crate::summary::{GroupKey, OutcomeKey};

/// Evaluates the checks that need no condition.
pub(super) fn checks(criteria: &Criteria, evidence: &Evidence<'_>) -> Vec<Check> {
    let mut checks = vec![responses_are_expected(criteria, evidence), driver_is_on_time(criteria, evidence)];
    if evidence.summary.not_sent() > 0 {
        let found =
            format!("{} calls were not sent, because all connections were busy", evidence.summary.not_sent());
        checks.push(Check { check: "all due calls are sent".to_owned(), passed: false, found });
    }
    checks
}

/// Checks that there are calls, and that each has a status that the scenario expects.
///
/// If a condition is about errors or success, it decides on 5xx and failures in place of this
/// check. 401 and 404 are never covered by it, because they come from a wrong key or path.
fn responses_are_expected(criteria: &Criteria, evidence: &Evidence<'_>) -> Check {
    let judged_apart = criteria.conditions.iter().any(super::Condition::is_about_errors);
    let is_expected = |key: &GroupKey| {
        let outcome = key.outcome;
        outcome.is_success()
            || (judged_apart && outcome.status().is_none_or(|status| status >= 500))
            || criteria.tolerances.iter().any(|tolerance| tolerance.covers(key, evidence))
    };
    let mut unexpected: BTreeMap<OutcomeKey, u64> = BTreeMap::new();
    for (key, group) in evidence.summary.groups(|key| !is_expected(key)) {
        *unexpected.entry(key.outcome).or_default() += group.calls;
    }
    let found = if evidence.summary.calls == 0 {
        "no calls".to_owned()
    } else if unexpected.is_empty() {
        format!("all {}", evidence.summary.calls)
    } else {
        let list: Vec<String> =
            unexpected.iter().map(|(outcome, calls)| format!("{calls} × {}", label(*outcome))).collect();
        format!("{} of {}: {}", unexpected.values().sum::<u64>(), evidence.summary.calls, list.join(", "))
    };
    let passed = evidence.summary.calls > 0 && unexpected.is_empty();
    Check { check: "every response is expected".to_owned(), passed, found }
}

/// Checks that calls were sent when they were due. Otherwise the latencies are those of the driver.
fn driver_is_on_time(criteria: &Criteria, evidence: &Evidence<'_>) -> Check {
    let limit = criteria.max_send_lag.as_secs_f64() * 1000.0;
    let [p99] = evidence.summary.send_lag.percentiles([99.0]);
    let passed = p99 <= limit;
    let found = if passed {
        format!("p99 {p99:.3} ms")
    } else {
        format!(
            "p99 {p99:.3} ms: latencies are driver-limited; add connections, lower the rate or use a quieter machine"
        )
    };
    Check { check: format!("calls are sent within {limit} ms of their due time (p99)"), passed, found }
}

/// Returns the status and the code, or the failure.
pub(super) fn label(outcome: OutcomeKey) -> String {
    let status = outcome.status().map(|status| status.to_string());
    [status, outcome.code()].into_iter().flatten().collect::<Vec<_>>().join(" ")
}
