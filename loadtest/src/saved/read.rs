//! Reading of saved runs.

use std::fs;
use std::path::Path;
use std::time::Duration;

use super::error::SavedError;
use crate::record::LogReader;
use crate::report::{Report, RunInfo, RunOutcome};
use crate::summary::SummaryBuilder;
use crate::timeline::Timeline;

/// Reads the report of a raw log or of a JSON file.
pub(super) fn report(path: &Path) -> Result<Report, SavedError> {
    let text = fs::read(path).map_err(|source| SavedError::Io { path: path.to_owned(), source })?;
    if text.starts_with(b"{") {
        let unknown = |reason| SavedError::Unknown { path: path.to_owned(), reason };
        return serde_json::from_slice(&text).map_err(unknown);
    }
    drop(text);
    from_log(path)
}

/// Computes the report of a raw log.
fn from_log(path: &Path) -> Result<Report, SavedError> {
    // The events are at the end of the file, and phases depend on them.
    let outcome = LogReader::<RunInfo>::open(path)?.read::<RunOutcome>(drop)?;
    let interrupted = outcome.is_none();
    let outcome = outcome.unwrap_or_else(|| RunOutcome { interrupted, ..RunOutcome::default() });
    let log = LogReader::<RunInfo>::open(path)?;
    let run = log.run.clone();
    let summary = summarize(log, &outcome.timeline, Duration::from_secs_f64(run.timeout_s))?;
    Ok(Report::new(run, outcome, &summary))
}

fn summarize(
    log: LogReader<RunInfo>,
    timeline: &Timeline,
    timeout: Duration,
) -> Result<crate::summary::Summary, SavedError> {
    let mut builder = SummaryBuilder::new(timeout);
    log.read::<RunOutcome>(|record| builder.record(&record, timeline))?;
    Ok(builder.finish())
}
