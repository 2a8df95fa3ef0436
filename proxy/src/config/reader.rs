//! A generic reader of TOML configuration: sections, values with units, references to environment
//! variables, errors with their position and suggestions for unknown keys.

pub(super) mod effective;
pub(super) mod env;
pub(super) mod fault;
mod keys;
pub(super) mod section;
pub(super) mod values;

use std::{ops::RangeInclusive, time::Duration};

pub(super) use section::{Entry, Section};

/// Returns a parser of whole numbers within a range.
pub(super) fn count<T: TryFrom<u64>>(
    range: RangeInclusive<u64>,
) -> impl FnOnce(&Entry<'_>) -> Result<T, String> {
    move |entry| T::try_from(entry.number(range)?).map_err(|_| "is too large for this machine".to_owned())
}

/// Returns a parser of durations within a range.
pub(super) fn duration_in(
    range: RangeInclusive<Duration>,
) -> impl FnOnce(&Entry<'_>) -> Result<Duration, String> {
    move |entry| {
        let text = entry.with_unit(values::DURATIONS)?;
        let duration = values::duration(&text)?;
        if range.contains(&duration) {
            return Ok(duration);
        }
        let (least, most) = (values::show(*range.start()), values::show(*range.end()));
        Err(format!("{text} is out of range: expected {least} to {most}"))
    }
}

/// Parses an array of strings.
pub(super) fn names(entry: &Entry<'_>) -> Result<Vec<String>, String> {
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
