//! The head of an HTTP/2 request. Nothing is repaired: contradictions are kept, so that the checks of
//! request heads refuse them.

use http::request::Parts;
use http::{Method, header};
use shared::problem::Problem;

use crate::request_head::RawHead;

/// The head of a request, as its frames say it.
#[derive(Debug)]
pub(crate) struct RequestFields {
    parts: Parts,
    /// Whether the body has no stated length.
    is_chunked: bool,
}

/// Memory of a header line besides its bytes: its place in the map of headers. More than the 32 bytes of
/// RFC 9113, section 6.5.2.
const LINE: usize = 104;
/// The same of all else.
const FIXED: usize = 512;

impl RequestFields {
    /// Returns the head of a request. `is_whole` means that it has no body.
    pub(super) fn new(parts: Parts, is_whole: bool) -> Self {
        let is_chunked = !is_whole && !parts.headers.contains_key(header::CONTENT_LENGTH);
        Self { parts, is_chunked }
    }

    /// Returns the head. `:authority` becomes `Host`. A different `Host` is kept as well, and is then
    /// refused as a duplicate. A body without a length counts as chunked: so it reaches the upstream.
    ///
    /// # Errors
    /// Returns a problem as [`RawHead::parse`] does.
    pub(crate) fn raw(&self) -> Result<RawHead<'_>, Problem> {
        let Self { parts, is_chunked } = self;
        let authority = parts.uri.authority().map(http::uri::Authority::as_str);
        let target = match parts.uri.path_and_query() {
            Some(target) if parts.method != Method::CONNECT => target.as_str(),
            // The target of CONNECT is the authority (RFC 9110, section 9.3.6).
            Some(_) | None => authority.unwrap_or_default(),
        };
        let host = authority.map(|authority| ("host", authority.as_bytes()));
        let repeats = move |name: &header::HeaderName, value: &[u8]| {
            *name == header::HOST && Some(value) == authority.map(str::as_bytes)
        };
        let sent = parts.headers.iter().map(|(name, value)| (name, value.as_bytes()));
        let sent = sent.filter(move |(name, value)| !repeats(name, value));
        let sent = sent.map(|(name, value)| (name.as_str(), value));
        let coding = is_chunked.then_some(("transfer-encoding", &b"chunked"[..]));
        RawHead::of_parts(parts.method.as_str(), target, host.into_iter().chain(sent).chain(coding))
    }
}

/// Returns true if `:path` is a path or an asterisk (RFC 9113, section 8.3.1). Another one
/// could be read as a target in absolute form, whose host replaces `:authority`.
pub(super) fn has_valid_path(head: &Parts) -> bool {
    let path = head.uri.path_and_query().map(http::uri::PathAndQuery::as_str);
    head.method == Method::CONNECT || path.is_some_and(|path| path.starts_with('/') || path == "*")
}

/// Returns the number of bytes that the head holds.
pub(super) fn length(head: &Parts) -> usize {
    let target = head.uri.path_and_query().map_or(0, |target| target.as_str().len());
    let authority = head.uri.authority().map_or(0, |authority| authority.as_str().len());
    let lines = head.headers.iter().map(|(name, value)| name.as_str().len() + value.len() + LINE);
    FIXED + target + authority + lines.sum::<usize>()
}

#[cfg(test)]
mod tests {
    use shared::problem::codes;

    use super::*;

    fn fields(request: http::request::Builder, is_whole: bool) -> RequestFields {
        RequestFields::new(request.body(()).unwrap().into_parts().0, is_whole)
    }

    fn lines<'a>(raw: &RawHead<'a>) -> Vec<(&'a str, &'a [u8])> {
        raw.lines().collect()
    }

    #[test]
    fn authority_is_the_host() {
        let request = http::Request::post("https://a.test:8443/v1/qr/x?b=c")
            .header("x-a", " b ")
            .header("host", "a.test:8443");
        let fields = fields(request, false);
        let raw = fields.raw().unwrap();
        assert_eq!((raw.method, raw.target, raw.is_http10), ("POST", "/v1/qr/x?b=c", false));
        let expected: [(&str, &[u8]); 3] =
            [("host", b"a.test:8443"), ("x-a", b"b"), ("transfer-encoding", b"chunked")];
        assert_eq!(lines(&raw), expected);
    }

    #[test]
    fn host_stands_for_a_missing_authority() {
        let fields = fields(http::Request::get("/").header("host", "b.test"), true);
        assert_eq!(lines(&fields.raw().unwrap()), [("host", &b"b.test"[..])]);
    }

    #[test]
    fn contradictions_and_bytes_that_http1_refuses_are_refused() {
        let (get, quoted) = (http::Request::get, http::HeaderName::from_lowercase(b"a\"b").unwrap());
        for request in [
            get("https://a.test/").header("host", "b.test"),
            get("/"),
            get("https://a.test/").header(quoted, "b"),
            get("https://a.test/").header("transfer-encoding", "gzip"),
        ] {
            let shown = format!("{request:?}");
            let code = fields(request, true).raw().err().map(|problem| problem.code());
            assert_eq!(code, Some(codes::HEADER_MALFORMED), "{shown}");
        }
    }

    #[test]
    fn target_of_connect_is_the_authority() {
        let fields = fields(http::Request::connect("a.test:443"), true);
        let raw = fields.raw().unwrap();
        assert_eq!((raw.method, raw.target), ("CONNECT", "a.test:443"));
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
}
