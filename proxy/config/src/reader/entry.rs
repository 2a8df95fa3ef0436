//! One value of the file: its type, its references to the environment and its path.

use std::fmt;
use std::ops::RangeInclusive;
use std::path::PathBuf;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::ValueError;
use super::effective::quoted;
use super::env::{self, Lookup, ReferenceError};
use super::fault::{FaultSink, SecretFile};
use crate::Known;

/// The context of reading one file.
#[derive(Clone, Copy)]
pub(crate) struct Reading<'a> {
    pub(crate) faults: &'a FaultSink<'a>,
    pub(crate) env: Lookup<'a>,
    pub(crate) known: Known<'a>,
}

/// A value and its path.
pub(crate) struct Entry<'a> {
    pub(crate) reading: Reading<'a>,
    pub(crate) path: String,
    pub(super) value: &'a Spanned<DeValue<'a>>,
}

impl<'a> Entry<'a> {
    /// Returns the parsed value. Reports the error and returns `None` if it is invalid.
    pub(crate) fn read<T>(&self, parse: impl FnOnce(&Self) -> Result<T, ValueError>) -> Option<T> {
        parse(self).map_err(|error| self.fault(error)).ok()
    }

    /// Reports an error in the value.
    pub(crate) fn fault(&self, detail: impl fmt::Display) {
        self.reading.faults.add(Some(self.value.span()), &self.path, detail);
    }

    /// Returns the string, with references to environment variables replaced.
    pub(crate) fn text(&self) -> Result<String, ValueError> {
        let text = self.value.get_ref().as_str().ok_or_else(|| self.type_error("a string"))?;
        let text = self.expand(text)?;
        self.record(quoted(&text));
        Ok(text)
    }

    fn expand(&self, text: &str) -> Result<String, ReferenceError> {
        env::expand_shown(text, self.reading.env)
    }

    /// Records the value in the effective configuration.
    fn record(&self, value: String) {
        self.reading.faults.effective.record(&self.path, value);
    }

    /// Returns the string like [`Self::text`]. The value never appears in a message.
    pub(crate) fn secret(&self) -> Result<String, ValueError> {
        let text = self.value.get_ref().as_str().ok_or(ValueError::SecretType)?;
        self.record(match env::is_reference(text) {
            true => quoted(text),
            false => {
                let name = self.path.to_uppercase().replace('.', "_");
                format!("{} # redacted: the file has the secret itself", quoted(&format!("${{{name}}}")))
            }
        });
        Ok(env::expand(text, self.reading.env)?)
    }

    /// Returns the value as an absolute path.
    pub(crate) fn absolute_path(&self) -> Result<PathBuf, ValueError> {
        let path = PathBuf::from(self.text()?);
        match path.is_absolute() {
            true => Ok(path),
            false => Err(ValueError::RelativePath(path)),
        }
    }

    /// Returns the path of a file to read, and records it among the files of the configuration.
    pub(crate) fn path(&self) -> Result<PathBuf, ValueError> {
        let path = self.absolute_path()?;
        self.reading.faults.files.borrow_mut().push(path.clone());
        Ok(path)
    }

    /// Returns the path of a file with a secret, like [`Self::path`].
    pub(crate) fn secret_path(&self) -> Result<PathBuf, ValueError> {
        let path = self.path()?;
        let file = SecretFile { key: self.path.clone(), path: path.clone() };
        self.reading.faults.secret_files.borrow_mut().push(file);
        Ok(path)
    }

    /// Returns the string of a value with a unit. `examples` shows valid ones.
    pub(crate) fn with_unit(&self, examples: &'static str) -> Result<String, ValueError> {
        match self.value.get_ref() {
            DeValue::Integer(number) => {
                Err(ValueError::NoUnit { value: number.as_str().to_owned(), examples })
            }
            _ => self.text(),
        }
    }

    /// Returns the Boolean. A string is accepted if it refers to an environment variable.
    pub(crate) fn boolean(&self) -> Result<bool, ValueError> {
        const EXPECTED: &str = "true or false";
        let value = match self.value.get_ref() {
            DeValue::Boolean(value) => *value,
            DeValue::String(text) if text.contains("${") => {
                let text = self.expand(text)?;
                text.parse().map_err(|_| ValueError::invalid("value", text, EXPECTED))?
            }
            DeValue::String(text) if text.parse::<bool>().is_ok() => {
                return Err(ValueError::Quoted { expected: EXPECTED, value: text.to_string() });
            }
            _ => return Err(self.type_error(EXPECTED)),
        };
        self.record(value.to_string());
        Ok(value)
    }

    /// Returns the whole number, which must be within `range`. A string is accepted if it refers to
    /// an environment variable.
    pub(crate) fn number<T: TryFrom<u64>>(&self, range: RangeInclusive<u64>) -> Result<T, ValueError> {
        const EXPECTED: &str = "a whole number";
        let (text, number) = match self.value.get_ref() {
            DeValue::Integer(integer) => {
                let number = u64::from_str_radix(integer.as_str(), integer.radix()).ok();
                (integer.as_str().to_owned(), number)
            }
            DeValue::String(text) if text.contains("${") => {
                let text = self.expand(text)?;
                match text.parse() {
                    Ok(number) => (text, Some(number)),
                    Err(_) => return Err(ValueError::invalid("number", text, EXPECTED)),
                }
            }
            DeValue::String(text) if text.parse::<u64>().is_ok() => {
                return Err(ValueError::Quoted { expected: EXPECTED, value: text.to_string() });
            }
            _ => return Err(self.type_error(EXPECTED)),
        };
        let number = number.filter(|number| range.contains(number));
        number
            .inspect(|number| self.record(number.to_string()))
            .and_then(|number| T::try_from(number).ok())
            .ok_or_else(|| ValueError::OutOfRange {
                value: text,
                least: range.start().to_string(),
                most: range.end().to_string(),
            })
    }

    /// Returns the number from 0 to 1. A string is accepted if it refers to an environment variable.
    pub(crate) fn share(&self) -> Result<f64, ValueError> {
        const EXPECTED: &str = "a number from 0 to 1, for example 0.01";
        let text = match self.value.get_ref() {
            DeValue::Float(float) => float.as_str().to_owned(),
            DeValue::Integer(integer) => integer.as_str().to_owned(),
            DeValue::String(text) if text.contains("${") => self.expand(text)?,
            DeValue::String(text) if text.parse::<f64>().is_ok() => {
                return Err(ValueError::Quoted { expected: EXPECTED, value: text.to_string() });
            }
            _ => return Err(self.type_error(EXPECTED)),
        };
        let share = text.parse().ok().filter(|share| (0.0..=1.0).contains(share));
        let share: f64 = share.ok_or_else(|| ValueError::invalid("number", text, EXPECTED))?;
        self.record(format!("{share:?}"));
        Ok(share)
    }

    /// Returns true if the value is an array.
    pub(crate) fn is_array(&self) -> bool {
        self.value.get_ref().is_array()
    }

    /// Returns the elements of an array with their paths.
    pub(crate) fn elements(&self) -> Result<Vec<Self>, ValueError> {
        let array = self.value.get_ref().as_array().ok_or_else(|| match self.value.get_ref() {
            DeValue::String(text) => ValueError::NotArray { value: text.to_string() },
            _ => self.type_error("an array"),
        })?;
        self.reading.faults.effective.record_array(&self.path);
        let element =
            |(index, value)| Self { reading: self.reading, path: format!("{}[{index}]", self.path), value };
        Ok(array.iter().enumerate().map(element).collect())
    }

    /// Returns the table.
    pub(super) fn table(&self) -> Result<&'a DeTable<'a>, ValueError> {
        self.value.get_ref().as_table().ok_or(ValueError::NotTable)
    }

    fn type_error(&self, expected: &'static str) -> ValueError {
        ValueError::Type { expected, found: describe(self.value.get_ref()) }
    }
}

/// Returns the type of a value and, if it is short, the value.
fn describe(value: &DeValue<'_>) -> String {
    match value {
        DeValue::String(text) => format!("the string `{}`", text.chars().take(64).collect::<String>()),
        DeValue::Integer(number) => format!("the number {}", number.as_str()),
        DeValue::Float(number) => format!("the number {}", number.as_str()),
        DeValue::Boolean(value) => value.to_string(),
        DeValue::Datetime(date) => format!("the date {date}"),
        DeValue::Array(_) => "an array".to_owned(),
        DeValue::Table(_) => "a table".to_owned(),
    }
}
