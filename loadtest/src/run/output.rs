//! The reports that a run writes.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::Path;

use super::arguments::Arguments;
use super::error::RunError;
use crate::page;
use crate::report::{Report, to_csv, to_junit};

/// Checks that all files of the run can be written, so that a run is not lost at its end.
pub(super) fn check(arguments: &Arguments) -> Result<(), RunError> {
    let Arguments { log, json_file, csv_file, html_file, junit_file, .. } = arguments;
    for path in [log, json_file, csv_file, html_file, junit_file].into_iter().flatten() {
        let is_new = !path.exists();
        let opened = OpenOptions::new().write(true).create(true).truncate(false).open(path).map(drop);
        // A file that the check itself made is removed, or a run that fails would leave empty
        // reports.
        let checked = opened.and_then(|()| if is_new { fs::remove_file(path) } else { Ok(()) });
        checked.map_err(|source| RunError::Report { place: path.display().to_string(), source })?;
    }
    Ok(())
}

/// Writes all requested reports. One that cannot be written does not keep back the others.
pub(super) fn write(report: &Report, arguments: &Arguments) -> Result<(), RunError> {
    let json = || serde_json::to_string_pretty(report).unwrap_or_default() + "\n";
    let text = if arguments.json { json() } else { report.to_string() };
    let printed = io::stdout()
        .write_all(text.as_bytes())
        .map_err(|source| RunError::Report { place: "standard output".to_owned(), source });
    // All are tried before the first error is returned.
    let written = [
        printed,
        write_file(arguments.json_file.as_deref(), json),
        write_file(arguments.csv_file.as_deref(), || to_csv(report)),
        write_file(arguments.html_file.as_deref(), || page::render(report)),
        write_file(arguments.junit_file.as_deref(), || to_junit(report)),
    ];
    written.into_iter().collect()
}

fn write_file(path: Option<&Path>, text: impl FnOnce() -> String) -> Result<(), RunError> {
    let Some(path) = path else { return Ok(()) };
    fs::write(path, text()).map_err(|source| RunError::Report { place: path.display().to_string(), source })
}
