//! The error of one parameter of a query.

use thiserror::Error;

/// The fault of a parameter, and what is expected instead.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub(super) enum ParameterError {
    #[error("must be {expected}")]
    Malformed { expected: &'static str },
    #[error("must be a whole number from 1 to {max}")]
    OutOfRange { max: usize },
    #[error("has {count} {what}; at most {max} are allowed")]
    TooMany { count: usize, what: &'static str, max: usize },
    #[error("`{name}` is unknown; did you mean `{meant}`?")]
    Misspelled { name: String, meant: String },
    #[error("`{name}` is unknown; there are {}", known.join(", "))]
    Unknown { name: String, known: Vec<String> },
}
