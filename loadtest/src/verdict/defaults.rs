//! The checks of every run.

use std::collections::BTreeMap;

use super::measure::LagCause;
use super::{Check, Criteria, Evidence};
use crate::summary::{GroupKey, OutcomeKey};

const EXPECTED: &str = "every response is expected";
const SENT: &str = "all due calls are sent";

/// Evaluates the checks that need no condition.
pub(super) fn checks(criteria: &Criteria, evidence: &Evidence<'_>) -> Vec<Check> {
    let mut checks = vec![responses_are_expected(criteria, evidence)];
    checks.extend(LAGS.map(|lag| lag.check(criteria, evidence)));
    if evidence.summary.not_sent() > 0 {
        let found =
            format!("{} calls were not sent, because all connections were busy", evidence.summary.not_sent());
        checks.push(Check::new(SENT, false, found));
    }
    checks
}

/// Returns the first of these checks that fails whatever the outcomes of `remaining` more calls are.
pub(super) fn first_lost(criteria: &Criteria, evidence: &Evidence<'_>, remaining: u64) -> Option<String> {
    if !unexpected(criteria, evidence).is_empty() {
        return Some(EXPECTED.to_owned());
    }
    if evidence.summary.not_sent() > 0 {
        return Some(SENT.to_owned());
    }
    let is_lost = |lag: &&Lag| {
        let (low, _) = lag.cause.times(evidence.summary).percentile_bounds(99.0, remaining);
        low > limit_ms(criteria) && criteria.judges_times(evidence.summary.calls + remaining)
    };
    LAGS.iter().find(is_lost).map(|lag| lag.expectation(criteria))
}

/// Checks that there are calls, and that each has a status that the scenario expects.
///
/// If a condition is about errors or success, it decides on 5xx and failures in place of this
/// check. 401 and 404 are never covered by it, because they come from a wrong key or path.
fn responses_are_expected(criteria: &Criteria, evidence: &Evidence<'_>) -> Check {
    let unexpected = unexpected(criteria, evidence);
    let found = if evidence.summary.calls == 0 {
        "no calls".to_owned()
    } else if unexpected.is_empty() {
        let errors =
            evidence.summary.count(|key| is_error(key.outcome) && !is_tolerated(key, criteria, evidence));
        match errors {
            0 => format!("all {}", evidence.summary.calls),
            errors => format!(
                "{} of {}, and conditions judge the other {errors}",
                evidence.summary.calls - errors,
                evidence.summary.calls
            ),
        }
    } else {
        let list: Vec<String> =
            unexpected.iter().map(|(outcome, calls)| format!("{calls} × {}", outcome.label())).collect();
        format!("{} of {}: {}", unexpected.values().sum::<u64>(), evidence.summary.calls, list.join(", "))
    };
    let passed = evidence.summary.calls > 0 && unexpected.is_empty();
    Check::new(EXPECTED, passed, found)
}

/// Returns the calls with an unexpected outcome.
fn unexpected(criteria: &Criteria, evidence: &Evidence<'_>) -> BTreeMap<OutcomeKey, u64> {
    let judged_apart = criteria.conditions.iter().any(super::condition::Condition::is_about_errors);
    let is_expected = |key: &GroupKey| {
        let outcome = key.outcome;
        outcome.is_success() || (judged_apart && is_error(outcome)) || is_tolerated(key, criteria, evidence)
    };
    let mut unexpected: BTreeMap<OutcomeKey, u64> = BTreeMap::new();
    for (key, group) in evidence.summary.groups(|key| !is_expected(key)) {
        *unexpected.entry(key.outcome).or_default() += group.calls;
    }
    unexpected
}

/// Returns true if a condition on errors or success judges the outcome.
fn is_error(outcome: OutcomeKey) -> bool {
    outcome.failed_check().is_some() || outcome.status().is_none_or(|status| status >= 500)
}

fn is_tolerated(key: &GroupKey, criteria: &Criteria, evidence: &Evidence<'_>) -> bool {
    criteria.tolerances.iter().any(|tolerance| tolerance.covers(key, evidence))
}

/// A cause of send lag, which must be short.
struct Lag {
    cause: LagCause,
    check: &'static str,
    /// The reason and the cure.
    found: &'static str,
}

/// The causes of send lag. The first is the driver's own. The second one is the gateway's, unless
/// there are too few connections.
const LAGS: [Lag; 2] = [
    Lag {
        cause: LagCause::Wake,
        check: "the driver sends due calls",
        found: "latencies are driver-limited; lower the rate or use a quieter machine",
    },
    Lag {
        cause: LagCause::Connection,
        check: "calls find a free connection",
        found: "all connections were busy, because the gateway was slow or there are too few (--connections)",
    },
];

impl Lag {
    fn check(&self, criteria: &Criteria, evidence: &Evidence<'_>) -> Check {
        let [p99] = self.cause.times(evidence.summary).percentiles([99.0]);
        let passed = p99 <= limit_ms(criteria);
        let found = format!("p99 {p99:.3} ms");
        let found = if passed { found } else { format!("{found}: {}", self.found) };
        let is_judged = criteria.judges_times(evidence.summary.calls);
        Check::of_times(self.expectation(criteria), passed, found, is_judged)
    }

    fn expectation(&self, criteria: &Criteria) -> String {
        format!("{} within {} ms (p99)", self.check, limit_ms(criteria))
    }
}

fn limit_ms(criteria: &Criteria) -> f64 {
    criteria.max_send_lag.as_secs_f64() * 1000.0
}
