//! Writes the head of an HTTP/2 request as HTTP/1.1. Nothing is repaired: contradictions are kept,
//! so that the parser of request heads refuses them.

use h2::RecvStream;
use http::request::Parts;
use http::{Method, header};

use super::receiving::Framing;
use crate::headers::Headers as _;

/// Returns true if `:path` is a path or an asterisk (RFC 9113, section 8.3.1). As HTTP/1.1, another
/// one could be read as a target in absolute form, whose host replaces `:authority`.
pub(super) fn has_valid_path(head: &Parts) -> bool {
    let path = head.uri.path_and_query().map(http::uri::PathAndQuery::as_str);
    head.method == Method::CONNECT || path.is_some_and(|path| path.starts_with('/') || path == "*")
}

/// Returns the framing of the request's body.
pub(super) fn framing(head: &Parts, body: &RecvStream) -> Framing {
    let length = head.headers.get(header::CONTENT_LENGTH);
    match length {
        _ if body.is_end_stream() => Framing::Over,
        // A length that is not a number is refused with the head.
        Some(length) => {
            let length = length.to_str().ok().and_then(|length| length.parse().ok());
            Framing::Length(length.unwrap_or(u64::MAX))
        }
        None => Framing::Chunks,
    }
}

/// Returns the number of bytes of the head as HTTP/1.1, or a few more.
pub(super) fn length(head: &Parts) -> usize {
    const FIXED: usize = " HTTP/1.1\r\ntransfer-encoding: chunked\r\nhost: \r\n\r\n".len() + 1;
    let target = head.uri.path_and_query().map_or(0, |target| target.as_str().len());
    let authority = head.uri.authority().map_or(0, |authority| authority.as_str().len());
    let lines = head.headers.iter().map(|(name, value)| name.as_str().len() + value.len() + 4);
    FIXED + head.method.as_str().len() + target + 2 * authority + lines.sum::<usize>()
}

/// Returns the head with its empty line. `:authority` becomes `Host`. A different `Host` is kept as
/// well, and is then refused as a duplicate.
pub(super) fn write(head: &Parts, chunks: bool) -> Vec<u8> {
    let mut text = Vec::with_capacity(length(head));
    let authority = head.uri.authority().map(http::uri::Authority::as_str);
    let target = match head.uri.path_and_query() {
        Some(target) if head.method != Method::CONNECT => target.as_str(),
        // The target of CONNECT is the authority (RFC 9110, section 9.3.6).
        Some(_) | None => authority.unwrap_or_default(),
    };
    text.extend_from_slice(head.method.as_str().as_bytes());
    text.push(b' ');
    // A line end in a target would inject a header. It becomes a NUL, which is refused as a control
    // character.
    text.extend(target.bytes().map(|byte| if byte.is_ascii_control() { 0 } else { byte }));
    text.extend_from_slice(b" HTTP/1.1\r\n");
    if let Some(authority) = authority {
        text.write_header("host", authority.as_bytes());
    }
    for (name, value) in &head.headers {
        let repeats = name == header::HOST && Some(value.as_bytes()) == authority.map(str::as_bytes);
        if !repeats {
            text.write_header(name.as_str(), value.as_bytes());
        }
    }
    if chunks {
        text.write_header("transfer-encoding", b"chunked");
    }
    text.extend_from_slice(b"\r\n");
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(request: http::request::Builder, chunks: bool) -> String {
        let (head, ()) = request.body(()).unwrap().into_parts();
        let text = write(&head, chunks);
        assert!(text.len() <= length(&head), "{} > {}", text.len(), length(&head));
        String::from_utf8(text).unwrap()
    }

    #[test]
    fn authority_is_written_as_host() {
        let request = http::Request::post("https://a.test:8443/v1/qr/x?b=c")
            .header("x-a", "b")
            .header("host", "a.test:8443");
        assert_eq!(
            written(request, true),
            "POST /v1/qr/x?b=c HTTP/1.1\r\nhost: a.test:8443\r\nx-a: b\r\ntransfer-encoding: chunked\r\n\r\n"
        );
        let request = http::Request::get("/").header("host", "b.test");
        assert_eq!(written(request, false), "GET / HTTP/1.1\r\nhost: b.test\r\n\r\n");
    }

    #[test]
    fn path_is_a_path_or_an_asterisk() {
        let is_valid = |path: &str| {
            // Some are refused before: h2 reads `:path` as this type.
            let Ok(path) = http::uri::PathAndQuery::try_from(path) else { return false };
            let mut parts = http::uri::Parts::default();
            parts.path_and_query = Some(path);
            let (mut head, ()) = http::Request::new(()).into_parts();
            head.uri = http::Uri::from_parts(parts).unwrap();
            has_valid_path(&head)
        };
        assert!(is_valid("/v1/qr/a?b") && is_valid("*") && is_valid("//a"));
        for path in ["http://other.test/v1/qr/a", "v1/qr/a", "?a"] {
            assert!(!is_valid(path), "{path}");
        }
    }

    #[test]
    fn contradictions_are_kept_for_the_parser() {
        let request = http::Request::get("https://a.test/").header("host", "b.test");
        assert_eq!(written(request, false), "GET / HTTP/1.1\r\nhost: a.test\r\nhost: b.test\r\n\r\n");
        let request = http::Request::connect("a.test:443");
        assert_eq!(written(request, false), "CONNECT a.test:443 HTTP/1.1\r\nhost: a.test:443\r\n\r\n");
    }
}
