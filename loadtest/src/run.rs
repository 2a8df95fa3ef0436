//! `loadtest run`: runs a scenario and reports its results.

mod against;
mod arguments;
mod command_line;
mod endpoint;
mod error;
mod execute;
mod knee;
mod knee_range;
mod machine;
mod output;
mod prepare;
mod progress;
mod signals;

use std::error::Error;
use std::io::{self, Write as _};
use std::process::ExitCode;

pub use arguments::Arguments;
use error::RunError;

use prepare::Prepared;

use crate::report::RunEnd;

/// Runs a scenario and writes its reports. Returns exit code 0 if all checks pass, 3 if one fails,
/// 130 if a signal ended the run early, and 1 if an error did.
///
/// # Errors
/// Returns an error if the arguments are inconsistent, the target is unreachable, or an event
/// fails.
pub async fn run(arguments: Arguments) -> Result<ExitCode, Box<dyn Error>> {
    Ok(match &arguments.against {
        Some(other) => against::run(&arguments, other).await?,
        None => run_scenario(arguments).await?,
    })
}

async fn run_scenario(arguments: Arguments) -> Result<ExitCode, RunError> {
    output::check(&arguments)?;
    let prepared = Prepared::new(&arguments).await?;
    let report = match &arguments.knee {
        Some(range) => knee::find(&prepared, &arguments, range).await,
        None => execute::execute(&prepared, &arguments, &prepared.stages, arguments.log.as_deref()).await,
    };
    // The reports come first: a gateway that is gone makes each revocation wait.
    let written = report.and_then(|report| output::write(&report, &arguments).map(|()| report));
    // Keys that were issued for the run are revoked whatever its result.
    prepared.revoke_issued_keys().await;
    let report = written?;
    if let RunEnd::Broken(error) = &report.end {
        // There is nowhere left to say that it fails.
        let _written = writeln!(io::stderr(), "loadtest: {error}");
    }
    Ok(report.verdict().into())
}
