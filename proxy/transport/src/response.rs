//! Responses of the proxy itself.

use std::fmt;
use std::sync::Arc;

use pingora::protocols::http::date::get_cached_date;
use shared::response;

use crate::headers::Headers as _;

const NO_CONTENT: u16 = 204;
const NOT_MODIFIED: u16 = 304;

/// A response of the proxy itself, without the headers about the connection.
pub struct Response {
    status: u16,
    /// The status line and all headers.
    head: Vec<u8>,
    body: Body,
    /// Whether the response refuses the request.
    is_refusal: bool,
}

enum Body {
    Text(String),
    Encoded(Arc<[u8]>),
}

impl Response {
    /// Returns a response with the headers of `response` and those that `more` writes. An `encoded`
    /// body replaces the text. It must be the same text in the content coding that the headers
    /// state.
    #[must_use]
    pub fn new(
        response: response::Response,
        encoded: Option<Arc<[u8]>>,
        is_refusal: bool,
        more: impl FnOnce(&mut Vec<u8>),
    ) -> Self {
        let response::Response { status, headers, body, .. } = response;
        let body = encoded.map_or(Body::Text(body), Body::Encoded);
        let mut head = Vec::with_capacity(1_024 + body.bytes().len());
        let mut number = itoa::Buffer::new();
        for part in ["HTTP/1.1 ", number.format(status), " ", reason(status), "\r\n"] {
            head.extend_from_slice(part.as_bytes());
        }
        for (name, value) in &headers {
            head.write_header(name, value.as_bytes());
        }
        // A 204 must not have one (RFC 9110, section 8.6), and that of a 304 would be the length of
        // a body that is not sent.
        if !matches!(status, NO_CONTENT | NOT_MODIFIED) {
            head.write_header("content-length", number.format(body.bytes().len()).as_bytes());
        }
        head.write_header("date", get_cached_date().as_bytes());
        more(&mut head);
        Self { status, head, body, is_refusal }
    }

    /// Returns the status.
    pub(crate) const fn status(&self) -> u16 {
        self.status
    }

    /// Returns true if the response refuses the request.
    pub(crate) const fn is_refusal(&self) -> bool {
        self.is_refusal
    }

    /// Returns the response as HTTP/1.1, and the length of its body. `close` means that the
    /// connection is closed after it. A response to HEAD has no body.
    pub(crate) fn into_bytes(self, close: bool, is_head: bool) -> (Vec<u8>, usize) {
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
    /// Omits head and body, because they can contain a key.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Response").field("status", &self.status).finish_non_exhaustive()
    }
}

fn reason(status: u16) -> &'static str {
    http::StatusCode::from_u16(status).ok().and_then(|status| status.canonical_reason()).unwrap_or("")
}
