//! The verdict of a run: conditions that must hold, and conditions that must not.

mod bounds;
mod condition;
mod defaults;
mod error;
mod filter;
mod measure;
mod parse;
mod tolerance;

use std::time::Duration;

use serde::{Deserialize, Serialize};

pub(crate) use condition::{Condition, Purpose};
pub(crate) use error::ConditionError;
pub(crate) use tolerance::Tolerance;

use crate::books::Books;
use crate::costs::Costs;
use crate::summary::Summary;
use crate::timeline::Timeline;

/// A check and its result.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Check {
    /// The expected behavior.
    pub(crate) check: String,
    /// True if the check passed.
    pub(crate) passed: bool,
    /// The observed behavior.
    pub(crate) found: String,
    /// True if it would have failed, and the run has too little to judge by.
    #[serde(default)]
    pub(crate) is_warning: bool,
}

impl Check {
    /// Returns a check that passed or failed.
    pub(crate) fn new(check: impl Into<String>, passed: bool, found: impl Into<String>) -> Self {
        Self { check: check.into(), passed, found: found.into(), is_warning: false }
    }

    /// Returns a check of times: if it failed and is not judged, it is a warning.
    pub(crate) fn of_times(check: impl Into<String>, passed: bool, found: String, is_judged: bool) -> Self {
        if passed || is_judged {
            return Self::new(check, passed, found);
        }
        let found = format!(
            "{found}; a warning only, because no condition is about times and fewer than {MIN_CALLS} calls were made"
        );
        Self { is_warning: true, ..Self::new(check, true, found) }
    }

    /// Returns the result in a word.
    pub(crate) const fn result(&self) -> &'static str {
        match (self.passed, self.is_warning) {
            (true, false) => "passed",
            (true, true) => "warning",
            (false, _) => "failed",
        }
    }
}

/// The fewest calls whose lags are judged if no condition is about times. The 99th percentile of fewer is
/// their maximum, and one late call says nothing about a machine.
const MIN_CALLS: u64 = 100;

/// The criteria of a run.
#[derive(Clone, Debug, Default)]
pub(crate) struct Criteria {
    /// Conditions of the scenario and of the command line.
    pub(crate) conditions: Vec<Condition>,
    /// Responses other than 2xx and 3xx that are expected.
    pub(crate) tolerances: Vec<Tolerance>,
    /// The maximum of the 99th percentile of send lags.
    pub(crate) max_send_lag: Duration,
    /// True if it is judged however few calls there are, because the command line gives it.
    pub(crate) judges_send_lag: bool,
}

/// The criteria of a run as text.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct CriteriaText {
    pub(crate) expect: Vec<String>,
    pub(crate) fail_if: Vec<String>,
    pub(crate) allow: Vec<String>,
    pub(crate) max_send_lag_ms: f64,
    #[serde(default)]
    pub(crate) judges_send_lag: bool,
}

impl CriteriaText {
    /// Parses the texts.
    ///
    /// # Errors
    /// Returns an error that names the text and what was expected.
    pub(crate) fn parse(&self) -> Result<Criteria, ConditionError> {
        let expect = self.expect.iter().map(|text| Condition::parse(Purpose::Expect, text));
        let fail_if = self.fail_if.iter().map(|text| Condition::parse(Purpose::FailIf, text));
        Ok(Criteria {
            conditions: expect.chain(fail_if).collect::<Result<_, _>>()?,
            tolerances: self.allow.iter().map(|text| Tolerance::parse(text)).collect::<Result<_, _>>()?,
            max_send_lag: Duration::from_secs_f64(self.max_send_lag_ms / 1000.0),
            judges_send_lag: self.judges_send_lag,
        })
    }
}

impl Criteria {
    /// Returns true if lags of the driver and of simulated tools decide on a run of this many calls.
    pub(crate) fn judges_times(&self, calls: u64) -> bool {
        self.judges_send_lag || calls >= MIN_CALLS || self.conditions.iter().any(Condition::is_about_times)
    }

    /// Returns true if calls of a request may be refused because of the limit of their key.
    pub(crate) fn allows_limit(&self, request: &str) -> bool {
        self.tolerances.iter().any(|tolerance| tolerance.allows_limit(request))
    }

    /// Checks that all requests and phases exist.
    ///
    /// # Errors
    /// Returns an error that lists the known ones.
    pub(crate) fn validate(&self, requests: &[String], phases: &[String]) -> Result<(), ConditionError> {
        self.conditions.iter().try_for_each(|condition| condition.validate(requests, phases))?;
        self.tolerances.iter().try_for_each(|tolerance| tolerance.validate(requests, phases))
    }
}

/// The facts that a run is judged on.
pub(crate) struct Evidence<'a> {
    pub(crate) summary: &'a Summary,
    pub(crate) timeline: &'a Timeline,
    /// The names of the requests.
    pub(crate) requests: &'a [String],
    /// The time during which calls became due.
    pub(crate) duration: Duration,
    pub(crate) books: Option<&'a Books>,
    pub(crate) costs: Option<&'a Costs>,
}

/// Evaluates all checks.
pub(crate) fn judge(criteria: &Criteria, evidence: &Evidence<'_>) -> Vec<Check> {
    let conditions = criteria.conditions.iter().map(|condition| condition.evaluate(evidence));
    defaults::checks(criteria, evidence).into_iter().chain(conditions).collect()
}

/// Returns the first check that fails whatever the outcomes of `remaining` more calls are, or `None`
/// if all of them can still pass. Needs the groups and lags of a summary only.
pub(crate) fn first_lost(criteria: &Criteria, evidence: &Evidence<'_>, remaining: u64) -> Option<String> {
    let lost = |condition: &&Condition| condition.is_lost(evidence, remaining);
    let condition = || criteria.conditions.iter().find(lost).map(Condition::expectation);
    defaults::first_lost(criteria, evidence, remaining).or_else(condition)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::record::{CallError, CallOutcome, CallRecord};
    use crate::summary::tests::{call, status, summary};
    use crate::timeline::Mark;

    fn check_all(criteria: &Criteria, records: impl IntoIterator<Item = CallRecord>) -> Vec<Check> {
        let at = Duration::from_secs(10);
        let timeline = Timeline { marks: vec![Mark { phase: "stopped".to_owned(), at, settled: at }] };
        let summary = summary(records, &timeline);
        let requests = ["main".to_owned(), "other".to_owned()];
        let duration = Duration::from_secs(20);
        judge(
            criteria,
            &Evidence {
                summary: &summary,
                timeline: &timeline,
                requests: &requests,
                duration,
                books: None,
                costs: None,
            },
        )
    }

    fn holds(purpose: Purpose, text: &str, records: impl IntoIterator<Item = CallRecord>) -> bool {
        let conditions = vec![Condition::parse(purpose, text).unwrap()];
        let max_send_lag = Duration::from_millis(1);
        let criteria = Criteria { conditions, max_send_lag, ..Criteria::default() };
        let checks = check_all(&criteria, records);
        checks.last().unwrap().passed
    }

    fn expected(text: &str, records: &[CallRecord]) -> bool {
        holds(Purpose::Expect, text, records.iter().copied())
    }

    /// 998 calls of 1 ms with 200, one of 100 ms with 429, one that timed out.
    fn thousand() -> Vec<CallRecord> {
        let mut records: Vec<_> = (0..998).map(|n| call(n, status(200))).collect();
        let mut slow = call(998, status(429));
        slow.done = slow.sent + Duration::from_millis(100);
        records.push(slow);
        records.push(call(999, CallOutcome::Failed(CallError::TimedOut)));
        records
    }

    #[test]
    fn conditions_on_counts_and_shares() {
        let records = thousand();
        for text in [
            "success>=99.8%",
            "success = 998",
            "errors=1",
            "errors <= 0.1 %",
            "status(429)=1",
            "status(4xx) = 1",
            "status(503)=0",
            "calls=1000",
            "failed(timed out)=1",
            "rate >= 49/s",
            "calls of other = 0",
        ] {
            assert!(expected(text, &records), "{text}");
        }
        for text in
            ["success>=99.9%", "errors=0", "status(429)=0", "calls!=1000", "rate>50/s", "admitted=exact"]
        {
            assert!(!expected(text, &records), "{text}");
        }
    }

    #[test]
    fn conditions_on_latencies() {
        let records = thousand();
        for text in [
            "p50<=1ms",
            "p99.9<=1ms",
            "max=100ms",
            "p99.99 < 0.2s",
            "p99(200)<2ms",
            "p50(429)=100ms",
            "lag.p99<1ms",
        ] {
            assert!(expected(text, &records), "{text}");
        }
        for text in ["p99.95<=50ms", "max<100ms", "p50 of other<1s"] {
            assert!(!expected(text, &records), "{text}");
        }
    }

    #[test]
    fn fail_if_is_the_opposite_of_expect() {
        let records = || thousand().into_iter();
        assert!(holds(Purpose::FailIf, "p50>50ms", records()));
        assert!(!holds(Purpose::FailIf, "max>50ms", records()));
        // A latency without calls says nothing, so neither passes.
        assert!(!holds(Purpose::FailIf, "p99 of other>1ms", records()));
    }

    #[test]
    fn conditions_on_phases() {
        let records = [call(5000, status(200)), call(12_000, status(503)), call(13_000, status(200))];
        assert!(expected("status(503) in stopped = 50%", &records));
        assert!(expected("success in before = 100%", &records));
        assert!(expected("recovery in stopped <= 3.5s", &records));
        assert!(!expected("recovery in stopped < 3s", &records));
    }

    fn default_passes(records: Vec<CallRecord>, allow: &[&str]) -> Vec<String> {
        let tolerances = allow.iter().map(|text| Tolerance::parse(text).unwrap()).collect();
        let max_send_lag = Duration::from_millis(1);
        let criteria = Criteria { tolerances, max_send_lag, judges_send_lag: true, ..Criteria::default() };
        let failed = check_all(&criteria, records).into_iter().filter(|check| !check.passed);
        failed.map(|check| check.found).collect()
    }

    #[test]
    fn unexpected_responses_fail_by_default() {
        let calls = |codes: &[u16]| codes.iter().map(|&code| call(0, status(code))).collect::<Vec<_>>();
        assert_eq!(default_passes(calls(&[200, 304]), &[]), [""; 0]);
        for code in [401, 404, 429, 503] {
            assert_eq!(default_passes(calls(&[200, code]), &[]).len(), 1, "{code}");
        }
        assert_eq!(default_passes(calls(&[200, 429, 503]), &["429", "5xx"]), [""; 0]);
        assert_eq!(default_passes(calls(&[200, 429]), &["429 quota-exceeded"]).len(), 1);
        // A class never covers a wrong key or path.
        assert_eq!(default_passes(calls(&[200, 404]), &["4xx"]).len(), 1);
        let failed = vec![call(0, CallOutcome::Failed(CallError::NoResponse)), call(0, status(200))];
        assert_eq!(default_passes(failed.clone(), &[]).len(), 1);
        assert_eq!(default_passes(failed, &["failed"]), [""; 0]);
    }

    #[test]
    fn tolerance_holds_in_its_phase_and_while_it_begins() {
        let mut in_flight = call(9_999, status(503));
        in_flight.done = Duration::from_millis(10_500);
        let during = vec![call(0, status(200)), in_flight, call(12_000, status(503))];
        assert_eq!(default_passes(during.clone(), &["503 in stopped"]), [""; 0]);
        assert_eq!(default_passes(during, &["503 in before"]).len(), 1);
        assert_eq!(default_passes(vec![call(9000, status(503))], &["503 in stopped"]).len(), 1);
    }

    fn lost(purpose: Purpose, text: &str, records: &[CallRecord], remaining: u64) -> bool {
        let conditions = vec![Condition::parse(purpose, text).unwrap()];
        let tolerances = ["429", "failed"].map(|text| Tolerance::parse(text).unwrap()).to_vec();
        let max_send_lag = Duration::from_millis(1);
        let criteria = Criteria { conditions, tolerances, max_send_lag, judges_send_lag: true };
        let timeline = Timeline::default();
        let summary = summary(records.iter().copied(), &timeline);
        let requests = ["main".to_owned()];
        let duration = Duration::from_secs(20);
        let (summary, timeline, requests) = (&summary, &timeline, &requests);
        let evidence = Evidence { summary, timeline, requests, duration, books: None, costs: None };
        first_lost(&criteria, &evidence, remaining).is_some()
    }

    /// A condition is lost if, and only if, no outcome of the remaining calls can make it hold.
    #[test]
    fn condition_is_lost_if_no_outcome_can_make_it_hold() {
        use Purpose::{Expect, FailIf};
        let records = thousand();
        for (purpose, text, remaining) in [
            (Expect, "status(429)=0", 1000),
            (Expect, "success>=99.9%", 999),
            (Expect, "max<=50ms", 1_000_000),
            (Expect, "p99.95<=50ms", 10),
            (Expect, "calls<1000", 5),
            (FailIf, "p99.95>50ms", 10),
            (FailIf, "failed>0", 9),
            (FailIf, "max>50ms", 9),
        ] {
            assert!(lost(purpose, text, &records, remaining), "{text}");
        }
        for (purpose, text, remaining) in [
            (Expect, "success>=99.9%", 1000),
            (Expect, "p99.95<=50ms", 1000),
            (Expect, "failed<=0.1%", 0),
            (Expect, "p50>=2ms", 1000),
            (Expect, "calls=1500", 500),
            (Expect, "status(429)>5", 5),
            (Expect, "rate>=1000/s", 0),
            (Expect, "admitted=exact", 0),
            (FailIf, "p99.95>50ms", 1000),
            (FailIf, "status(503)>0", 9),
        ] {
            assert!(!lost(purpose, text, &records, remaining), "{text}");
        }
    }

    #[test]
    fn unexpected_response_or_late_driver_is_lost() {
        let records = [call(0, status(503))];
        assert!(lost(Purpose::Expect, "calls>0", &records, 1_000_000));
        let mut late = call(0, status(200));
        late.sent += Duration::from_millis(5);
        assert!(lost(Purpose::Expect, "calls>0", &[late], 9));
        assert!(!lost(Purpose::Expect, "calls>0", &[late], 1000));
    }

    /// The 99th percentile of a few calls is the worst of them, which a busy machine makes late.
    #[test]
    fn late_driver_is_a_warning_in_a_short_run_without_times() {
        let late = |calls: u64, expect: &[&str]| {
            let conditions = expect.iter().map(|text| Condition::parse(Purpose::Expect, text).unwrap());
            let max_send_lag = Duration::from_millis(1);
            let criteria = Criteria { conditions: conditions.collect(), max_send_lag, ..Criteria::default() };
            let mut record = call(0, status(200));
            record.sent += Duration::from_millis(5);
            record.done += Duration::from_millis(5);
            let checks = check_all(&criteria, (0..calls).map(|_| record));
            let driver = checks.iter().find(|check| check.check.contains("the driver sends")).unwrap();
            driver.result()
        };
        assert_eq!(late(5, &[]), "warning");
        assert_eq!(late(99, &["success=100%", "rate>0/s"]), "warning");
        assert_eq!(late(100, &[]), "failed");
        for times in ["p50<=1s", "mean<=1s", "lag.p99<=1s", "first_event p99<=1s", "max of main<=1s"] {
            assert_eq!(late(5, &[times]), "failed", "{times}");
        }
    }

    #[test]
    fn run_without_a_response_or_with_a_late_driver_fails() {
        assert_eq!(default_passes(Vec::new(), &[]).len(), 1);
        let late = |lag_ms| {
            let mut record = call(0, status(200));
            record.sent += Duration::from_millis(lag_ms);
            record.done += Duration::from_millis(lag_ms);
            default_passes(vec![record], &[])
        };
        assert_eq!(late(1), [""; 0]);
        assert!(late(2)[0].contains("driver-limited"));
        let mut waiting = call(0, status(200));
        waiting.sent += Duration::from_millis(900);
        waiting.done += Duration::from_millis(900);
        waiting.waited = Duration::from_millis(900);
        let found = default_passes(vec![waiting], &[]);
        assert!(found.len() == 1 && found[0].contains("all connections were busy"), "{found:?}");
    }
}
