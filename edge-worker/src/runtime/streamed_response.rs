//! A response whose body is streamed, with its header lines read once.

use wasm_bindgen::JsValue;
use worker::web_sys;

use crate::runtime::calls;
use crate::runtime::client_request::header_lines;

/// A response whose body is streamed: an origin's, or one that is written while it is sent.
pub(crate) struct StreamedResponse {
    pub(crate) raw: web_sys::Response,
    /// Names and values of the headers, one a line.
    pub(crate) lines: String,
}

impl StreamedResponse {
    /// Reads the header lines.
    ///
    /// # Errors
    /// If the runtime does not show them.
    pub(crate) fn new(raw: web_sys::Response) -> Result<Self, JsValue> {
        Ok(Self { lines: calls::header_lines(&raw)?, raw })
    }

    /// Returns the header lines.
    pub(crate) fn headers(&self) -> impl Iterator<Item = (&str, &str)> {
        header_lines(&self.lines)
    }

    /// Returns a header by its name in lower case.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers().find(|(other, _)| *other == name).map(|(_, value)| value)
    }
}
