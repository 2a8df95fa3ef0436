//! The error of one value of a page.

use shared::fields::TypeError;
use thiserror::Error;

use crate::page::{SlugError, UrlError};

/// The fault of a value, and what would be right.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{0}")]
pub(crate) struct InvalidValue(String);

impl From<String> for InvalidValue {
    fn from(detail: String) -> Self {
        Self(detail)
    }
}

impl From<&str> for InvalidValue {
    fn from(detail: &str) -> Self {
        Self(detail.to_owned())
    }
}

impl From<TypeError> for InvalidValue {
    fn from(error: TypeError) -> Self {
        Self(error.to_string())
    }
}

impl From<SlugError> for InvalidValue {
    fn from(error: SlugError) -> Self {
        Self(error.to_string())
    }
}

impl From<UrlError> for InvalidValue {
    fn from(error: UrlError) -> Self {
        Self(error.to_string())
    }
}
