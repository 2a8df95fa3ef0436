//! JSON that the gateway writes and reads itself: stored states, and the messages between its parts.
//!
//! The deserializer exists for its size. With the one of `serde_json`, which also reads structs from arrays and
//! formats each expected type, the derived readers were a quarter of the worker. What clients send
//! is read with `serde_json`.
//!
//! Why: docs/decisions/edge.md, "What the gateway wrote itself is read by a small JSON reader".

mod fault;
mod pieces;
mod reader;
mod text;

use serde::de::{Deserialize, DeserializeOwned};
use serde::ser::{Error, Serialize};

use fault::Fault;
use pieces::Pieces;
use reader::Name;
use text::Text;

/// Bytes that hold most messages.
const USUAL: usize = 512;

/// Reads a value from JSON.
///
/// # Errors
/// Returns an error if the text is not one JSON value, or is not a `T`. It does not quote the text.
pub fn from_str<'de, T: Deserialize<'de>>(text: &'de str) -> Result<T, JsonError> {
    let mut text = Text::new(text);
    let value = T::deserialize(&mut text);
    let value = value.and_then(|value| text.end().map(|()| value));
    value.map_err(|fault| JsonError { at: text.position(), fault })
}

/// Writes a value as JSON, as [`serde_json::to_string`] does, and faster in wasm.
///
/// # Errors
/// Returns an error if the value has a map whose keys are no texts or numbers.
pub fn to_string<T: Serialize + ?Sized>(value: &T) -> Result<String, serde_json::Error> {
    let mut text = Pieces(Vec::with_capacity(USUAL));
    serde_json::to_writer(&mut text, value)?;
    String::from_utf8(text.0).map_err(serde_json::Error::custom)
}

/// Returns the variant of an enum without fields that a name stands for.
///
/// # Errors
/// Returns the names that there are.
pub fn variant<T: DeserializeOwned>(name: &str) -> Result<T, &'static [&'static str]> {
    T::deserialize(Name(name)).map_err(|fault| fault.names())
}

/// A text that cannot be read.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("{fault} at byte {at}")]
pub struct JsonError {
    fault: Fault,
    at: usize,
}

impl JsonError {
    /// Returns the number of bytes before the place where reading ended.
    pub const fn position(&self) -> usize {
        self.at
    }
}

/// Returns true for a number, or numbers, left out where 0 is the default.
pub(crate) fn is_zero<N: Default + PartialEq>(number: &N) -> bool {
    *number == N::default()
}

#[cfg(test)]
mod tests;
