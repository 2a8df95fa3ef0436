//! Merging of the raw logs of several drivers.

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::error::SavedError;
use crate::record::{CallRecord, LogReader, LogWriter, NO_KEY};
use crate::report::{Report, RunInfo, RunOutcome};
use crate::summary::SummaryBuilder;
use crate::timeline::Timeline;
use crate::verdict::{self, Evidence};

/// The bits of a key's number below that of the driver, if each driver has keys of its own.
const KEY_BITS: u32 = 26;

/// Merges logs into `output` and returns the report of the whole run, judged anew.
pub(super) fn merge(paths: &[PathBuf], output: &Path) -> Result<Report, SavedError> {
    let logs = paths
        .iter()
        .map(|path| Ok(LogReader::<RunInfo>::open(path)?))
        .collect::<Result<Vec<_>, SavedError>>()?;
    let mut whole = logs.first().map(|log| log.run.clone()).unwrap_or_default();
    let runs: Vec<RunInfo> = logs.iter().map(|log| log.run.clone()).collect();
    for (run, path) in runs.iter().zip(paths) {
        check_same(&whole, run, path)?;
    }
    whole.started_unix_ms = runs.iter().map(|run| run.started_unix_ms).min().unwrap_or(0);
    whole.shard = "1/1".to_owned();
    whole.connections = runs.iter().map(|run| run.connections).sum();

    let timeline = first_timeline(paths, &runs, whole.started_unix_ms)?;
    let length = Duration::from_secs_f64(whole.seconds);
    // Logs are read one after the other, so no second is over before all are read.
    let mut summary = SummaryBuilder::new(length + Duration::from_secs_f64(whole.timeout_s));
    let mut writer = LogWriter::create(output, &whole)?;
    let mut batch = Vec::new();
    for (number, (log, run)) in (0_u32..).zip(logs.into_iter().zip(&runs)) {
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
        duration: length,
        books: None,
        costs: None,
    };
    let checks = verdict::judge(&whole.criteria.parse()?, &evidence);
    let outcome = RunOutcome { timeline, checks, ..RunOutcome::default() };
    writer.finish(&outcome)?;
    Ok(Report::new(whole, outcome, &summary))
}

/// Returns the events of the first log that has any, at their times in the whole run.
fn first_timeline(paths: &[PathBuf], runs: &[RunInfo], start: u64) -> Result<Timeline, SavedError> {
    for (path, run) in paths.iter().zip(runs) {
        let outcome = LogReader::<RunInfo>::open(path)?.read::<RunOutcome>(drop)?;
        let Some(mut timeline) = outcome.map(|outcome| outcome.timeline) else { continue };
        if timeline.marks.is_empty() {
            continue;
        }
        let shift = Duration::from_millis(run.started_unix_ms - start);
        for mark in &mut timeline.marks {
            mark.at += shift;
            mark.settled = mark.settled.saturating_add(shift);
        }
        return Ok(timeline);
    }
    Ok(Timeline::default())
}

fn check_same(whole: &RunInfo, run: &RunInfo, path: &Path) -> Result<(), SavedError> {
    let facts = [
        ("scenario", whole.scenario == run.scenario),
        ("load", whole.stages == run.stages),
        ("list of requests", whole.requests == run.requests),
    ];
    match facts.iter().find(|(_, same)| !same) {
        Some((what, _)) => Err(SavedError::Different { path: path.to_owned(), what }),
        None => Ok(()),
    }
}

fn shifted(mut record: CallRecord, shift: Duration, number: u32, shared_keys: bool) -> CallRecord {
    record.due += shift;
    record.sent += shift;
    record.done += shift;
    if record.key != NO_KEY && !shared_keys {
        record.key |= number << KEY_BITS;
    }
    record
}

#[cfg(test)]
mod tests {
    use super::*;
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
        // The second driver began 100 ms later.
        let due: Vec<u32> = report.series.iter().map(|second| second.due).collect();
        assert_eq!(due, [950, 50]);
        let again = super::super::read::report(&output).unwrap();
        assert_eq!(again.to_string(), report.to_string());
        assert_eq!(again.run.shard, "1/1");

        let other = RunInfo { scenario: "other".to_owned(), ..RunInfo::default() };
        let path = folder.path().join("other.bin");
        LogWriter::create(&path, &other).unwrap().finish(&RunOutcome::default()).unwrap();
        let error = merge(&[parts[0].clone(), path], &output).unwrap_err();
        assert!(
            error.to_string().contains("other.bin is not a part of the same run: its scenario"),
            "{error}"
        );
    }
}
