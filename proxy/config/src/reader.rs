//! A generic reader of TOML configuration: sections, values with units, references to environment
//! variables, errors with their position and suggestions for unknown keys.
//!
//! Why: docs/decisions/proxy.md, "The configuration is read by hand".

pub(super) mod choice;
pub(super) mod effective;
pub(super) mod entry;
pub(super) mod env;
mod error;
pub(super) mod fault;
mod keys;
pub(super) mod part;
pub(super) mod section;
pub(super) mod values;

use std::ops::RangeInclusive;
use std::time::Duration;

pub(super) use entry::Entry;
pub(super) use error::ValueError;
pub(super) use section::Section;

/// Returns a parser of whole numbers within a range.
pub(super) fn count<T: TryFrom<u64>>(
    range: RangeInclusive<u64>,
) -> impl FnOnce(&Entry<'_>) -> Result<T, ValueError> {
    move |entry| entry.number(range)
}

/// Returns a parser of durations within a range.
pub(super) fn duration_in(
    range: RangeInclusive<Duration>,
) -> impl FnOnce(&Entry<'_>) -> Result<Duration, ValueError> {
    move |entry| {
        let text = entry.with_unit(values::DURATIONS)?;
        let duration = values::duration(&text)?;
        if range.contains(&duration) {
            return Ok(duration);
        }
        Err(ValueError::OutOfRange {
            value: text,
            least: values::show(*range.start()),
            most: values::show(*range.end()),
        })
    }
}

/// Parses an array of strings.
pub(super) fn names(entry: &Entry<'_>) -> Result<Vec<String>, ValueError> {
    entry.elements()?.iter().map(Entry::text).collect()
}

/// Reads the section under a key with `read`, and reports its unknown keys.
pub(super) fn section<'a, T>(
    root: &mut Section<'a>,
    key: &'static str,
    read: impl FnOnce(&mut Section<'a>) -> T,
) -> T {
    let mut section = root.section(key);
    let value = read(&mut section);
    section.finish();
    value
}
