//! Messages and stored states as JSON.

use serde::de::DeserializeOwned;
use shared::json;
use worker::Result;

/// Reads a message, or a stored state.
///
/// # Errors
/// If the text is not one.
pub(super) fn parse<T: DeserializeOwned>(text: &str) -> Result<T> {
    json::from_str(text).map_err(|error| error.to_string().into())
}
