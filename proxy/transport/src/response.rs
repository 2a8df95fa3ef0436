//! Responses that do not come from an upstream.

use std::{fmt, sync::Arc};

use pingora_core::protocols::http::date::get_cached_date;
use shared::response;

use crate::headers::Headers as _;

const NO_CONTENT: u16 = 204;
const NOT_MODIFIED: u16 = 304;

/// A response of the product's own, complete but for what concerns the connection.
pub struct Response {
    status: u16,
    /// The status line and all headers.
    head: Vec<u8>,
    body: Body,
    /// Whether it refuses the request.
    is_refusal: bool,
}

enum Body {
    Text(String),
    Encoded(Arc<[u8]>),
}

impl Response {
    /// Returns a response with the headers of `written` and those that `more` writes. An `encoded` body replaces the
    /// text: it is the same in the content coding that the headers name.
    #[must_use]
    pub fn new(
        written: response::Response,
        encoded: Option<Arc<[u8]>>,
        is_refusal: bool,
        more: impl FnOnce(&mut Vec<u8>),
    ) -> Self {
        let response::Response { status, headers, body, .. } = written;
        let body = encoded.map_or(Body::Text(body), Body::Encoded);
        let mut head = Vec::with_capacity(1_024 + body.bytes().len());
        let mut number = itoa::Buffer::new();
        for part in ["HTTP/1.1 ", number.format(status), " ", reason(status), "\r\n"] {
            head.extend_from_slice(part.as_bytes());
        }
        for (name, value) in &headers {
            head.write_header(name, value.as_bytes());
        }
        if !matches!(status, NO_CONTENT | NOT_MODIFIED) {
            head.write_header("content-length", number.format(body.bytes().len()).as_bytes());
        }
        head.write_header("date", get_cached_date().as_bytes());
        more(&mut head);
        Self { status, head, body, is_refusal }
    }

    /// Returns the status.
    #[must_use]
    pub const fn status(&self) -> u16 {
        self.status
    }

    /// Returns true if the response refuses the request.
    #[must_use]
    pub const fn is_refusal(&self) -> bool {
        self.is_refusal
    }

    /// Returns the response as HTTP/1.1 has it, and the length of the body in it. `close` says that it is the last of its
    /// connection; a response to HEAD has no body.
    #[must_use]
    pub fn into_bytes(self, close: bool, is_head: bool) -> (Vec<u8>, usize) {
        let mut text = self.head;
        text.extend_from_slice(if close { b"connection: close\r\n\r\n" } else { b"\r\n" });
        let body = if is_head { &[] } else { self.body.bytes() };
        text.extend_from_slice(body);
        (text, body.len())
    }
}

impl Body {
    fn bytes(&self) -> &[u8] {
        match self {
            Self::Text(text) => text.as_bytes(),
            Self::Encoded(bytes) => bytes,
        }
    }
}

impl fmt::Debug for Response {
    /// Without head and body: they can hold a key.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Response").field("status", &self.status).finish_non_exhaustive()
    }
}

fn reason(status: u16) -> &'static str {
    http::StatusCode::from_u16(status).ok().and_then(|status| status.canonical_reason()).unwrap_or("")
}
