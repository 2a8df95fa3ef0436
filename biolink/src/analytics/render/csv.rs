//! A table as comma-separated values (RFC 4180).

use shared::response::Response;

use super::{
    ReportContext,
    object::push_plain,
    table::{Cell, Table},
};
use crate::analytics::{query::AnalyticsQuery, report::Report};

/// Returns the table of the group that is asked for, or of the totals if none is.
pub(super) fn response(query: &AnalyticsQuery, report: &Report, context: &ReportContext) -> Response {
    let (name, table) = match query.request.groups.first() {
        Some(group) => (group.as_str(), Table::group(query, report, *group, context)),
        None => ("totals", Table::totals(query, report)),
    };
    Response::csv(&format!("analytics-{name}"), write(&table))
}

fn write(table: &Table) -> String {
    let mut text = String::new();
    for (at, name) in table.columns.iter().enumerate() {
        text.push_str(if at == 0 { "" } else { "," });
        text.push_str(name);
    }
    for row in &table.rows {
        text.push_str("\r\n");
        for (at, cell) in row.iter().enumerate() {
            text.push_str(if at == 0 { "" } else { "," });
            match cell {
                // A value that there is not, as filters spell it. An unknown number stays empty.
                Cell::Null if at == 0 => text.push_str("(none)"),
                Cell::Null | Cell::Ratio(_, 0) => {}
                Cell::Text(value) => push_text(&mut text, value),
                other => push_plain(&mut text, other),
            }
        }
    }
    text.push_str("\r\n");
    text
}

/// Writes a text in quotation marks if it needs them. A text that a spreadsheet would run as a
/// formula gets an apostrophe in front (OWASP, CSV injection): visitors choose what stands here.
/// Some spreadsheets split at a semicolon or a tab, so a text with one is quoted too.
fn push_text(text: &mut String, value: &str) {
    let is_formula = value.starts_with(['=', '+', '-', '@', '\t', '\r', '\n', '＝', '＋', '－', '＠']);
    let is_quoted = is_formula || value.contains([',', ';', '\t', '"', '\r', '\n']);
    text.push_str(if is_quoted { "\"" } else { "" });
    text.push_str(if is_formula { "'" } else { "" });
    for c in value.chars() {
        text.push_str(if c == '"' { "\"" } else { "" });
        text.push(c);
    }
    text.push_str(if is_quoted { "\"" } else { "" });
}
