//! Reading of saved runs.

use std::fs;
use std::path::Path;
use std::time::Duration;

use super::error::SavedError;
use crate::record::LogReader;
use crate::report::{Report, RunEnd, RunInfo, RunOutcome};
use crate::summary::SummaryBuilder;
use crate::verdict::{self, Evidence};

/// Reads a raw log or a JSON report.
pub(super) fn run(path: &Path) -> Result<Report, SavedError> {
    let text = fs::read(path).map_err(|source| SavedError::Io { path: path.to_owned(), source })?;
    // By its content: a report that was renamed is still JSON, and a log begins with its magic.
    if text.starts_with(b"{") {
        let unknown = |reason| SavedError::Unknown { path: path.to_owned(), reason };
        return serde_json::from_slice(&text).map_err(unknown);
    }
    // A log may have gigabytes, and is read piece by piece from here.
    drop(text);
    from_log(path)
}

/// Computes the report of a raw log. A log without a trailer is judged by the criteria of its header.
fn from_log(path: &Path) -> Result<Report, SavedError> {
    // The events are at the end of the file, and phases depend on them.
    let outcome = LogReader::<RunInfo>::open(path)?.read::<RunOutcome>(drop)?;
    let is_killed = outcome.is_none();
    let mut outcome =
        outcome.unwrap_or_else(|| RunOutcome { end: RunEnd::Interrupted, ..RunOutcome::default() });
    let log = LogReader::<RunInfo>::open(path)?;
    let run = log.run.clone();
    let length = Duration::from_secs_f64(run.seconds);
    let mut builder = SummaryBuilder::new(length, Duration::from_secs_f64(run.timeout_s));
    log.read::<RunOutcome>(|record| builder.record(&record, &outcome.timeline))?;
    let summary = builder.finish();
    if summary.calls == 0 {
        return Err(SavedError::Empty(path.to_owned()));
    }
    // A log without a trailer has no checks, so they are judged again by the criteria in its
    // header.
    if is_killed {
        let evidence = Evidence {
            summary: &summary,
            timeline: &outcome.timeline,
            requests: &run.requests,
            duration: summary.length(length, true),
            books: None,
            costs: None,
        };
        outcome.checks = verdict::judge(&run.criteria.parse()?, &evidence);
    }
    Ok(Report::new(run, outcome, &summary))
}
