//! Merging of the raw logs of several drivers.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::conditions::check_same;
use super::error::SavedError;
use crate::record::{CallRecord, LogReader, LogWriter, NO_KEY};
use crate::report::{Report, RunEnd, RunInfo, RunOutcome};
use crate::schedule::Shard;
use crate::summary::SummaryBuilder;
use crate::timeline::Timeline;
use crate::verdict::{self, Evidence};

/// The bits of a key's number below that of the driver, if each driver has its own keys.
const KEY_BITS: u32 = 26;

/// Merges logs into `output` and returns the report of the whole run, judged anew.
pub(super) fn merge(paths: &[PathBuf], output: &Path) -> Result<Report, SavedError> {
    // The output is truncated when it is created, and the input would be lost unread.
    check_output(paths, output)?;
    let logs = paths
        .iter()
        .map(|path| Ok(LogReader::<RunInfo>::open(path)?))
        .collect::<Result<Vec<_>, SavedError>>()?;
    let mut whole = logs.first().map(|log| log.run.clone()).unwrap_or_default();
    let runs: Vec<RunInfo> = logs.iter().map(|log| log.run.clone()).collect();
    for (run, path) in runs.iter().zip(paths) {
        check_same(&whole, run, path)?;
        check_time(&whole, run, path)?;
    }
    // A missing shard makes the rate lower than the load that the report names.
    check_shards(&runs, paths)?;
    whole.started_unix_ms = runs.iter().map(|run| run.started_unix_ms).min().unwrap_or(0);
    whole.shard = "1/1".to_owned();
    whole.connections = runs.iter().fold(0, |sum, run| sum.saturating_add(run.connections));

    // Read on their own first: the events are at the end of a log, and phases depend on them.
    let outcomes = outcomes(paths)?;
    let timeline = first_timeline(&outcomes, &runs, whole.started_unix_ms);
    let end = worst_end(&outcomes);
    let length = Duration::from_secs_f64(whole.seconds);
    // Logs are read one after the other, so no second is over before all are read.
    let mut summary = SummaryBuilder::new(length, length + Duration::from_secs_f64(whole.timeout_s));
    let mut writer = LogWriter::create(output, &whole)?;
    let mut batch = Vec::new();
    for (number, (log, run)) in (0_u32..).zip(logs.into_iter().zip(&runs)) {
        // Drivers begin at slightly different times, and each counts from its own start.
        let shift = Duration::from_millis(run.started_unix_ms - whole.started_unix_ms);
        log.read::<RunOutcome>(|record| batch.push(shifted(record, shift, number, run.shared_keys)))?;
        for records in batch.chunks(4096) {
            writer.write(records)?;
            records.iter().for_each(|record| summary.record(record, &timeline));
        }
        batch.clear();
    }
    let summary = summary.finish();
    let evidence = Evidence {
        summary: &summary,
        timeline: &timeline,
        requests: &whole.requests,
        duration: summary.length(length, end.is_early()),
        books: None,
        costs: None,
    };
    let checks = verdict::judge(&whole.criteria.parse()?, &evidence);
    let samples = outcomes.iter().flat_map(|outcome| outcome.samples.clone()).collect();
    let notes = notes(&runs, &outcomes);
    let outcome = RunOutcome { timeline, checks, end, samples, notes, ..RunOutcome::default() };
    writer.finish(&outcome)?;
    Ok(Report::new(whole, outcome, &summary))
}

/// Reads the outcomes of all logs. That of a killed driver is an interruption.
fn outcomes(paths: &[PathBuf]) -> Result<Vec<RunOutcome>, SavedError> {
    let outcome = |path: &PathBuf| {
        let outcome = LogReader::<RunInfo>::open(path)?.read::<RunOutcome>(drop)?;
        let killed = || RunOutcome { end: RunEnd::Interrupted, ..RunOutcome::default() };
        Ok(outcome.unwrap_or_else(killed))
    };
    paths.iter().map(outcome).collect()
}

/// The time between beginnings that does not matter.
const TOGETHER: Duration = Duration::from_millis(50);

/// Returns a sentence for each driver that began after the first one or ended early.
fn notes(runs: &[RunInfo], outcomes: &[RunOutcome]) -> Vec<String> {
    let first = runs.iter().map(|run| run.started_unix_ms).min().unwrap_or(0);
    let notes = runs.iter().zip(outcomes).flat_map(|(run, outcome)| {
        let late = Duration::from_millis(run.started_unix_ms.saturating_sub(first));
        let apart = (late > TOGETHER).then(|| {
            let seconds = late.as_secs_f64();
            format!("shard {} began {seconds:.2} s after the first: give all drivers --start-at", run.shard)
        });
        let early = match &outcome.end {
            RunEnd::Planned => None,
            RunEnd::Interrupted => Some("it was interrupted".to_owned()),
            RunEnd::Broken(error) => Some(error.clone()),
            RunEnd::Aborted(check) => Some(format!("a check could no longer pass: {check}")),
        };
        let early = early.map(|reason| format!("shard {} ended early: {reason}", run.shard));
        [apart, early]
    });
    notes.flatten().collect()
}

/// Returns the end of the whole run: it is complete if all parts are.
fn worst_end(outcomes: &[RunOutcome]) -> RunEnd {
    let ends = || outcomes.iter().map(|outcome| &outcome.end);
    let interrupted = ends().find(|end| **end == RunEnd::Interrupted);
    // An interruption before a failed check: a run that somebody ended proves nothing either way.
    interrupted.or_else(|| ends().find(|end| end.is_early())).cloned().unwrap_or_default()
}

/// Returns the events of the first log that has any, at their times in the whole run.
fn first_timeline(outcomes: &[RunOutcome], runs: &[RunInfo], start: u64) -> Timeline {
    let mut with_events = outcomes.iter().zip(runs).filter(|(outcome, _)| !outcome.timeline.marks.is_empty());
    let Some((outcome, run)) = with_events.next() else { return Timeline::default() };
    let shift = Duration::from_millis(run.started_unix_ms - start);
    let mut timeline = outcome.timeline.clone();
    for mark in &mut timeline.marks {
        mark.at += shift;
        mark.settled = mark.settled.saturating_add(shift);
    }
    timeline
}

/// Returns an error if the output would overwrite a log.
fn check_output(paths: &[PathBuf], output: &Path) -> Result<(), SavedError> {
    // A file that does not exist yet is no input.
    let Ok(place) = output.canonicalize() else { return Ok(()) };
    let is_input = paths.iter().any(|path| path.canonicalize().is_ok_and(|path| path == place));
    if is_input { Err(SavedError::OutputIsInput(output.to_owned())) } else { Ok(()) }
}

/// Returns an error if a run was not made while the first one was.
fn check_time(whole: &RunInfo, run: &RunInfo, path: &Path) -> Result<(), SavedError> {
    let apart = Duration::from_millis(whole.started_unix_ms.abs_diff(run.started_unix_ms));
    if apart < Duration::from_secs_f64(whole.seconds) {
        return Ok(());
    }
    Err(SavedError::Elsewhen { path: path.to_owned(), seconds: apart.as_secs() })
}

/// Returns an error unless each shard is there once.
fn check_shards(runs: &[RunInfo], paths: &[PathBuf]) -> Result<(), SavedError> {
    let (mut of, mut numbers) = (1, BTreeSet::new());
    for (run, path) in runs.iter().zip(paths) {
        let shard = Shard::parse(&run.shard)?;
        if !numbers.is_empty() && shard.of != of {
            let what = "number of shards";
            let (expected, found) = (of.to_string(), shard.of.to_string());
            return Err(SavedError::Different { path: path.clone(), what, expected, found });
        }
        of = shard.of;
        if !numbers.insert(shard.number) {
            return Err(SavedError::Twice { path: path.clone(), shard: run.shard.clone() });
        }
    }
    let missing: Vec<String> =
        (1..=of).filter(|number| !numbers.contains(number)).map(|number| format!("{number}/{of}")).collect();
    if missing.is_empty() { Ok(()) } else { Err(SavedError::Missing(missing.join(", "))) }
}

fn shifted(mut record: CallRecord, shift: Duration, number: u32, shared_keys: bool) -> CallRecord {
    record.due += shift;
    record.sent += shift;
    record.done += shift;
    if record.key != NO_KEY && !shared_keys {
        // Each driver numbers its own keys from 0. Two of them would share a window in the
        // certificate.
        record.key |= number << KEY_BITS;
    }
    record
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::Verdict;
    use crate::summary::tests::{call, status};

    fn log(folder: &Path, shard: &str, started_unix_ms: u64, calls: impl Iterator<Item = u64>) -> PathBuf {
        let path = folder.join(format!("{}.bin", shard.replace('/', "-")));
        let run = RunInfo {
            scenario: "steady".to_owned(),
            requests: vec!["main".to_owned()],
            stages: vec!["1s:1000".to_owned()],
            seconds: 1.0,
            timeout_s: 1.0,
            shard: shard.to_owned(),
            started_unix_ms,
            ..RunInfo::default()
        };
        let mut writer = LogWriter::create(&path, &run).unwrap();
        let records: Vec<_> = calls.map(|at| CallRecord { key: 5, ..call(at, status(200)) }).collect();
        writer.write(&records).unwrap();
        writer.finish(&RunOutcome::default()).unwrap();
        path
    }

    #[test]
    fn merged_log_is_that_of_the_whole_run() {
        let folder = tempfile::tempdir().unwrap();
        let parts = [
            log(folder.path(), "1/2", 5000, (0..1000).step_by(2)),
            log(folder.path(), "2/2", 5100, (1..1000).step_by(2)),
        ];
        let output = folder.path().join("whole.bin");
        let report = merge(&parts, &output).unwrap();
        assert_eq!((report.calls.due, report.passed), (1000, true), "{report}");
        assert!(report.to_string().contains("shard 2/2 began 0.10 s after the first"), "{report}");
        // The second driver began 100 ms later.
        let due: Vec<u32> = report.series.iter().map(|second| second.due).collect();
        assert_eq!(due, [950, 50]);
        let again = super::super::read::run(&output).unwrap();
        assert_eq!(again.to_string(), report.to_string());
        assert_eq!(again.run.shard, "1/1");
    }

    fn error(logs: &[&PathBuf], output: &Path) -> String {
        let logs: Vec<PathBuf> = logs.iter().map(|&log| log.clone()).collect();
        merge(&logs, output).unwrap_err().to_string()
    }

    #[test]
    fn logs_that_are_not_all_shards_of_one_run_are_error() {
        let folder = tempfile::tempdir().unwrap();
        let output = folder.path().join("whole.bin");
        let [one, two] = ["1/2", "2/2"].map(|shard| log(folder.path(), shard, 5000, 0..10));
        let third = log(folder.path(), "3/3", 5000, 0..10);
        assert!(error(&[&one, &one], &output).ends_with("1-2.bin: shard 1/2 is given twice"));
        assert_eq!(error(&[&two], &output), "shards 1/2 are missing: expected the logs of all drivers");
        assert!(error(&[&one, &third], &output).contains("the number of shards is `3`"));
        assert!(error(&[&one, &two], &one).contains("one of the logs to merge"));
        let late = log(folder.path(), "2/2", 3_605_000, 0..10);
        assert!(error(&[&one, &late], &output).contains("began 3600 s before or after"));
        let other = RunInfo { scenario: "other".to_owned(), ..RunInfo::default() };
        let path = folder.path().join("other.bin");
        LogWriter::create(&path, &other).unwrap().finish(&RunOutcome::default()).unwrap();
        assert!(error(&[&one, &path], &output).contains("other.bin: the scenario is `other`"));
    }

    #[test]
    fn merged_log_of_a_killed_driver_is_interrupted() {
        let folder = tempfile::tempdir().unwrap();
        let [one, two] = ["1/2", "2/2"].map(|shard| log(folder.path(), shard, 5000, 0..10));
        let whole = std::fs::read(&two).unwrap();
        std::fs::write(&two, &whole[..whole.len() - 3]).unwrap();
        let report = merge(&[one, two], &folder.path().join("whole.bin")).unwrap();
        assert_eq!((report.verdict(), report.calls.due), (Verdict::Interrupted, 20));
        assert_eq!(report.notes, ["shard 2/2 ended early: it was interrupted"]);
    }
}
