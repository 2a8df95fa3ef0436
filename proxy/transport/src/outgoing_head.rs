//! The head of a response to a client, in the form that its connection sends: the text of HTTP/1.1, or
//! the fields of an HTTP/2 frame.

use std::fmt::Display;
use std::io::Write as _;

use http::header::{CACHE_CONTROL, CONTENT_LENGTH, CONTENT_TYPE, DATE};
use http::{HeaderName, HeaderValue, Response, StatusCode};
use shared::headers::{PROOF, REQUEST_ID};

use crate::headers::Headers;

/// The head of a response to a client.
#[derive(Debug)]
pub(crate) enum OutgoingHead {
    /// The text of HTTP/1.1.
    Text(Vec<u8>),
    /// The fields of HTTP/2.
    Fields(Box<Fields>),
}

/// The status and the header fields of a response.
#[derive(Debug)]
pub(crate) struct Fields {
    response: Response<()>,
    /// Whether a field is missing because it cannot be sent.
    is_malformed: bool,
    /// Space in which values are formatted.
    space: Vec<u8>,
}

/// The status line of a response. HTTP/2 has no reason.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StatusLine<'a> {
    pub(crate) status: u16,
    pub(crate) reason: &'a str,
}

/// Bytes of text for which memory is reserved. Most heads have fewer, and many responses with their bodies.
pub(crate) const USUAL_LENGTH: usize = 640;
/// Number of fields for which memory is reserved. Most responses have fewer.
const USUAL_FIELDS: usize = 20;

impl OutgoingHead {
    /// Begins a head. Its text is appended to `text`.
    pub(crate) fn new(status_line: StatusLine<'_>, is_http2: bool, mut text: Vec<u8>) -> Self {
        let StatusLine { status, reason } = status_line;
        if is_http2 {
            return Self::Fields(Box::new(Fields::new(status)));
        }
        let mut number = itoa::Buffer::new();
        text.reserve(USUAL_LENGTH);
        text.extend_from_slice(b"HTTP/1.1 ");
        text.extend_from_slice(number.format(status).as_bytes());
        text.push(b' ');
        text.extend_from_slice(reason.as_bytes());
        text.extend_from_slice(b"\r\n");
        Self::Text(text)
    }

    /// Ends the head. `close` means that the connection is closed after the response.
    pub(crate) fn end(&mut self, close: bool) {
        // A stream says nothing about its connection (RFC 9113, section 8.2.2).
        if let Self::Text(text) = self {
            text.extend_from_slice(if close { b"connection: close\r\n\r\n" } else { b"\r\n" });
        }
    }
}

impl Fields {
    fn new(status: u16) -> Self {
        let mut response = Response::new(());
        response.headers_mut().reserve(USUAL_FIELDS);
        let status = StatusCode::from_u16(status).map(|status| *response.status_mut() = status);
        Self { response, is_malformed: status.is_err(), space: Vec::new() }
    }

    /// Returns the head, or `None` if a part of it cannot be sent. Sent on in part, it would be another
    /// response.
    pub(crate) fn into_response(self) -> Option<Response<()>> {
        (!self.is_malformed).then_some(self.response)
    }

    fn append(&mut self, name: &str, value: &[u8]) {
        let unique = unique_name(name);
        let is_unique = unique.is_some();
        let name =
            unique.or_else(|| usual_name(name)).map_or_else(|| HeaderName::from_bytes(name.as_bytes()), Ok);
        let appended = match (name, HeaderValue::from_bytes(value)) {
            (Ok(name), Ok(mut value)) => {
                value.set_sensitive(is_unique);
                self.response.headers_mut().try_append(name, value).is_ok()
            }
            _ => false,
        };
        self.is_malformed |= !appended;
    }
}

/// Returns the name of a field whose value no other response has. h2 would add each to the table of its connection
/// (HPACK), where it takes the place of one that is of use, and compare it with all of its name that are there.
fn unique_name(name: &str) -> Option<HeaderName> {
    match name {
        REQUEST_ID => Some(const { HeaderName::from_static(REQUEST_ID) }),
        PROOF => Some(const { HeaderName::from_static(PROOF) }),
        _ => None,
    }
}

/// Returns a name that nearly all responses have. To parse it costs as much as to add it.
fn usual_name(name: &str) -> Option<HeaderName> {
    match name {
        "cache-control" => Some(CACHE_CONTROL),
        "content-length" => Some(CONTENT_LENGTH),
        "content-type" => Some(CONTENT_TYPE),
        "date" => Some(DATE),
        _ => None,
    }
}

impl Headers for OutgoingHead {
    fn write_header(&mut self, name: &str, value: &[u8]) {
        match self {
            Self::Text(text) => text.write_header(name, value),
            Self::Fields(fields) => fields.append(name, value),
        }
    }

    fn write_header_fmt(&mut self, name: &str, value: impl Display) {
        match self {
            Self::Text(text) => text.write_header_fmt(name, value),
            Self::Fields(fields) => {
                let mut space = std::mem::take(&mut fields.space);
                // Writing to a vector cannot fail.
                let _written = write!(space, "{value}");
                fields.append(name, &space);
                space.clear();
                fields.space = space;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OK: StatusLine<'_> = StatusLine { status: 200, reason: "Fine" };

    fn written(is_http2: bool) -> OutgoingHead {
        let mut head = OutgoingHead::new(OK, is_http2, b"before ".to_vec());
        head.write_header("X-A", b"b");
        head.write_header("x-a", b"c \xff");
        head.write_header_fmt("x-number", 17);
        head.write_header(REQUEST_ID, b"7");
        head.end(true);
        head
    }

    #[test]
    fn head_is_text_over_http1_and_fields_over_http2() {
        let OutgoingHead::Text(text) = written(false) else { panic!("fields") };
        assert_eq!(
            text,
            b"before HTTP/1.1 200 Fine\r\nX-A: b\r\nx-a: c \xff\r\nx-number: 17\r\nx-request-id: 7\r\nconnection: close\r\n\r\n"
        );
        let OutgoingHead::Fields(fields) = written(true) else { panic!("text") };
        let response = fields.into_response().unwrap();
        assert_eq!(response.status(), 200);
        let lines: Vec<_> =
            response.headers().iter().map(|(name, value)| (name.as_str(), value.as_bytes())).collect();
        assert_eq!(lines, [("x-a", &b"b"[..]), ("x-a", b"c \xff"), ("x-number", b"17"), (REQUEST_ID, b"7")]);
        let are_unique = response.headers().values().map(HeaderValue::is_sensitive);
        assert_eq!(are_unique.collect::<Vec<_>>(), [false, false, false, true]);
    }

    #[test]
    fn head_with_a_field_that_cannot_be_sent_is_no_response() {
        for (name, value) in [("a b", &b"c"[..]), ("", b"c"), ("a", b"b\r\nc: d")] {
            let mut head = OutgoingHead::new(OK, true, Vec::new());
            head.write_header(name, value);
            let OutgoingHead::Fields(fields) = head else { panic!("text") };
            assert!(fields.into_response().is_none(), "{name:?}");
        }
    }
}
