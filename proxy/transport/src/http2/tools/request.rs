//! The request that the relay writes in HTTP/1.1, in the terms of HTTP/2.

use std::{borrow::Cow, fmt::Write as _};

use http::{Method, Request, Uri, header, uri::Scheme};

use crate::http2::{head, sending::Framing};

/// The request with this head, without what is of HTTP/1.1 alone, and how its body's end is told.
pub(super) fn read(head: &[u8], scheme: Scheme) -> Option<(Request<()>, Framing)> {
    let (first, lines) = head::lines(head)?;
    let (mut headers, framing) = head::read(lines)?;
    let mut words = std::str::from_utf8(first).ok()?.split(' ');
    let (method, target) = (words.next()?, words.next()?);
    let authority = headers.remove(header::HOST)?;
    let uri = Uri::builder().scheme(scheme).authority(authority.as_bytes()).path_and_query(&*legal(target));
    let mut request = Request::new(());
    *request.method_mut() = Method::from_bytes(method.as_bytes()).ok()?;
    *request.uri_mut() = uri.build().ok()?;
    *request.headers_mut() = headers;
    // Without a word about its end, a request has no body.
    let framing = if framing == Framing::Rest { Framing::Length(0) } else { framing };
    Some((request, framing))
}

/// The target with what no URI may have (RFC 3986, section 2) told by its number: HTTP/1.1 passes it on as it is, servers
/// of HTTP/2 need not take it.
fn legal(target: &str) -> Cow<'_, str> {
    let is_legal = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~:/?@!$&'()*+,;=%[]".contains(&byte);
    if target.bytes().all(is_legal) {
        return Cow::Borrowed(target);
    }
    let mut text = String::with_capacity(target.len() + 16);
    for byte in target.bytes() {
        if is_legal(byte) {
            text.push(char::from(byte));
        } else {
            // Writing to a string cannot fail.
            let _written = write!(text, "%{byte:02X}");
        }
    }
    Cow::Owned(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(head: &str) -> (Request<()>, Framing) {
        read(head.as_bytes(), Scheme::HTTP).unwrap()
    }

    #[test]
    fn a_request_has_its_host_as_authority_and_nothing_of_the_hop() {
        let (request, framing) = of(
            "POST /api/a?b=c HTTP/1.1\r\nhost: tool.test:9100\r\nTE: gzip\r\nX-A: b\r\ncontent-length: 3\r\n\r\n",
        );
        assert_eq!((request.method(), framing), (&Method::POST, Framing::Length(3)));
        assert_eq!(request.uri(), "http://tool.test:9100/api/a?b=c");
        let headers = ["x-a", "content-length"].map(|name| request.headers()[name].as_bytes());
        assert_eq!((request.headers().len(), headers), (2, [&b"b"[..], b"3"]));

        let (request, framing) = of("POST /a HTTP/1.1\r\nhost: a:1\r\ntransfer-encoding: chunked\r\n\r\n");
        assert_eq!((request.headers().len(), framing), (0, Framing::Chunks));
        let (_, framing) = of("GET /a HTTP/1.1\r\nhost: a:1\r\n\r\n");
        assert_eq!(framing, Framing::Length(0));
    }

    #[test]
    fn a_target_that_is_no_uri_becomes_one_and_loses_nothing() {
        let (request, _) = of("GET /a?q={\"b\": HTTP/1.1\r\nhost: a:1\r\n\r\n");
        assert_eq!(request.uri().path_and_query().unwrap(), "/a?q=%7B%22b%22:");
        assert_eq!(legal("/a?b=%20+[c]#d|é"), "/a?b=%20+[c]%23d%7C%C3%A9");
        assert!(matches!(legal("/a?b=%20"), Cow::Borrowed(_)));
    }
}
