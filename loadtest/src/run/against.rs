//! Two gateways at the same time, and the comparison of both.
//!
//! Runs one after the other differ by what the machine did meanwhile. Here every second call goes to the
//! other gateway, so both have the same minutes.

use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use super::arguments::Arguments;
use super::error::RunError;
use super::prepare::Prepared;
use super::{execute, output};
use crate::clock;
use crate::report::{Report, Verdict};
use crate::saved::Comparison;

/// The time in which both drivers open their connections.
const CONNECT_MS: u64 = 3000;

/// Runs a scenario against both gateways and compares them. Returns exit code 3 if a check fails or if the
/// other one is worse.
pub(super) async fn run(arguments: &Arguments, other: &str) -> Result<ExitCode, RunError> {
    let (mut one, mut two) =
        (side(arguments, &arguments.url, "1/2", "a"), side(arguments, other, "2/2", "b"));
    output::check(&one)?;
    // Both before the first call: a missing folder must not be found after minutes of load.
    output::check(&two)?;
    let first = Prepared::new(&one).await?;
    let second = match Prepared::new(&two).await {
        Ok(second) => second,
        Err(error) => {
            // Its keys would outlive a run that never began.
            first.revoke_issued_keys().await;
            return Err(error);
        }
    };
    // Both open their connections first, and then begin in the same millisecond.
    let start = clock::unix_millis() + CONNECT_MS;
    (one.start_at, two.start_at) = (Some(start), Some(start));
    // Two bars in one terminal would overwrite each other.
    two.quiet = true;
    let (before, after) = tokio::join!(
        execute::execute(&first, &one, &first.stages, one.log.as_deref()),
        execute::execute(&second, &two, &second.stages, two.log.as_deref()),
    );
    // If one side fails, the report of the other is still written.
    let written = [(&before, &one), (&after, &two)]
        .map(|(report, arguments)| report.as_ref().map_or(Ok(()), |report| output::write(report, arguments)));
    // Before any `?`, so that no error leaves keys behind.
    tokio::join!(first.revoke_issued_keys(), second.revoke_issued_keys());
    let (before, after) = (before?, after?);
    written.into_iter().collect::<Result<(), _>>()?;
    conclude(&before, &after, arguments)
}

/// Prints the comparison. Returns the exit code of both runs and of it.
fn conclude(before: &Report, after: &Report, arguments: &Arguments) -> Result<ExitCode, RunError> {
    let comparison = Comparison::new(before, after, arguments.noise);
    write!(io::stdout(), "\n{} (before) and {} (after)\n{comparison}", before.run.target, after.run.target)
        .map_err(|source| RunError::Report { place: "standard output".to_owned(), source })?;
    let verdicts = [before.verdict(), after.verdict()];
    let has = |verdict: Verdict| verdicts.contains(&verdict);
    // From worst to best: numbers of a run that broke must not pass because the other side is
    // slower.
    let verdict = if has(Verdict::Broken) {
        Verdict::Broken
    } else if has(Verdict::Interrupted) {
        Verdict::Interrupted
    } else if has(Verdict::Failed) || comparison.is_worse() {
        Verdict::Failed
    } else {
        Verdict::Passed
    };
    Ok(verdict.into())
}

/// Returns the arguments of one of both runs, with its own files.
fn side(arguments: &Arguments, url: &str, shard: &str, name: &str) -> Arguments {
    let file = |path: &Option<PathBuf>| path.as_deref().map(|path| named(path, name));
    Arguments {
        url: url.to_owned(),
        shard: Some(shard.to_owned()),
        log: file(&arguments.log),
        json_file: file(&arguments.json_file),
        csv_file: file(&arguments.csv_file),
        html_file: file(&arguments.html_file),
        junit_file: file(&arguments.junit_file),
        ..arguments.clone()
    }
}

/// Returns `run.a.bin` for `run.bin`.
fn named(path: &Path, name: &str) -> PathBuf {
    let extension = path.extension().unwrap_or_default().to_string_lossy();
    path.with_extension(if extension.is_empty() { name.to_owned() } else { format!("{name}.{extension}") })
}
