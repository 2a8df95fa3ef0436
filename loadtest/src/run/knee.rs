//! The search for the knee: the highest rate at which all checks pass.

use std::fs;
use std::ops::Range;
use std::path::Path;

use shared::problem::codes;

use super::arguments::Arguments;
use super::error::RunError;
use super::knee_range::{DEFAULT_STEP, KneeRange};
use super::prepare::Prepared;
use super::{execute, progress};
use crate::keys::keys_needed;
use crate::report::{KneeStep, Report, Row, RunEnd};
use crate::schedule::Stage;
use crate::verdict::Check;

/// The growth of the rate while steps pass.
const GROWTH: Range<f64> = 1.35..1.65;
/// The width at which the search ends, in proportion to the rate.
const PRECISION: f64 = 0.05;

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
            (Some(passed), None) => {
                // Growth by a factor reaches any range within a few steps, and each step costs its
                // whole duration.
                Some(roundest(passed * GROWTH.start, passed * GROWTH.end).min(self.range.to))
            }
            (Some(passed), Some(failed)) if failed - passed <= passed * PRECISION => None,
            (Some(passed), Some(failed)) => {
                // A rate from the middle third is round, and still leaves at most two thirds of the
                // range.
                let third = (failed - passed) / 3.0;
                Some(roundest(passed + third, failed - third))
            }
        }
    }

    fn record(&mut self, rate: f64, passed: bool) {
        let bound = if passed { &mut self.passed } else { &mut self.failed };
        *bound = Some(rate);
    }
}

/// Returns the roundest number of a range: limits are round numbers, and a search that tries only others
/// ends beside them.
fn roundest(from: f64, to: f64) -> f64 {
    let mut unit = 10_f64.powf(to.log10().floor());
    while unit > 1e-3 {
        for step in [unit, unit / 2.0, unit / 5.0] {
            let candidate = (from / step).ceil() * step;
            if candidate <= to {
                return candidate;
            }
        }
        unit /= 10.0;
    }
    f64::midpoint(from, to)
}

/// Returns a failed check if latencies grow during a step. Connections that are free hide for a while that
/// calls come faster than the gateway completes them.
fn growing(report: &Report) -> Option<Check> {
    const FACTOR: f64 = 2.0;
    const FLOOR_MS: f64 = 20.0;
    // Beyond the knee a queue grows slowly at first: each check may still pass at the end of a
    // short step.
    let (first, last) = report.blocks.as_ref()?.medians_of_thirds();
    let found = format!("{first:.1} ms (p50) in the first third of the step, {last:.1} ms in the last");
    (last > first * FACTOR + FLOOR_MS).then(|| Check::new("latencies do not grow", false, found))
}

/// The runs of a step, if the first one fails: a step that fails once by chance does not end the
/// search.
const RUNS: u32 = 3;

/// The runs of one rate.
struct StepRuns {
    step: KneeStep,
    /// The report of the last run with the step's result.
    report: Report,
}

/// Searches the knee. Returns the report of the highest rate that passed, with all steps.
pub(super) async fn find(
    prepared: &Prepared,
    arguments: &Arguments,
    range: &KneeRange,
) -> Result<Report, RunError> {
    let duration = arguments.duration.unwrap_or(DEFAULT_STEP);
    let mut search = Search { range: *range, passed: None, failed: None };
    let (mut best, mut last, mut steps, mut limited) = (None::<Report>, None, Vec::new(), None);
    while let Some(rate) = search.next() {
        let stage = Stage { duration, from: rate, to: rate, burst: false };
        let run = run_step(prepared, arguments, rate, stage, steps.is_empty()).await;
        let StepRuns { step, mut report } = match (run, &mut best) {
            (Ok(run), _) => run,
            // The steps so far are not lost with a gateway that is gone.
            (Err(error), Some(best)) => {
                best.end = RunEnd::Broken(error.to_string());
                break;
            }
            (Err(error), None) => return Err(error),
        };
        if matches!(report.end, RunEnd::Interrupted | RunEnd::Broken(_)) {
            report.steps = steps;
            return Ok(report);
        }
        search.record(rate, step.passed);
        limited = limit_of_keys(prepared, &report, rate, range.to);
        let is_best = step.passed;
        steps.push(step);
        *(if is_best { &mut best } else { &mut last }) = Some(report);
        // Higher rates would measure the limits of the keys, and not the gateway.
        if limited.is_some() {
            break;
        }
    }
    let mut report = best.or(last).ok_or(RunError::Collector)?;
    report.steps = steps;
    if matches!(report.end, RunEnd::Broken(_)) {
        report.passed = false;
        return Ok(report);
    }
    let found = match (&limited, search.passed) {
        (Some(limited), _) => limited.clone(),
        (None, Some(rate)) => format!("{rate}/s"),
        (None, None) => "even the lowest rate failed".to_owned(),
    };
    let passed = limited.is_none() && search.passed.is_some();
    let check = "the highest rate at which all checks pass".to_owned();
    report.checks.push(Check::new(check, passed, found));
    report.passed = passed;
    Ok(report)
}

/// Runs a step: once if it passes, and otherwise until two of at most three runs agree.
///
/// Its log takes the place of an earlier one if it passes or is the first.
async fn run_step(
    prepared: &Prepared,
    arguments: &Arguments,
    rate: f64,
    stage: Stage,
    is_first: bool,
) -> Result<StepRuns, RunError> {
    let (mut passed, mut failed, mut failed_check) = (0, 0, None);
    loop {
        progress::note(&format!("step of {rate}/s, run {}", passed + failed + 1), arguments.quiet);
        let log = arguments.log.as_deref().map(|log| log.with_added_extension("step"));
        let mut report = execute::execute(prepared, arguments, &[stage], log.as_deref()).await?;
        if let Some(growing) = growing(&report) {
            report.checks.push(growing);
            report.passed = false;
        }
        if report.passed {
            passed += 1;
        } else {
            failed += 1;
            let check = report.checks.iter().find(|check| !check.passed);
            failed_check = check.map(|check| format!("{}: {}", check.check, check.found));
        }
        // One run is enough if it passes. A single failure may be the machine's, so it is repeated.
        let is_decided = failed == 0 || passed * 2 > RUNS || failed * 2 > RUNS;
        if !is_decided && !matches!(report.end, RunEnd::Interrupted | RunEnd::Broken(_)) {
            continue;
        }
        let step = KneeStep {
            rate,
            passed: passed > failed,
            runs: passed + failed,
            p99_ms: report.latency_ms.p99,
            failed_check,
        };
        if let Some((step_log, log)) = log.as_deref().zip(arguments.log.as_deref()) {
            // The log belongs to the report, which is that of the best step, or of the first if
            // none passes.
            keep_log(step_log, log, step.passed || is_first)?;
        }
        return Ok(StepRuns { step, report });
    }
}

/// Makes the log of a step that of the search, or removes it.
fn keep_log(step: &Path, log: &Path, is_kept: bool) -> Result<(), RunError> {
    let kept = if is_kept { fs::rename(step, log) } else { fs::remove_file(step) };
    kept.map_err(|source| RunError::Report { place: log.display().to_string(), source })
}

/// Returns why the search ends, if calls of a step were refused because of the limits of their keys:
/// a higher rate would find these limits again and not the gateway's.
fn limit_of_keys(prepared: &Prepared, report: &Report, rate: f64, highest: f64) -> Option<String> {
    let is_limit = |row: &&Row| {
        row.code.as_deref() == Some(codes::QUOTA_EXCEEDED.as_str())
            && !prepared.criteria.allows_limit(&row.request)
    };
    let calls: u64 = report.rows.iter().filter(is_limit).map(|row| row.calls).sum();
    let limit = report.limits.least_limit.filter(|_| calls > 0)?;
    let needed = keys_needed(highest * 60.0, limit);
    Some(format!(
        "unknown: at {rate}/s the limits of keys refused {calls} calls; {needed} keys of {limit} calls a minute are \
         needed for {highest}/s"
    ))
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
            assert!(steps <= 22, "{steps} steps");
        }
        // A round limit is found itself, from wherever the search comes.
        for range in ["1..1000", "7..1000", "10..200", "30..101", "50..5000", "90..110"] {
            let mut search = Search { range: KneeRange::parse(range).unwrap(), passed: None, failed: None };
            while let Some(rate) = search.next() {
                search.record(rate, rate <= 100.0);
            }
            assert_eq!(search.passed, Some(100.0), "{range}");
        }
        assert_eq!(search(50.0).0, None);
        assert_eq!(search(20_000.0).0, Some(10_000.0));
    }
}
