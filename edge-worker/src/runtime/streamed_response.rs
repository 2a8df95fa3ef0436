//! A response whose body is streamed, with its header lines read once.

use wasm_bindgen::JsValue;
use worker::web_sys;

use crate::runtime::calls;
use crate::runtime::header_text::HeaderText;

/// A response whose body is streamed: an origin's, or one that is written while it is sent.
pub(crate) struct StreamedResponse {
    pub(crate) raw: web_sys::Response,
    pub(crate) status: u16,
    headers: HeaderText,
}

impl StreamedResponse {
    /// Reads status and headers.
    ///
    /// # Errors
    /// If the runtime does not show them.
    pub(crate) fn new(raw: web_sys::Response) -> Result<Self, JsValue> {
        let lines = calls::response_lines(&raw)?;
        let status = lines.rsplit('\n').next().and_then(|status| status.parse().ok());
        Ok(Self {
            status: status.ok_or("a response without a status")?,
            headers: HeaderText::new(lines),
            raw,
        })
    }

    /// Returns the response with another body: that of `raw`, which has the same head.
    pub(crate) fn with_raw(self, raw: web_sys::Response) -> Self {
        Self { raw, ..self }
    }

    /// Returns the header lines.
    pub(crate) fn headers(&self) -> impl Iterator<Item = (&str, &str)> {
        self.headers.iter()
    }

    /// Returns a header by its name in lower case.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)
    }
}
