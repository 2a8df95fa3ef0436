//! The search for the knee: the highest rate at which all checks pass.

use std::str::FromStr;
use std::time::Duration;

use super::prepare::Prepared;
use super::{Arguments, RunError, execute};
use crate::report::Report;
use crate::schedule::{ScheduleError, Stage};
use crate::verdict::Check;

/// A range of rates.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct KneeRange {
    from: f64,
    to: f64,
}

/// The growth of the rate while steps pass.
const GROWTH: f64 = 1.5;
/// The width at which the search ends, in proportion to the rate.
const PRECISION: f64 = 0.05;
/// The duration of a step if none is given.
const DEFAULT_STEP: Duration = Duration::from_secs(10);

impl KneeRange {
    /// Parses `100..5000`.
    pub(super) fn parse(text: &str) -> Result<Self, ScheduleError> {
        let rate =
            |text: &str| f64::from_str(text.trim()).ok().filter(|rate| rate.is_finite() && *rate >= 1.0);
        let range =
            text.split_once("..").and_then(|(from, to)| Some(Self { from: rate(from)?, to: rate(to)? }));
        range.filter(|range| range.from < range.to).ok_or_else(|| ScheduleError::Stage(text.to_owned()))
    }
}

/// A search by rising steps and then bisection.
#[derive(Debug)]
struct Search {
    range: KneeRange,
    passed: Option<f64>,
    failed: Option<f64>,
}

impl Search {
    /// Returns the rate of the next step, or `None` at the end.
    fn next(&self) -> Option<f64> {
        match (self.passed, self.failed) {
            (None, None) => Some(self.range.from),
            (None, Some(_)) => None,
            (Some(passed), None) if passed >= self.range.to => None,
            (Some(passed), None) => Some((passed * GROWTH).min(self.range.to)),
            (Some(passed), Some(failed)) if failed - passed <= passed * PRECISION => None,
            (Some(passed), Some(failed)) => Some(f64::midpoint(passed, failed).round()),
        }
    }

    fn record(&mut self, rate: f64, passed: bool) {
        let bound = if passed { &mut self.passed } else { &mut self.failed };
        *bound = Some(rate);
    }
}

/// Searches the knee. Returns the report of the highest rate that passed, with a line for each step.
pub(super) async fn find(
    prepared: &Prepared,
    arguments: &Arguments,
    range: &KneeRange,
) -> Result<Report, RunError> {
    let duration = arguments.duration.unwrap_or(DEFAULT_STEP);
    let mut search = Search { range: *range, passed: None, failed: None };
    let (mut best, mut last, mut steps): (Option<Report>, Option<Report>, Vec<Check>) =
        (None, None, Vec::new());
    while let Some(rate) = search.next() {
        let stage = Stage { duration, from: rate, to: rate, burst: false };
        let report = execute::execute(prepared, arguments, &[stage]).await?;
        if report.interrupted {
            return Ok(report);
        }
        search.record(rate, report.passed);
        let failed = report.checks.iter().find(|check| !check.passed);
        let why = failed
            .map_or_else(|| "passed".to_owned(), |check| format!("failed: {}: {}", check.check, check.found));
        let found = format!("p99 {:.2} ms, {why}", report.latency_ms.p99);
        steps.push(Check { check: format!("step of {rate}/s"), passed: true, found });
        if report.passed { best = Some(report) } else { last = Some(report) }
    }
    let found =
        search.passed.map_or_else(|| "even the lowest rate failed".to_owned(), |rate| format!("{rate}/s"));
    let knee = Check {
        check: "the highest rate at which all checks pass".to_owned(),
        passed: best.is_some(),
        found,
    };
    let mut report = best.or(last).ok_or(RunError::Collector)?;
    report.checks.extend(steps);
    report.checks.push(knee);
    report.passed = search.passed.is_some();
    Ok(report)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn search(knee: f64) -> (Option<f64>, usize) {
        let mut search =
            Search { range: KneeRange::parse("100..10000").unwrap(), passed: None, failed: None };
        let mut steps = 0;
        while let Some(rate) = search.next() {
            search.record(rate, rate <= knee);
            steps += 1;
        }
        (search.passed, steps)
    }

    #[test]
    fn knee_is_found_within_five_percent() {
        for knee in [100.0, 101.0, 777.0, 5000.0, 9999.0] {
            let (found, steps) = search(knee);
            let found = found.unwrap();
            assert!(found <= knee && found >= knee * 0.95, "{found} instead of {knee}");
            assert!(steps <= 18, "{steps} steps");
        }
        assert_eq!(search(50.0).0, None);
        assert_eq!(search(20_000.0).0, Some(10_000.0));
    }

    #[test]
    fn invalid_range_is_error() {
        for text in ["100", "5..1", "0..10", "a..b", "10..10"] {
            assert!(KneeRange::parse(text).is_err(), "{text}");
        }
    }
}
