//! Reads one table of the file key by key, and keeps every fault instead of stopping at the first.

use std::ops::Range;

use shared::tool::edit_distance;
use toml::{
    Spanned,
    de::{DeTable, DeValue},
};

use super::{
    env::{self, Lookup},
    fault::Sink,
};

/// What all tables of one file are read with.
#[derive(Clone, Copy)]
pub(crate) struct Reading<'a> {
    pub(crate) faults: &'a Sink<'a>,
    pub(crate) env: Lookup<'a>,
}

/// One table of the file. A key that nobody asked for is a fault when the section ends.
pub(crate) struct Section<'a> {
    reading: Reading<'a>,
    path: String,
    span: Option<Range<usize>>,
    table: Option<&'a DeTable<'a>>,
    known: Vec<&'static str>,
}

/// A value in its place.
pub(crate) struct Entry<'a> {
    reading: Reading<'a>,
    pub(crate) path: String,
    value: &'a Spanned<DeValue<'a>>,
}

impl<'a> Section<'a> {
    pub(crate) fn root(reading: Reading<'a>, table: &'a Spanned<DeTable<'a>>) -> Self {
        Self { reading, path: String::new(), span: None, table: Some(table.get_ref()), known: Vec::new() }
    }

    /// The value of a key; `None` when it is left out.
    pub(crate) fn entry(&mut self, key: &'static str) -> Option<Entry<'a>> {
        self.known.push(key);
        let value = self.table?.get(key)?;
        Some(Entry { reading: self.reading, path: self.path_of(key), value })
    }

    /// The value of a key as `parse` reads it, or `default` when it is left out or faulty.
    pub(crate) fn read<T>(
        &mut self,
        key: &'static str,
        default: T,
        parse: impl FnOnce(&Entry<'a>) -> Result<T, String>,
    ) -> T {
        self.entry(key).and_then(|entry| entry.read(parse)).unwrap_or(default)
    }

    /// The table under a key; an empty one when it is left out.
    pub(crate) fn section(&mut self, key: &'static str) -> Self {
        match self.entry(key) {
            Some(entry) => entry.section(),
            None => Self {
                reading: self.reading,
                path: self.path_of(key),
                span: self.span.clone(),
                table: None,
                known: Vec::new(),
            },
        }
    }

    /// Notes a fault of the section itself.
    pub(crate) fn fault(&self, key: &str, detail: impl Into<String>) {
        let path = if key.is_empty() { self.path.clone() } else { self.path_of(key) };
        self.reading.faults.add(self.span.clone(), &path, detail);
    }

    /// The end of the section: whatever nobody asked for is a fault.
    pub(crate) fn finish(&self) {
        for (key, _) in self.table.into_iter().flatten() {
            let name = key.get_ref().as_ref();
            if !self.known.contains(&name) {
                self.reading.faults.add(Some(key.span()), &self.path_of(name), self.unknown(name));
            }
        }
    }

    fn unknown(&self, name: &str) -> String {
        let nearest = self.known.iter().min_by_key(|known| edit_distance(known, name));
        match nearest {
            Some(known) if edit_distance(known, name) <= 1 + known.len() / 4 => {
                format!("is no key here; did you mean `{known}`?")
            }
            _ => format!("is no key here; there are {}", self.known.join(", ")),
        }
    }

    fn path_of(&self, key: &str) -> String {
        if self.path.is_empty() { key.to_owned() } else { format!("{}.{key}", self.path) }
    }
}

impl<'a> Entry<'a> {
    /// What `parse` makes of the value; a fault is noted, and `None` returned, when it cannot.
    pub(crate) fn read<T>(&self, parse: impl FnOnce(&Self) -> Result<T, String>) -> Option<T> {
        parse(self).map_err(|detail| self.fault(detail)).ok()
    }

    pub(crate) fn fault(&self, detail: impl Into<String>) {
        self.reading.faults.add(Some(self.value.span()), &self.path, detail);
    }

    /// The value as text, with references to the environment replaced.
    pub(crate) fn text(&self) -> Result<String, String> {
        let text = self.value.get_ref().as_str().ok_or_else(|| self.not_a("a string"))?;
        env::expand(text, self.reading.env)
    }

    /// The value as a whole number within `range`.
    pub(crate) fn number(&self, range: std::ops::RangeInclusive<u64>) -> Result<u64, String> {
        let integer = self.value.get_ref().as_integer().ok_or_else(|| self.not_a("a whole number"))?;
        let number = u64::from_str_radix(integer.as_str(), integer.radix()).ok();
        number.filter(|number| range.contains(number)).ok_or_else(|| {
            format!("{} is out of bounds: from {} to {}", integer.as_str(), range.start(), range.end())
        })
    }

    /// Whether the value is an array.
    pub(crate) fn is_array(&self) -> bool {
        self.value.get_ref().is_array()
    }

    /// The elements of an array, each in its place.
    pub(crate) fn elements(&self) -> Result<Vec<Self>, String> {
        let array = self.value.get_ref().as_array().ok_or_else(|| self.not_a("an array"))?;
        let element =
            |(index, value)| Entry { reading: self.reading, path: format!("{}[{index}]", self.path), value };
        Ok(array.iter().enumerate().map(element).collect())
    }

    /// The value as a table; a fault is noted when it is none.
    pub(crate) fn section(self) -> Section<'a> {
        let table = self.value.get_ref().as_table();
        if table.is_none() {
            self.fault(self.not_a("a table"));
        }
        Section {
            reading: self.reading,
            path: self.path,
            span: Some(self.value.span()),
            table,
            known: Vec::new(),
        }
    }

    fn not_a(&self, wanted: &str) -> String {
        format!("must be {wanted}, not {}", kind(self.value.get_ref()))
    }
}

fn kind(value: &DeValue<'_>) -> &'static str {
    match value {
        DeValue::String(_) => "a string",
        DeValue::Integer(_) => "a whole number",
        DeValue::Float(_) => "a number with a point",
        DeValue::Boolean(_) => "true or false",
        DeValue::Datetime(_) => "a date",
        DeValue::Array(_) => "an array",
        DeValue::Table(_) => "a table",
    }
}
