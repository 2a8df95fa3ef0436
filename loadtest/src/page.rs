//! The report as one HTML page.

use crate::report::Report;

/// Renders the page.
pub(crate) fn render(report: &Report) -> String {
    report.to_string()
}
