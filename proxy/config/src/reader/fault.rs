//! The errors of a configuration file, with their positions.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;
use std::path::PathBuf;

use super::effective::Effective;
use super::keys::Keys;
use crate::last_good::LastGood;

/// One error: its position, its key, and what is expected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Line and column, both from 1. `None` for something that is missing.
    pub place: Option<(usize, usize)>,
    /// The key's path, such as `pools.qr.upstreams[0]`; empty for the file as a whole.
    pub key: String,
    /// The error, the value and what is expected.
    pub detail: String,
}

/// All errors of one file, in file order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Faults {
    /// The file, as it was named.
    pub file: String,
    /// At least one.
    pub list: Vec<Fault>,
    /// The other files that it names, readable or not.
    pub files: Vec<PathBuf>,
}

/// The positions of the values of a file by the paths of their keys: line and column, both from 1.
#[derive(Clone, Default)]
pub struct Places(BTreeMap<String, (usize, usize)>);

/// A file whose content must be kept secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SecretFile {
    /// The path of the key that names it.
    pub key: String,
    /// The file.
    pub path: PathBuf,
}

impl Places {
    /// Returns true if the file has the key.
    pub fn has(&self, key: &str) -> bool {
        self.0.contains_key(key)
    }

    /// Returns the first key of a section that the file has.
    pub fn first_of(&self, section: &str) -> Option<String> {
        let begins = |key: &&String| key.strip_prefix(section).is_some_and(|rest| rest.starts_with('.'));
        self.0
            .iter()
            .filter(|(key, _)| begins(key))
            .min_by_key(|(_, place)| **place)
            .map(|(key, _)| key.clone())
    }

    /// Returns the position of a key's value. That of a pool's key can stand in `[defaults]`. A key
    /// that the file does not have is at its section.
    pub fn of(&self, key: &str) -> Option<(usize, usize)> {
        let inherited = || {
            let (_tool, setting) = key.strip_prefix("pools.")?.split_once('.')?;
            self.0.get(&format!("defaults.{setting}"))
        };
        let sections = std::iter::successors(key.rsplit_once('.'), |(section, _)| section.rsplit_once('.'));
        let section = || sections.map(|(section, _)| section).find_map(|section| self.0.get(section));
        self.0.get(key).or_else(inherited).or_else(section).copied()
    }
}

/// A file that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FailedPart {
    /// The key that names the file, its place, and what is wrong.
    pub fault: Fault,
    /// Whether its last good state stays in use. Otherwise the part has none.
    pub is_kept: bool,
}

/// A collector of errors while a file is read.
#[derive(Debug)]
pub(crate) struct FaultSink<'a> {
    text: &'a str,
    list: RefCell<Vec<Found>>,
    /// The known and unknown keys.
    pub(crate) keys: Keys,
    /// The other files that the configuration names.
    pub(crate) files: RefCell<Vec<PathBuf>>,
    /// The files whose content must be kept secret.
    pub(crate) secret_files: RefCell<Vec<SecretFile>>,
    /// The offsets of the values that were read, by path.
    pub(crate) offsets: RefCell<BTreeMap<String, usize>>,
    /// The good content of the files that the configuration names.
    pub(crate) last_good: RefCell<LastGood>,
    /// Those of them that cannot be used.
    failed: RefCell<Vec<(Found, bool)>>,
    pub(crate) effective: Effective,
}

/// An error and its kind.
#[derive(Debug)]
struct Found {
    span: Option<Range<usize>>,
    kind: Kind,
    fault: Fault,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Syntax,
    Value,
    Absent,
}

impl<'a> FaultSink<'a> {
    /// Creates an empty collector for the file with this text.
    pub(crate) fn new(text: &'a str) -> Self {
        Self {
            text,
            list: RefCell::default(),
            keys: Keys::default(),
            files: RefCell::default(),
            secret_files: RefCell::default(),
            offsets: RefCell::default(),
            last_good: RefCell::default(),
            failed: RefCell::default(),
            effective: Effective::default(),
        }
    }

    /// Reports an invalid value.
    pub(crate) fn add(&self, span: Option<Range<usize>>, key: &str, detail: impl fmt::Display) {
        self.push(Kind::Value, span, key, detail.to_string());
    }

    /// Reports something missing. `span` is where it should be.
    pub(crate) fn absent(&self, span: Option<Range<usize>>, key: &str, detail: impl fmt::Display) {
        self.push(Kind::Absent, span, key, detail.to_string());
    }

    /// Reports a file that cannot be used, and whether its last good state stays in use.
    pub(crate) fn fail(
        &self,
        span: Option<Range<usize>>,
        key: &str,
        detail: impl fmt::Display,
        is_kept: bool,
    ) {
        let found = self.found(Kind::Value, span, key, detail.to_string());
        self.failed.borrow_mut().push((found, is_kept));
    }

    /// Returns the files that cannot be used, in the order of their places.
    pub(crate) fn failed_parts(&self) -> Vec<FailedPart> {
        let failed = self.failed.borrow();
        let part =
            |(found, is_kept): &(Found, bool)| FailedPart { fault: found.fault.clone(), is_kept: *is_kept };
        let mut failed: Vec<_> = failed.iter().map(part).collect();
        failed.sort_by_key(|part| part.fault.place);
        failed
    }

    /// Reports a TOML syntax error.
    pub(crate) fn syntax(&self, error: &toml::de::Error) {
        let found = error.span().and_then(|span| self.text.get(span)).unwrap_or("");
        let detail = match error.message().trim() {
            "duplicate key" => format!("duplicate key `{found}`: expected it once"),
            other => other.to_owned(),
        };
        self.push(Kind::Syntax, error.span(), "", detail);
    }

    fn push(&self, kind: Kind, span: Option<Range<usize>>, key: &str, detail: String) {
        let found = self.found(kind, span, key, detail);
        self.list.borrow_mut().push(found);
    }

    fn found(&self, kind: Kind, span: Option<Range<usize>>, key: &str, detail: String) -> Found {
        let place = span.as_ref().map(|span| position(self.text, span.start));
        Found { span, kind, fault: Fault { place, key: key.to_owned(), detail } }
    }

    /// Returns the positions of all values that were read.
    pub(crate) fn places(&self) -> Places {
        let offsets = self.offsets.borrow();
        let place = |(path, offset): (&String, &usize)| (path.clone(), position(self.text, *offset));
        Places(offsets.iter().map(place).collect())
    }

    /// Returns `value`, or all errors if there are any.
    pub(crate) fn into_result<T>(self, file: &str, value: T) -> Result<T, Faults> {
        for (key, hint) in self.keys.explain() {
            self.add(Some(key.span), &key.path, hint);
        }
        let mut list = self.list.into_inner();
        if list.is_empty() {
            return Ok(value);
        }
        list.extend(self.failed.into_inner().into_iter().map(|(found, _)| found));
        list.sort_by_key(|found| found.span.as_ref().map_or(usize::MAX, |span| span.start));
        let list = without_consequences(list).into_iter().map(|found| found.fault).collect();
        Err(Faults { file: file.to_owned(), list, files: self.files.into_inner() })
    }
}

/// Removes errors that follow from a syntax error, because the parser only guesses the rest of the
/// file. Otherwise they would hide the cause, or show a secret that was read as another value.
/// Syntax errors on consecutive lines count as one.
fn without_consequences(list: Vec<Found>) -> Vec<Found> {
    let line = |found: &Found| found.fault.place.map_or(usize::MAX, |(line, _)| line);
    let Some(broken) = list.iter().filter(|found| found.kind == Kind::Syntax).map(line).min() else {
        return list;
    };
    let mut last = None;
    let is_cause = |found: &Found| match found.kind {
        Kind::Absent => false,
        Kind::Value => line(found) < broken && found.span.as_ref().is_some_and(|span| !span.is_empty()),
        Kind::Syntax => {
            let is_consequence = last.is_some_and(|last: usize| line(found) <= last.saturating_add(1));
            last = Some(line(found));
            !is_consequence
        }
    };
    list.into_iter().filter(is_cause).collect()
}

fn position(text: &str, offset: usize) -> (usize, usize) {
    let before = text.get(..offset).unwrap_or(text);
    let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
    let column = before.get(line_start..).unwrap_or("").chars().count() + 1;
    (before.matches('\n').count() + 1, column)
}

impl fmt::Debug for Places {
    /// Omits the positions, because configurations are compared by what they mean.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Places").finish_non_exhaustive()
    }
}

impl std::error::Error for Faults {}

impl fmt::Display for Faults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for fault in &self.list {
            match fault.place {
                Some((line, column)) => write!(f, "{}:{line}:{column}: ", self.file)?,
                None => write!(f, "{}: ", self.file)?,
            }
            match fault.key.as_str() {
                "" => writeln!(f, "{}", fault.detail)?,
                key => writeln!(f, "{key}: {}", fault.detail)?,
            }
        }
        let count = self.list.len();
        write!(f, "{count} fault{} found", if count == 1 { "" } else { "s" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_key_is_at_its_default_or_section() {
        let places = [("server", 1), ("defaults.probe.timeout", 2), ("pools.qr", 3), ("pools.qr.path", 4)];
        let places = Places(places.map(|(key, line)| (key.to_owned(), (line, 1))).into());
        for (key, line) in [
            ("server.grace", Some(1)),
            ("pools.qr.probe.timeout", Some(2)),
            ("pools.qr.probe.interval", Some(3)),
            ("pools.qr.path", Some(4)),
            ("clients.h2c", None),
        ] {
            assert_eq!(places.of(key).map(|(line, _)| line), line, "{key}");
        }
    }

    #[test]
    fn position_counts_characters_from_one() {
        assert_eq!(position("a\nüb = 1", 0), (1, 1));
        assert_eq!(position("a\nüb = 1", 4), (2, 2));
        assert_eq!(position("a\nb", 99), (2, 2));
    }
}
