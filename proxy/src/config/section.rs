//! Reads one table of the file key by key, and keeps every fault instead of stopping at the first.

use std::{ops::Range, path::PathBuf};

use toml::{
    Spanned,
    de::{DeTable, DeValue},
};

use super::{
    effective::{Written, quoted},
    env::{self, Lookup},
    fault::Sink,
    keys::Unknown,
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
        self.reading.faults.keys().asked(&self.path_of(key));
        let value = self.table?.get(key)?;
        Some(Entry { reading: self.reading, path: self.path_of(key), value })
    }

    /// The value of a key as `parse` reads it, or `default` when it is left out or faulty.
    pub(crate) fn read<T: Written>(
        &mut self,
        key: &'static str,
        default: T,
        parse: impl FnOnce(&Entry<'a>) -> Result<T, String>,
    ) -> T {
        let entry = self.entry(key);
        if entry.is_none()
            && self.has_defaults()
            && let Some(written) = default.written()
        {
            self.reading.faults.effective().note(&self.path_of(key), written);
        }
        entry.and_then(|entry| entry.read(parse)).unwrap_or(default)
    }

    /// Returns true if what the section leaves out is part of the effective configuration. Pools inherit it from
    /// `[defaults]`; some sections mean something by not being there.
    fn has_defaults(&self) -> bool {
        let is_optional = ["server.tls", "grants", "keys"].contains(&self.path.as_str());
        !self.path.starts_with("pools.") && (self.is_written() || !is_optional)
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

    /// A secret, which stands under the first key or in the file that the second one names. `missing` is said when it
    /// does neither, unless it need not.
    pub(crate) fn secret<T>(
        &mut self,
        [key, file]: [&'static str; 2],
        parse: impl FnOnce(&str) -> Result<T, String>,
        missing: Option<&str>,
    ) -> Option<T> {
        match (self.entry(key), self.entry(file)) {
            (Some(entry), None) => entry.read(|entry| parse(&entry.secret()?)),
            (None, Some(entry)) => entry.read(|entry| parse(&entry.file()?)),
            (Some(_), Some(entry)) => {
                entry.fault(format!("stands beside `{key}`; keep one of the two"));
                None
            }
            (None, None) => {
                missing.into_iter().for_each(|missing| self.fault(key, missing));
                None
            }
        }
    }

    /// Whether the file has this section.
    pub(crate) const fn is_written(&self) -> bool {
        self.table.is_some()
    }

    /// Notes that the section lacks something; `key` is empty when it is not one key.
    pub(crate) fn fault(&self, key: &str, detail: impl Into<String>) {
        let path = if key.is_empty() { self.path.clone() } else { self.path_of(key) };
        self.reading.faults.absent(self.span.clone(), &path, detail);
    }

    /// Notes a fault of a key's value, or of the section when the key is left out.
    pub(crate) fn fault_at(&self, key: &str, detail: impl Into<String>) {
        let span =
            self.table.and_then(|table| table.get(key)).map(Spanned::span).or_else(|| self.span.clone());
        self.reading.faults.add(span, &self.path_of(key), detail);
    }

    /// Whether the key is left out.
    pub(crate) fn is_without(&self, key: &str) -> bool {
        self.table.is_none_or(|table| !table.contains_key(key))
    }

    /// The end of the section: whatever nobody asked for is a fault.
    pub(crate) fn finish(&self) {
        for (key, _) in self.table.into_iter().flatten() {
            let name = key.get_ref().as_ref();
            if !self.known.contains(&name) {
                self.reading.faults.keys().unknown(Unknown {
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
        let text = env::expand(text, self.reading.env)?;
        self.note(quoted(&text));
        Ok(text)
    }

    /// Notes the value for the effective configuration.
    fn note(&self, value: String) {
        self.reading.faults.effective().note(&self.path, value);
    }

    /// As [`Self::text`], for a value that is never repeated in a message.
    pub(crate) fn secret(&self) -> Result<String, String> {
        let text =
            self.value.get_ref().as_str().ok_or("must be a string: \"${NAME}\" or the secret itself")?;
        self.note(match env::is_reference(text) {
            true => quoted(text),
            false => {
                let name = self.path.to_uppercase().replace('.', "_");
                format!("{} # redacted: the file has the secret itself", quoted(&format!("${{{name}}}")))
            }
        });
        env::expand(text, self.reading.env)
    }

    /// The value as a path from the root on.
    pub(crate) fn whole_path(&self) -> Result<PathBuf, String> {
        let path = PathBuf::from(self.text()?);
        match path.is_absolute() {
            true => Ok(path),
            false => Err(format!("`{}` must be a whole path; write one from the root on", path.display())),
        }
    }

    /// The text of the file that the value names, without the end of its line. What is in it is never repeated.
    pub(crate) fn file(&self) -> Result<String, String> {
        let path = self.path()?;
        match std::fs::read_to_string(&path) {
            Ok(text) => Ok(text.trim_end_matches(['\r', '\n']).to_owned()),
            Err(error) => Err(format!("{} cannot be read: {error}", path.display())),
        }
    }

    /// The file that the value names, which is to be read: it is named among those that were.
    pub(crate) fn path(&self) -> Result<PathBuf, String> {
        let path = self.whole_path()?;
        self.reading.faults.reads(path.clone());
        Ok(path)
    }

    /// The value as text with a unit; `examples` are right ones.
    pub(crate) fn with_unit(&self, examples: &str) -> Result<String, String> {
        match self.value.get_ref() {
            DeValue::Integer(number) => {
                Err(format!("{} has no unit; write a string such as {examples}", number.as_str()))
            }
            _ => self.text(),
        }
    }

    /// The value as `true` or `false`. A string is one when it refers to the environment.
    pub(crate) fn truth(&self) -> Result<bool, String> {
        let truth = match self.value.get_ref() {
            DeValue::Boolean(truth) => *truth,
            DeValue::String(text) if text.contains("${") => {
                let text = env::expand(text, self.reading.env)?;
                text.parse().map_err(|_| format!("`{text}` is neither true nor false"))?
            }
            DeValue::String(text) if text.parse::<bool>().is_ok() => {
                return Err(format!("must be true or false; write {text} without quotes"));
            }
            _ => return Err(self.not_a("true or false")),
        };
        self.note(truth.to_string());
        Ok(truth)
    }

    /// The value as a whole number within `range`. A string is one when it refers to the environment.
    pub(crate) fn number(&self, range: std::ops::RangeInclusive<u64>) -> Result<u64, String> {
        let (shown, number) = match self.value.get_ref() {
            DeValue::Integer(integer) => {
                let number = u64::from_str_radix(integer.as_str(), integer.radix()).ok();
                (
                    integer.as_str().to_owned(),
                    number.or_else(|| (!integer.as_str().starts_with('-')).then_some(u64::MAX)),
                )
            }
            DeValue::String(text) if text.contains("${") => {
                let text = env::expand(text, self.reading.env)?;
                let number = text.parse().map_err(|_| format!("`{text}` is no whole number"))?;
                (text, Some(number))
            }
            DeValue::String(text) if text.parse::<u64>().is_ok() => {
                return Err(format!("must be a whole number; write {text} without quotes"));
            }
            _ => return Err(self.not_a("a whole number")),
        };
        number
            .filter(|number| range.contains(number))
            .inspect(|number| self.note(number.to_string()))
            .ok_or_else(|| format!("{shown} is out of bounds: from {} to {}", range.start(), range.end()))
    }

    /// Whether the value is an array.
    pub(crate) fn is_array(&self) -> bool {
        self.value.get_ref().is_array()
    }

    /// The elements of an array, each in its place.
    pub(crate) fn elements(&self) -> Result<Vec<Self>, String> {
        let array = self.value.get_ref().as_array().ok_or_else(|| match self.value.get_ref() {
            DeValue::String(text) => format!("must be an array; write [\"{text}\"]"),
            _ => self.not_a("an array"),
        })?;
        self.reading.faults.effective().note_array(&self.path);
        let element =
            |(index, value)| Entry { reading: self.reading, path: format!("{}[{index}]", self.path), value };
        Ok(array.iter().enumerate().map(element).collect())
    }

    /// The value as a table; a fault is noted when it is none.
    pub(crate) fn section(self) -> Section<'a> {
        let table = self.value.get_ref().as_table();
        if table.is_none() {
            self.fault("must be a table; write its keys below a line [section]");
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
        format!("must be {wanted}, not {}", shown(self.value.get_ref()))
    }
}

fn shown(value: &DeValue<'_>) -> String {
    match value {
        DeValue::String(text) => format!("the string `{}`", text.chars().take(64).collect::<String>()),
        DeValue::Integer(number) => format!("the number {}", number.as_str()),
        DeValue::Float(number) => format!("the number {}", number.as_str()),
        DeValue::Boolean(truth) => truth.to_string(),
        DeValue::Datetime(date) => format!("the date {date}"),
        DeValue::Array(_) => "an array".to_owned(),
        DeValue::Table(_) => "a table".to_owned(),
    }
}
