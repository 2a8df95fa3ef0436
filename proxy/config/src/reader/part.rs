//! A part of the configuration that is in its own file. A faulty one keeps its last good content.

use std::path::Path;

use super::{Entry, Section, ValueError};
use crate::file;
use crate::last_good::Kept;

/// How the proxy does without the content of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Need {
    /// Not at all: the configuration is faulty.
    Required,
    /// The part is missing, and all others are in use.
    Optional,
}

impl Entry<'_> {
    /// Returns what `parse` makes of the file at `path`, or of its last good content while the file is
    /// faulty. Reports the fault. Returns `None` if there is neither.
    pub(crate) fn part<T>(
        &self,
        path: &Path,
        (need, place): (Need, Kept),
        parse: impl Fn(&[u8]) -> Result<T, ValueError>,
    ) -> Option<T> {
        let kept = || {
            let text = self.last_good(&self.path)?;
            let value = parse(text.as_bytes()).ok()?;
            self.keep(&self.path, text.to_owned(), place);
            Some(value)
        };
        if self.is_changing(path)
            && let Some(value) = kept()
        {
            return Some(value);
        }
        let read = self.content(path).and_then(|bytes| Ok((parse(&bytes)?, bytes)));
        match read {
            Ok((value, bytes)) => {
                self.keep(&self.path, String::from_utf8_lossy(&bytes).into_owned(), place);
                Some(value)
            }
            Err(error) => {
                let value = kept();
                match value.is_none() && need == Need::Required {
                    true => self.fault(error),
                    false => self.fail(error, value.is_some()),
                }
                value
            }
        }
    }

    /// Reads a file.
    pub(crate) fn content(&self, path: &Path) -> Result<Vec<u8>, ValueError> {
        file::read(path).map_err(|error| ValueError::Unreadable { path: path.to_owned(), error })
    }

    /// Returns true if a file is being written, so that its last good content stays in use.
    pub(crate) fn is_changing(&self, path: &Path) -> bool {
        self.reading.known.changing.iter().any(|changing| changing == path)
    }

    /// Returns the last good content that was kept under a key.
    pub(crate) fn last_good(&self, key: &str) -> Option<&str> {
        self.reading.known.last_good.content(key)
    }

    /// Keeps a good content.
    pub(crate) fn keep(&self, key: &str, text: String, place: Kept) {
        self.reading.faults.last_good.borrow_mut().keep(key, text, place);
    }

    /// Reports that the file which the value names cannot be used.
    pub(crate) fn fail(&self, detail: impl std::fmt::Display, is_kept: bool) {
        self.reading.faults.fail(Some(self.value.span()), &self.path, detail, is_kept);
    }
}

impl<'a> Section<'a> {
    /// Returns a secret from the first key, or from the file that the second key names. Reports
    /// `missing` if neither is set, unless it is `None`: then a faulty file leaves the secret out.
    pub(crate) fn secret<T>(
        &mut self,
        [key, file]: [&'static str; 2],
        parse: impl Fn(&str) -> Result<T, ValueError>,
        missing: Option<&str>,
    ) -> Option<T> {
        match (self.entry(key), self.entry(file)) {
            (Some(entry), None) => entry.read(|entry| parse(&entry.secret()?)),
            (None, Some(entry)) => {
                let path = entry.read(Entry::secret_path)?;
                let need = if missing.is_some() { Need::Required } else { Need::Optional };
                entry.part(&path, (need, Kept::InMemory), |bytes| {
                    parse(text(&path, bytes)?.trim_end_matches(['\r', '\n']))
                })
            }
            (Some(_), Some(entry)) => {
                entry.fault(format!("conflicts with `{key}`: set only one of them"));
                None
            }
            (None, None) => {
                missing.into_iter().for_each(|missing| self.fault(key, missing));
                None
            }
        }
    }
}

/// Returns the content of a file as text.
pub(crate) fn text<'a>(path: &Path, bytes: &'a [u8]) -> Result<&'a str, ValueError> {
    std::str::from_utf8(bytes).map_err(|_| ValueError::NotText { path: path.to_owned() })
}
