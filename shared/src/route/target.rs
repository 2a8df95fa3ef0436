//! The request target in origin form (RFC 9112, section 3.2.1).

use super::place::malformed;
use crate::problem::{Code, Problem};

/// The longest request target (path and query), in bytes.
pub const MAX_TARGET: usize = 8_192;

/// The path and the query of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Target<'a> {
    /// The path, from its first slash.
    pub path: &'a str,
    /// The query after the first `?`, which tools get unchanged.
    pub query: Option<&'a str>,
}

impl<'a> Target<'a> {
    /// Splits a request target in origin form.
    ///
    /// # Errors
    /// Returns `target-too-long`, or `path-malformed` when it is not visible ASCII beginning with a
    /// slash, or has a fragment.
    pub fn parse(target: &'a str) -> Result<Self, Problem> {
        if target.len() > MAX_TARGET {
            return Err(Problem::new(
                Code::TargetTooLong,
                format!("path and query have {} bytes of {MAX_TARGET} allowed", target.len()),
            ));
        }
        if !target.bytes().all(|b| b.is_ascii_graphic() && b != b'#') {
            return Err(malformed("the path and query may hold visible ASCII only, and no `#`"));
        }
        if !target.starts_with('/') {
            return Err(malformed("the path does not begin with `/`"));
        }
        Ok(match target.split_once('?') {
            Some((path, query)) => Self { path, query: Some(query) },
            None => Self { path: target, query: None },
        })
    }
}
