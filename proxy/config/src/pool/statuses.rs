//! Lists of statuses.

use crate::reader::{Entry, ValueError};

/// Parses the statuses of a passed probe: one, or an array of at least one.
pub(super) fn probe_statuses(entry: &Entry<'_>) -> Result<Vec<u16>, ValueError> {
    let status = |entry: &Entry<'_>| entry.number(100..=599);
    if !entry.is_array() {
        return Ok(vec![status(entry)?]);
    }
    match entry.elements()?.iter().map(status).collect::<Result<Vec<_>, _>>()? {
        statuses if statuses.is_empty() => Err(ValueError::Empty { expected: "at least one status" }),
        statuses => Ok(statuses),
    }
}

/// Parses an array of statuses that report an error. It may be empty.
pub(super) fn error_statuses(entry: &Entry<'_>) -> Result<Vec<u16>, ValueError> {
    entry.elements()?.iter().map(|status| status.number(400..=599)).collect()
}
