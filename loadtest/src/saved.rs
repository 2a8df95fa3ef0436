//! Saved runs: raw logs and JSON reports, and the commands that read them.

mod compare;
mod conditions;
mod error;
mod merge;
mod read;

use std::error::Error;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;

use crate::page;
use crate::report::{Verdict, to_csv, to_junit};
pub(crate) use compare::{Comparison, Noise};
use error::SavedError;

/// The options of `loadtest report`.
#[derive(Args, Debug)]
pub struct ReportArguments {
    /// Raw log (--log) or JSON report (--json-file) of a run.
    run: PathBuf,
    /// File for the page. The default has the name of the run and ends in .html.
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Print the report as text in place of a page.
    #[arg(long, conflicts_with_all = ["json", "csv"])]
    text: bool,
    /// Print the report as JSON in place of a page.
    #[arg(long, conflicts_with = "csv")]
    json: bool,
    /// Print the checks as JUnit XML in place of a page.
    #[arg(long, conflicts_with_all = ["text", "json", "csv"])]
    junit: bool,
    /// Print the run second by second in place of a page.
    #[arg(long)]
    csv: bool,
}

/// The options of `loadtest compare`.
#[derive(Args, Debug)]
pub struct CompareArguments {
    /// Raw log or JSON report of the run to compare with.
    before: PathBuf,
    /// Raw log or JSON report of the run to judge.
    after: PathBuf,
    /// Difference that does not matter, as a share of the value before.
    #[arg(long, default_value = "5%", value_parser = Noise::parse)]
    noise: Noise,
    /// Compare runs of different scenarios or loads.
    #[arg(long)]
    anyway: bool,
}

/// The options of `loadtest merge`.
#[derive(Args, Debug)]
pub struct MergeArguments {
    /// Raw logs of all shards of a run.
    #[arg(required = true)]
    logs: Vec<PathBuf>,
    /// File for the merged log.
    #[arg(long, short, value_name = "FILE")]
    output: PathBuf,
}

/// Writes the page of a saved run, or prints its report. Returns exit code 0 if all checks of the
/// run passed, 3 if one failed, and 130 if the run was interrupted.
///
/// # Errors
/// Returns an error if the run cannot be read or the page cannot be written.
pub fn report(arguments: &ReportArguments) -> Result<ExitCode, Box<dyn Error>> {
    let report = read::run(&arguments.run)?;
    let text = match arguments {
        ReportArguments { text: true, .. } => report.to_string(),
        ReportArguments { json: true, .. } => serde_json::to_string_pretty(&report)? + "\n",
        ReportArguments { csv: true, .. } => to_csv(&report),
        ReportArguments { junit: true, .. } => to_junit(&report),
        _ => {
            let path = arguments.output.clone().unwrap_or_else(|| arguments.run.with_extension("html"));
            write(&path, &page::render(&report))?;
            format!("{}\n", path.display())
        }
    };
    io::stdout().write_all(text.as_bytes())?;
    Ok(report.verdict().into())
}

/// Compares two saved runs. Returns exit code 3 if the second one is worse by more than noise.
///
/// # Errors
/// Returns an error if a run cannot be read.
pub fn compare(arguments: &CompareArguments) -> Result<ExitCode, Box<dyn Error>> {
    let (before, after) = (read::run(&arguments.before)?, read::run(&arguments.after)?);
    if !arguments.anyway {
        // Two different loads differ whatever the gateway does.
        conditions::check_same(&before.run, &after.run, &arguments.after)?;
    }
    for warning in conditions::warnings(&before, &after) {
        writeln!(io::stderr(), "loadtest: {warning}")?;
    }
    let comparison = Comparison::new(&before, &after, arguments.noise);
    write!(io::stdout(), "{comparison}")?;
    let verdict = if comparison.is_worse() { Verdict::Failed } else { Verdict::Passed };
    Ok(verdict.into())
}

/// Merges the raw logs of all shards of a run and prints the report of the whole. Returns exit code
/// 0 if all its checks pass, 3 if one fails, and 130 if a driver was interrupted.
///
/// # Errors
/// Returns an error if a log cannot be read, or if the logs are not each shard of one run once.
pub fn merge(arguments: &MergeArguments) -> Result<ExitCode, Box<dyn Error>> {
    let report = merge::merge(&arguments.logs, &arguments.output)?;
    write!(io::stdout(), "{report}")?;
    Ok(report.verdict().into())
}

fn write(path: &Path, text: &str) -> Result<(), SavedError> {
    fs::write(path, text).map_err(|source| SavedError::Io { path: path.to_owned(), source })
}
