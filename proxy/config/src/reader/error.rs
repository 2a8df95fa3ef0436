//! The errors of single values.

use std::borrow::Cow;
use std::error::Error;
use std::io;
use std::path::PathBuf;

use thiserror::Error;

use super::env::ReferenceError;

/// An error in the value of a key. The reader adds the key and its position.
#[derive(Debug, Error)]
pub enum ValueError {
    /// The value has another TOML type.
    #[error("must be {expected}, not {found}")]
    Type { expected: &'static str, found: String },
    /// A number or Boolean is in quotes.
    #[error("must be {expected}; write {value} without quotes")]
    Quoted { expected: &'static str, value: String },
    /// A string stands in place of an array.
    #[error("must be an array; write [\"{value}\"]")]
    NotArray { value: String },
    /// The value is not a table.
    #[error("must be a table; write its keys below a line [section]")]
    NotTable,
    /// A secret is not a string. The value is not shown.
    #[error("must be a string: \"${{NAME}}\" or the secret itself")]
    SecretType,
    /// The text cannot be parsed.
    #[error("invalid {what} `{value}`: expected {expected}")]
    Invalid { what: &'static str, value: String, expected: Cow<'static, str> },
    /// The value is below the minimum or above the maximum.
    #[error("{value} is out of range: expected {least} to {most}")]
    OutOfRange { value: String, least: String, most: String },
    /// A number stands in place of a value with a unit.
    #[error("{value} has no unit: expected a string, for example {examples}")]
    NoUnit { value: String, examples: &'static str },
    /// The array or string has no content.
    #[error("is empty: expected {expected}")]
    Empty { expected: &'static str },
    /// The setting is not available with the transport that was chosen.
    #[error("needs server.transport = \"pingora-proxy\"")]
    NeedsPingoraProxy,
    /// The setting is not available with the other transport.
    #[error("needs server.transport = \"relay\"")]
    NeedsRelay,
    /// The array has too many elements.
    #[error("has {count} elements: expected at most {most}")]
    TooMany { count: usize, most: usize },
    /// The path is relative.
    #[error("`{}` must be an absolute path", .0.display())]
    RelativePath(PathBuf),
    /// The file that the value names cannot be read.
    #[error("{} cannot be read: {error}", path.display())]
    Unreadable { path: PathBuf, error: io::Error },
    /// The file that the value names is not text.
    #[error("{} is not text in UTF-8", path.display())]
    NotText { path: PathBuf },
    /// A reference to an environment variable cannot be resolved.
    #[error(transparent)]
    Reference(#[from] ReferenceError),
    /// The type of the setting refuses the value.
    #[error(transparent)]
    Refused(Box<dyn Error + Send + Sync>),
}

impl ValueError {
    /// Creates an error of a text that cannot be parsed.
    pub(crate) fn invalid(
        what: &'static str,
        value: impl Into<String>,
        expected: impl Into<Cow<'static, str>>,
    ) -> Self {
        Self::Invalid { what, value: value.into(), expected: expected.into() }
    }

    /// Creates an error from that of the type of the setting.
    pub(crate) fn refused(error: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self::Refused(error.into())
    }
}
