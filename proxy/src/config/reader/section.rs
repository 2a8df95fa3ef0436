//! Reads one TOML table key by key, and collects every error instead of stopping at the first.

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

/// The context of reading one file.
#[derive(Clone, Copy)]
pub(crate) struct Reading<'a> {
    pub(crate) faults: &'a Sink<'a>,
    pub(crate) env: Lookup<'a>,
}

/// One table of the file. [`Section::finish`] reports the keys that were not read.
pub(crate) struct Section<'a> {
    reading: Reading<'a>,
    path: String,
    span: Option<Range<usize>>,
    table: Option<&'a DeTable<'a>>,
    known: Vec<&'static str>,
}

/// A value and its path.
pub(crate) struct Entry<'a> {
    reading: Reading<'a>,
    pub(crate) path: String,
    value: &'a Spanned<DeValue<'a>>,
}

impl<'a> Section<'a> {
    pub(crate) fn root(reading: Reading<'a>, table: &'a Spanned<DeTable<'a>>) -> Self {
        Self { reading, path: String::new(), span: None, table: Some(table.get_ref()), known: Vec::new() }
    }

    /// Returns the value of a key, or `None` if it is missing.
    pub(crate) fn entry(&mut self, key: &'static str) -> Option<Entry<'a>> {
        self.known.push(key);
        self.reading.faults.keys().asked(&self.path_of(key));
        let value = self.table?.get(key)?;
        Some(Entry { reading: self.reading, path: self.path_of(key), value })
    }

    /// Returns the parsed value of a key, or `default` if it is missing or invalid.
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

    /// Returns the table under a key, or an empty one if it is missing.
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

    /// Returns a secret from the first key, or from the file that the second key names. Reports
    /// `missing` if neither is set, unless it is `None`.
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
                entry.fault(format!("conflicts with `{key}`: set only one of them"));
                None
            }
            (None, None) => {
                missing.into_iter().for_each(|missing| self.fault(key, missing));
                None
            }
        }
    }

    /// Returns true if the file has this section.
    pub(crate) const fn is_written(&self) -> bool {
        self.table.is_some()
    }

    /// Reports something missing. `key` is empty if it is not one key.
    pub(crate) fn fault(&self, key: &str, detail: impl Into<String>) {
        let path = if key.is_empty() { self.path.clone() } else { self.path_of(key) };
        self.reading.faults.absent(self.span.clone(), &path, detail);
    }

    /// Reports an invalid value of a key, at the section if the key is missing.
    pub(crate) fn fault_at(&self, key: &str, detail: impl Into<String>) {
        let span =
            self.table.and_then(|table| table.get(key)).map(Spanned::span).or_else(|| self.span.clone());
        self.reading.faults.add(span, &self.path_of(key), detail);
    }

    /// Returns true if the key is missing.
    pub(crate) fn is_without(&self, key: &str) -> bool {
        self.table.is_none_or(|table| !table.contains_key(key))
    }

    /// Reports every key of the section that was not read.
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
    /// Returns the parsed value. Reports the error and returns `None` if it is invalid.
    pub(crate) fn read<T>(&self, parse: impl FnOnce(&Self) -> Result<T, String>) -> Option<T> {
        parse(self).map_err(|detail| self.fault(detail)).ok()
    }

    pub(crate) fn fault(&self, detail: impl Into<String>) {
        self.reading.faults.add(Some(self.value.span()), &self.path, detail);
    }

    /// Returns the string, with references to environment variables replaced.
    pub(crate) fn text(&self) -> Result<String, String> {
        let text = self.value.get_ref().as_str().ok_or_else(|| self.not_a("a string"))?;
        let text = env::expand(text, self.reading.env)?;
        self.note(quoted(&text));
        Ok(text)
    }

    /// Records the value in the effective configuration.
    fn note(&self, value: String) {
        self.reading.faults.effective().note(&self.path, value);
    }

    /// Returns the string like [`Self::text`]. The value never appears in a message.
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

    /// Returns the value as an absolute path.
    pub(crate) fn absolute_path(&self) -> Result<PathBuf, String> {
        let path = PathBuf::from(self.text()?);
        match path.is_absolute() {
            true => Ok(path),
            false => Err(format!("`{}` must be an absolute path", path.display())),
        }
    }

    /// Returns the text of the file that the value names, without the final newline. Its content never
    /// appears in a message.
    pub(crate) fn file(&self) -> Result<String, String> {
        let path = self.path()?;
        match std::fs::read_to_string(&path) {
            Ok(text) => Ok(text.trim_end_matches(['\r', '\n']).to_owned()),
            Err(error) => Err(format!("{} cannot be read: {error}", path.display())),
        }
    }

    /// Returns the path of a file to read, and records it among the files of the configuration.
    pub(crate) fn path(&self) -> Result<PathBuf, String> {
        let path = self.absolute_path()?;
        self.reading.faults.reads(path.clone());
        Ok(path)
    }

    /// Returns the string of a value with a unit. `examples` shows valid ones.
    pub(crate) fn with_unit(&self, examples: &str) -> Result<String, String> {
        match self.value.get_ref() {
            DeValue::Integer(number) => {
                Err(format!("{} has no unit: expected a string, for example {examples}", number.as_str()))
            }
            _ => self.text(),
        }
    }

    /// Returns the Boolean. A string is accepted if it refers to an environment variable.
    pub(crate) fn truth(&self) -> Result<bool, String> {
        let truth = match self.value.get_ref() {
            DeValue::Boolean(truth) => *truth,
            DeValue::String(text) if text.contains("${") => {
                let text = env::expand(text, self.reading.env)?;
                text.parse().map_err(|_| format!("invalid value `{text}`: expected true or false"))?
            }
            DeValue::String(text) if text.parse::<bool>().is_ok() => {
                return Err(format!("must be true or false; write {text} without quotes"));
            }
            _ => return Err(self.not_a("true or false")),
        };
        self.note(truth.to_string());
        Ok(truth)
    }

    /// Returns the whole number, which must be within `range`. A string is accepted if it refers to an
    /// environment variable.
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
                let number = text.parse().map_err(|_| format!("`{text}` is not a whole number"))?;
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
            .ok_or_else(|| format!("{shown} is out of range: expected {} to {}", range.start(), range.end()))
    }

    /// Returns true if the value is an array.
    pub(crate) fn is_array(&self) -> bool {
        self.value.get_ref().is_array()
    }

    /// Returns the elements of an array with their paths.
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

    /// Returns the value as a table. Reports an error if it is not one.
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
