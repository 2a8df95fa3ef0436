//! Faults of JSON texts.

use std::fmt;

use serde::de;
use thiserror::Error;

/// A fault. In a box, because every reader of a type moves it.
#[derive(Debug, PartialEq, Eq, Error)]
#[error("{0}")]
pub(super) struct Fault(Box<FaultKind>);

#[derive(Debug, PartialEq, Eq, Error)]
pub(super) enum FaultKind {
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
    pub(super) fn new(kind: FaultKind) -> Self {
        Self(Box::new(kind))
    }

    #[cold]
    pub(super) fn malformed() -> Self {
        Self::new(FaultKind::Malformed)
    }

    #[cold]
    pub(super) fn other_type() -> Self {
        Self::new(FaultKind::Type)
    }

    /// Returns the names that there are, if the name is unknown.
    pub(super) fn names(&self) -> &'static [&'static str] {
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
