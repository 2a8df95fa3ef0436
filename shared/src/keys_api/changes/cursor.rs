//! The position in the feed of key changes.

use std::fmt;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::time::UnixMillis;

/// The position at which a page ended. A reader keeps it and sends it back unchanged.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Cursor(String);

/// An error of a text that is not a cursor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("{length} bytes are not a cursor; expected 1 to {} letters, digits, `-` and `_`", Cursor::MAX_LEN)]
pub struct CursorError {
    length: usize,
}

impl Cursor {
    const MAX_LEN: usize = 64;

    /// Returns a cursor in the feed that began at `begun`, after the change of this number.
    pub fn new(begun: UnixMillis, number: u64) -> Self {
        Self(format!("{}-{number}", begun.0))
    }

    /// Reads the cursor of a page. Returns `None` for an empty text, more than 64 characters, or
    /// others than letters, digits, `-` and `_`.
    pub fn parse(text: &str) -> Option<Self> {
        let plain = |b: u8| b.is_ascii_alphanumeric() || b == b'-' || b == b'_';
        let well_formed = (1..=Self::MAX_LEN).contains(&text.len()) && text.bytes().all(plain);
        well_formed.then(|| Self(text.to_owned()))
    }

    /// Returns the number after which to continue in the feed that began at `begun` and has come to
    /// `last`. It is 0, the very beginning, for a cursor from another feed or from further on: the
    /// feed was lost, or set back, since then.
    pub fn number_in(&self, begun: UnixMillis, last: u64) -> u64 {
        let (feed, number) = self.0.split_once('-').unwrap_or_default();
        match (feed.parse(), number.parse()) {
            // A feed that was lost begins its numbers anew. Continued at an old one, changes would
            // be skipped.
            (Ok(feed), Ok(number)) if begun == UnixMillis(feed) && number <= last => number,
            _ => 0,
        }
    }
}

impl fmt::Display for Cursor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl TryFrom<String> for Cursor {
    type Error = CursorError;

    fn try_from(text: String) -> Result<Self, CursorError> {
        Self::parse(&text).ok_or(CursorError { length: text.len() })
    }
}

impl From<Cursor> for String {
    fn from(cursor: Cursor) -> Self {
        cursor.0
    }
}
