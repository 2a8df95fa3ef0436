//! Responses of the gateway's own, the same from the edge and from the proxy. The shell that sends
//! one adds what every response has: the request id, headers for browsers, and the timing.

use std::borrow::Cow;

use crate::crc32::crc32;
use crate::headers::{self, Header, tokens};
use crate::method::Methods;
use crate::time::UnixMillis;

const ETAG: &str = "etag";
/// A GIF with one transparent pixel.
const PIXEL: &[u8] =
    b"GIF89a\x01\0\x01\0\x80\0\0\0\0\0\0\0\0!\xf9\x04\x01\0\0\0\0,\0\0\0\0\x01\0\x01\0\0\x02\x02D\x01\0;";

/// A response that is ready to be sent. It may hold a key, so it must not be printed.
#[must_use]
pub struct Response<B = String> {
    /// The HTTP status.
    pub status: u16,
    /// Headers to set, `Content-Type` among them; names in lower case.
    pub headers: Vec<Header>,
    /// The body: text, or bytes. A 204 has none.
    pub body: B,
}

impl Response {
    /// Returns a JSON text that is good for this moment only.
    pub fn json(body: String) -> Self {
        Self::new(200, "application/json", "no-store", body)
    }

    /// Returns a table as comma-separated values (RFC 4180), whose first line names the columns. It is saved as
    /// `name` and `.csv`.
    pub fn csv(name: &str, body: String) -> Self {
        let disposition = format!("attachment; filename=\"{name}.csv\"");
        Self::new(200, "text/csv; charset=utf-8; header=present", "no-store", body)
            .with_headers([("content-disposition", disposition)])
    }

    /// Returns a 201 with the created resource as JSON and its path as `Location`.
    pub fn created(body: String, path: String) -> Self {
        Self { status: 201, ..Self::json(body) }.with_headers([("location", path)])
    }

    /// Returns a 204.
    pub fn no_content() -> Self {
        Self {
            status: 204,
            headers: vec![headers::header(("cache-control", "no-store"))],
            body: String::new(),
        }
    }

    /// Returns a redirect that no cache keeps.
    pub fn redirect(status: u16, location: String) -> Self {
        let headers =
            vec![headers::header(("cache-control", "no-store")), ("location".into(), location.into())];
        Self { status, headers, body: String::new() }
    }

    /// Returns the same response with its body as bytes.
    pub fn into_bytes(self) -> Response<Vec<u8>> {
        Response { status: self.status, headers: self.headers, body: self.body.into_bytes() }
    }

    /// Returns a refusal to prefetch: a browser then sends the request again when it is needed.
    pub fn not_prefetched() -> Self {
        Self {
            status: 503,
            headers: vec![headers::header(("cache-control", "no-store"))],
            body: String::new(),
        }
    }

    /// Returns the response to a liveness check.
    pub fn health() -> Self {
        Self::json(r#"{"status":"ok"}"#.to_owned())
    }

    /// Returns the response to a preflight of a path that takes these methods, none if it leads
    /// nowhere.
    pub fn preflight(methods: Methods) -> Self {
        Self { status: 204, headers: headers::preflight(methods), body: String::new() }
    }
}

impl Response<Vec<u8>> {
    /// Returns a transparent image of one pixel, which no cache keeps.
    pub fn pixel() -> Self {
        Self::new(200, "image/gif", "no-store", PIXEL.to_vec())
    }
}

impl<B: AsRef<[u8]> + Default> Response<B> {
    /// Returns a page, or what belongs to one, for visitors. Each visit asks whether it changed, and
    /// a 304 is enough if it did not.
    pub fn page(media_type: impl Into<Cow<'static, str>>, body: B) -> Self {
        Self::tagged(media_type, "public, max-age=0, must-revalidate", body)
    }

    /// Returns what is the same for every client and may be kept for five minutes.
    pub fn public(media_type: impl Into<Cow<'static, str>>, body: B) -> Self {
        Self::tagged(media_type, "public, max-age=300", body)
    }

    /// Returns what programs fetch again and again, and may keep for a minute.
    pub fn feed(media_type: impl Into<Cow<'static, str>>, body: B) -> Self {
        Self::tagged(media_type, "public, max-age=60", body)
    }

    /// Returns the response as one that is made anew for each visit, so that nothing can stand for it.
    pub fn unique(mut self) -> Self {
        self.headers.retain(|(name, _)| !matches!(&**name, ETAG | "cache-control"));
        self.with_headers([("cache-control", "private, no-cache")])
    }

    fn tagged(media_type: impl Into<Cow<'static, str>>, cache: &'static str, body: B) -> Self {
        let tag = weak_tag(body.as_ref());
        let response = Self::new(200, media_type, cache, body);
        response.with_headers([(ETAG, tag), ("vary", "accept-encoding".to_owned())])
    }

    /// Returns a header by its name in lower case.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(other, _)| *other == name).map(|(_, value)| &**value)
    }

    /// Returns 304 without a body if one of the request's `If-None-Match` values names this text
    /// (RFC 9110, section 13.1.2), and this text otherwise.
    pub fn if_none_match<'a>(self, values: impl Iterator<Item = &'a [u8]>) -> Self {
        let opaque = |tag: &'a [u8]| tag.strip_prefix(b"W/").unwrap_or(tag);
        let own = self.header(ETAG).map(|tag| tag.strip_prefix("W/").unwrap_or(tag).as_bytes());
        let Some(own) = own.filter(|_| self.status == 200) else { return self };
        if !values.flat_map(tokens).any(|tag| tag == b"*" || opaque(tag) == own) {
            return self;
        }
        let headers = self.headers.into_iter().filter(|(name, _)| *name != "content-type").collect();
        Self { status: 304, headers, body: B::default() }
    }

    /// Returns 304 without a body if this text is not newer than the request's `If-Modified-Since`
    /// (RFC 9110, section 13.1.3), and this text otherwise. Must not be called for a request with
    /// `If-None-Match`, which counts instead.
    pub fn if_modified_since(self, value: &str) -> Self {
        let own = self.header("last-modified").and_then(UnixMillis::from_http_date);
        let is_newer = |since| own.is_none_or(|own| own > since);
        if self.status != 200 || UnixMillis::from_http_date(value).is_none_or(is_newer) {
            return self;
        }
        let headers = self.headers.into_iter().filter(|(name, _)| *name != "content-type").collect();
        Self { status: 304, headers, body: B::default() }
    }

    /// Returns a response with its media type and the value of `Cache-Control`.
    pub fn new(status: u16, media_type: impl Into<Cow<'static, str>>, cache: &'static str, body: B) -> Self {
        // With room for what refusals have beside these: they come in floods.
        let mut headers = Vec::with_capacity(6);
        headers.extend([("content-type".into(), media_type.into()), ("cache-control".into(), cache.into())]);
        Self { status, headers, body }
    }

    /// Adds headers.
    pub fn with_headers<N: Into<Cow<'static, str>>, V: Into<Cow<'static, str>>>(
        mut self,
        more: impl IntoIterator<Item = (N, V)>,
    ) -> Self {
        self.headers.extend(more.into_iter().map(|(name, value)| (name.into(), value.into())));
        self
    }
}

/// Returns an entity tag that is weak, because the sender may compress the body.
fn weak_tag(body: &[u8]) -> String {
    format!("W/\"{:08x}-{:x}\"", crc32(&[body]), body.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header<'a>(response: &'a Response, name: &str) -> Option<&'a str> {
        response.header(name)
    }

    #[test]
    fn matching_etag_is_304_without_a_body() {
        let page = || Response::page("text/html", "a".to_owned());
        let tag = page().header("etag").unwrap().to_owned();
        let asked = |value: &str| page().if_none_match([value.as_bytes()].into_iter());
        for value in [tag.as_str(), "*", tag.trim_start_matches("W/"), &format!("\"a\", {tag}")] {
            let response = asked(value);
            assert_eq!((response.status, response.body.as_str()), (304, ""), "{value}");
            assert_eq!(response.header("etag"), Some(tag.as_str()));
            assert_eq!(response.header("vary"), Some("accept-encoding"));
            assert_eq!(response.header("content-type"), None);
        }
        for value in ["", "\"a\"", "W/\"a\""] {
            assert_eq!(asked(value).status, 200, "{value}");
        }
        assert_ne!(Response::page("text/html", "b".to_owned()).header("etag"), Some(tag.as_str()));
        assert_eq!(Response::health().if_none_match([&b"*"[..]].into_iter()).status, 200);
    }

    #[test]
    fn text_that_was_not_modified_is_304_without_a_body() {
        let moment = UnixMillis(1_763_712_000_000);
        let feed = || {
            let feed: Response = Response::feed("text/plain", "a".to_owned());
            feed.with_headers([("last-modified", moment.to_http_date())])
        };
        let status = |value: &str| feed().if_modified_since(value).status;
        assert_eq!(status("Fri, 21 Nov 2025 08:00:00 GMT"), 304);
        assert_eq!(status("Fri, 21 Nov 2025 08:00:01 GMT"), 304);
        assert_eq!(status("Fri, 21 Nov 2025 07:59:59 GMT"), 200);
        assert_eq!((status(""), status("yesterday")), (200, 200));
        assert_eq!(Response::health().if_modified_since("Fri, 21 Nov 2025 08:00:00 GMT").status, 200);
    }

    #[test]
    fn only_public_responses_are_cacheable() {
        let json = [
            Response::json("{}".to_owned()),
            Response::health(),
            Response::created("{}".to_owned(), "/a".to_owned()),
        ];
        assert!(json.iter().all(|response| header(response, "cache-control") == Some("no-store")));
        assert_eq!((json[2].status, header(&json[2], "location")), (201, Some("/a")));
        let public: Response = Response::public("text/plain", String::new());
        assert_eq!(header(&public, "cache-control"), Some("public, max-age=300"));
    }
}
