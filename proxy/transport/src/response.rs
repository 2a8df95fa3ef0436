//! Responses of the proxy itself.

use std::fmt;
use std::sync::Arc;

use pingora::protocols::http::date::get_cached_date;
use shared::response;

use crate::headers::Headers;
use crate::outgoing_head::{OutgoingHead, StatusLine, USUAL_LENGTH};
use crate::record::Record;

const NO_CONTENT: u16 = 204;
const NOT_MODIFIED: u16 = 304;

/// A response of the proxy itself, without the headers about the connection.
pub struct Response {
    status: u16,
    /// The head without its end.
    head: OutgoingHead,
    body: Body,
    /// Whether the response refuses the request.
    is_refusal: bool,
}

pub(crate) enum Body {
    Text(String),
    Bytes(Arc<[u8]>),
}

impl Response {
    /// Returns a response to the request of this record, with the headers of `response` and those that
    /// `more` writes. If there are `bytes`, they are the body in place of the text.
    #[must_use]
    pub fn new<L, M: FnOnce(&mut HeadWriter<'_>)>(
        record: &Record<L>,
        response: response::Response,
        bytes: Option<Arc<[u8]>>,
        is_refusal: bool,
        more: M,
    ) -> Self {
        let response::Response { status, headers, body, .. } = response;
        let body = bytes.map_or(Body::Text(body), Body::Bytes);
        let text = match record.is_http2 {
            true => Vec::new(),
            false => Vec::with_capacity(USUAL_LENGTH + body.bytes().len()),
        };
        let status_line = StatusLine { status, reason: reason(status) };
        let mut head = OutgoingHead::new(status_line, record.is_http2, text);
        for (name, value) in &headers {
            head.write_header(name, value.as_bytes());
        }
        // A 204 must not have one (RFC 9110, section 8.6), and that of a 304 would be the length of
        // a body that is not sent.
        if !matches!(status, NO_CONTENT | NOT_MODIFIED) {
            let mut number = itoa::Buffer::new();
            head.write_header("content-length", number.format(body.bytes().len()).as_bytes());
        }
        head.write_header("date", get_cached_date().as_bytes());
        more(&mut HeadWriter(&mut head));
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

    /// Returns the head and the body. `close` means that the connection is closed after the response.
    pub(crate) fn into_parts(self, close: bool) -> (OutgoingHead, Body) {
        let mut head = self.head;
        head.end(close);
        (head, self.body)
    }
}

/// The writer of the headers of a response.
pub struct HeadWriter<'a>(&'a mut OutgoingHead);

impl Headers for HeadWriter<'_> {
    fn write_header(&mut self, name: &str, value: &[u8]) {
        self.0.write_header(name, value);
    }

    fn write_header_fmt(&mut self, name: &str, value: impl fmt::Display) {
        self.0.write_header_fmt(name, value);
    }
}

impl Body {
    pub(crate) fn bytes(&self) -> &[u8] {
        match self {
            Self::Text(text) => text.as_bytes(),
            Self::Bytes(bytes) => bytes,
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
