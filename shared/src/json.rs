//! A deserializer for the JSON that the gateway wrote itself: stored states, and the messages
//! between its parts.
//!
//! It exists for its size. With the one of `serde_json`, which also reads structs from arrays and
//! formats each expected type, the derived readers were a quarter of the worker. What clients send
//! is read with `serde_json`.

mod reader;

use std::fmt;

use serde::de::{self, Deserialize, DeserializeOwned, IntoDeserializer, value::StrDeserializer};
use thiserror::Error;

use reader::Reader;

/// Reads a value from JSON.
///
/// # Errors
/// Returns an error if the text is not one JSON value, or is not a `T`. It does not quote the text.
pub fn from_str<'de, T: Deserialize<'de>>(text: &'de str) -> Result<T, JsonError> {
    let mut reader = Reader::new(text);
    let value = T::deserialize(&mut reader);
    let value = value.and_then(|value| reader.end().map(|()| value));
    value.map_err(|fault| JsonError { at: reader.position(), fault })
}

/// Returns the variant of an enum without fields that a name stands for.
///
/// # Errors
/// Returns the names that there are.
pub(crate) fn variant<T: DeserializeOwned>(name: &str) -> Result<T, &'static [&'static str]> {
    let name: StrDeserializer<'_, Fault> = name.into_deserializer();
    T::deserialize(name).map_err(|fault| fault.names())
}

/// A text that cannot be read.
#[derive(Debug, PartialEq, Eq, Error)]
#[error("{fault} at byte {at}")]
pub struct JsonError {
    fault: Fault,
    at: usize,
}

impl JsonError {
    /// Returns the number of bytes before the place where reading ended.
    #[must_use]
    pub const fn position(&self) -> usize {
        self.at
    }
}

/// What is wrong. In a box, because every reader of a type moves it.
#[derive(Debug, PartialEq, Eq, Error)]
#[error("{0}")]
struct Fault(Box<FaultKind>);

#[derive(Debug, PartialEq, Eq, Error)]
enum FaultKind {
    #[error("malformed JSON")]
    Malformed,
    #[error("the value has another type or is out of range")]
    Type,
    #[error("the field `{0}` is missing")]
    Missing(&'static str),
    #[error("the field `{0}` is there twice")]
    Duplicate(&'static str),
    #[error("unknown name; there are {}", .0.join(", "))]
    UnknownName(&'static [&'static str]),
    #[error("{0}")]
    Custom(String),
}

impl Fault {
    #[cold]
    #[inline(never)]
    fn new(kind: FaultKind) -> Self {
        Self(Box::new(kind))
    }

    #[cold]
    #[inline(never)]
    fn malformed() -> Self {
        Self::new(FaultKind::Malformed)
    }

    #[cold]
    #[inline(never)]
    fn other_type() -> Self {
        Self::new(FaultKind::Type)
    }

    /// Returns the names that there are, if the name is unknown.
    fn names(&self) -> &'static [&'static str] {
        match *self.0 {
            FaultKind::UnknownName(names) => names,
            _ => &[],
        }
    }
}

impl de::Error for Fault {
    #[cold]
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self::new(FaultKind::Custom(message.to_string()))
    }

    #[cold]
    fn invalid_type(_: de::Unexpected<'_>, _: &dyn de::Expected) -> Self {
        Self::other_type()
    }

    #[cold]
    fn invalid_value(_: de::Unexpected<'_>, _: &dyn de::Expected) -> Self {
        Self::other_type()
    }

    #[cold]
    fn invalid_length(_: usize, _: &dyn de::Expected) -> Self {
        Self::other_type()
    }

    #[cold]
    fn unknown_variant(_: &str, names: &'static [&'static str]) -> Self {
        Self::new(FaultKind::UnknownName(names))
    }

    #[cold]
    fn unknown_field(_: &str, names: &'static [&'static str]) -> Self {
        Self::new(FaultKind::UnknownName(names))
    }

    #[cold]
    fn missing_field(name: &'static str) -> Self {
        Self::new(FaultKind::Missing(name))
    }

    #[cold]
    fn duplicate_field(name: &'static str) -> Self {
        Self::new(FaultKind::Duplicate(name))
    }
}

#[cfg(test)]
mod tests;
