//! The reports that a run writes.

use std::fs;
use std::io::{self, Write};
use std::path::Path;

use super::{Arguments, RunError};
use crate::page;
use crate::report::{Report, to_csv};

/// Writes all requested reports.
pub(super) fn write(report: &Report, arguments: &Arguments) -> Result<(), RunError> {
    let json = || serde_json::to_string_pretty(report).unwrap_or_default() + "\n";
    let text = if arguments.json { json() } else { report.to_string() };
    io::stdout()
        .write_all(text.as_bytes())
        .map_err(|source| RunError::Report { place: "standard output".to_owned(), source })?;
    write_file(arguments.json_file.as_deref(), json)?;
    write_file(arguments.csv_file.as_deref(), || to_csv(report))?;
    write_file(arguments.html_file.as_deref(), || page::render(report))
}

fn write_file(path: Option<&Path>, text: impl FnOnce() -> String) -> Result<(), RunError> {
    let Some(path) = path else { return Ok(()) };
    fs::write(path, text()).map_err(|source| RunError::Report { place: path.display().to_string(), source })
}
