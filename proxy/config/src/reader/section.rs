//! Reads one TOML table key by key, and collects every error instead of stopping at the first.

use std::fmt;
use std::ops::Range;

use toml::Spanned;
use toml::de::DeTable;

use super::effective::ToToml;
use super::entry::Reading;
use super::keys::UnknownKey;
use super::{Entry, ValueError};

/// One table of the file. [`Section::finish`] reports the keys that were not read.
pub(crate) struct Section<'a> {
    reading: Reading<'a>,
    path: String,
    span: Option<Range<usize>>,
    table: Option<&'a DeTable<'a>>,
    known: Vec<&'static str>,
}

impl<'a> Section<'a> {
    /// Creates the section of the keys that stand above all sections.
    pub(crate) fn root(reading: Reading<'a>, table: &'a Spanned<DeTable<'a>>) -> Self {
        Self::new(reading, String::new(), None, Some(table.get_ref()))
    }

    /// Creates the section from the value of a key. Reports an error if the value is not a table.
    pub(crate) fn of(entry: Entry<'a>) -> Self {
        let table = entry.read(Entry::table);
        Self::new(entry.reading, entry.path, Some(entry.value.span()), table)
    }

    /// Creates the section at `path`. Without a `table` every key is missing.
    const fn new(
        reading: Reading<'a>,
        path: String,
        span: Option<Range<usize>>,
        table: Option<&'a DeTable<'a>>,
    ) -> Self {
        Self { reading, path, span, table, known: Vec::new() }
    }

    /// Returns the value of a key, or `None` if it is missing.
    pub(crate) fn entry(&mut self, key: &'static str) -> Option<Entry<'a>> {
        self.known.push(key);
        self.reading.faults.keys.add_known(&self.path_of(key));
        let value = self.table?.get(key)?;
        self.reading.faults.offsets.borrow_mut().insert(self.path_of(key), value.span().start);
        Some(Entry { reading: self.reading, path: self.path_of(key), value })
    }

    /// Returns the parsed value of a key, or `default` if it is missing or invalid.
    pub(crate) fn read<T: ToToml>(
        &mut self,
        key: &'static str,
        default: T,
        parse: impl FnOnce(&Entry<'a>) -> Result<T, ValueError>,
    ) -> T {
        let entry = self.entry(key);
        if entry.is_none()
            && self.has_defaults()
            && let Some(value) = default.to_toml()
        {
            self.reading.faults.effective.record(&self.path_of(key), value);
        }
        entry.and_then(|entry| entry.read(parse)).unwrap_or(default)
    }

    /// Returns true if the defaults of the section are part of the effective configuration. Those
    /// of pools are not, because they stand in `[defaults]`. Nor are those of optional sections
    /// that are missing, because their presence has a meaning.
    fn has_defaults(&self) -> bool {
        let is_optional = ["server.tls", "grants", "keys", "valkey", "tracing"].contains(&self.path.as_str());
        !self.path.starts_with("pools.") && (self.is_present() || !is_optional)
    }

    /// Returns the table under a key, or an empty one if it is missing.
    pub(crate) fn section(&mut self, key: &'static str) -> Self {
        match self.entry(key) {
            Some(entry) => Self::of(entry),
            None => Self::new(self.reading, self.path_of(key), self.span.clone(), None),
        }
    }

    /// Returns true if the file has this section.
    pub(crate) const fn is_present(&self) -> bool {
        self.table.is_some()
    }

    /// Reports something missing. `key` is empty if it is not one key.
    pub(crate) fn fault(&self, key: &str, detail: impl fmt::Display) {
        let path = if key.is_empty() { self.path.clone() } else { self.path_of(key) };
        self.reading.faults.absent(self.span.clone(), &path, detail);
    }

    /// Reports an invalid value of a key, at the section if the key is missing.
    pub(crate) fn fault_at(&self, key: &str, detail: impl fmt::Display) {
        let span =
            self.table.and_then(|table| table.get(key)).map(Spanned::span).or_else(|| self.span.clone());
        self.reading.faults.add(span, &self.path_of(key), detail);
    }

    /// Returns true if the key is missing.
    pub(crate) fn lacks(&self, key: &str) -> bool {
        self.table.is_none_or(|table| !table.contains_key(key))
    }

    /// Reports every key of the section that was not read.
    pub(crate) fn finish(&self) {
        for (key, _) in self.table.into_iter().flatten() {
            let name = key.get_ref().as_ref();
            if !self.known.contains(&name) {
                self.reading.faults.keys.unknown.borrow_mut().push(UnknownKey {
                    span: key.span(),
                    path: self.path_of(name),
                    name: name.to_owned(),
                    siblings: self.known.clone(),
                });
            }
        }
    }

    fn path_of(&self, key: &str) -> String {
        if self.path.is_empty() { key.to_owned() } else { format!("{}.{key}", self.path) }
    }
}
