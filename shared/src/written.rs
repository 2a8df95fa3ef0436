//! Answers of the gateway's own, the same from the edge and from the proxy. What every answer has (its request's name,
//! what browsers need, how long it took) is added by the shell that sends it.

use std::borrow::Cow;

use crate::{
    headers::{self, Header},
    route::Method,
};

/// A text that is ready to be sent. It may hold a key, and is not to be printed.
pub struct Written {
    /// The HTTP status.
    pub status: u16,
    /// Headers to set, `Content-Type` among them; names in lower case.
    pub headers: Vec<Header>,
    /// The body. A 204 has none.
    pub body: String,
}

impl Written {
    /// A JSON text that is good for this moment only.
    #[must_use]
    pub fn json(body: String) -> Self {
        Self::new(200, "application/json", "no-store", body)
    }

    /// What was made, as JSON, and the path at which it is from now on.
    #[must_use]
    pub fn created(body: String, path: String) -> Self {
        Self { status: 201, ..Self::json(body) }.with_headers([("location", path)])
    }

    /// The answer to a liveness check.
    #[must_use]
    pub fn health() -> Self {
        Self::json(r#"{"status":"ok"}"#.to_owned())
    }

    /// The answer to a preflight on a route that takes these methods.
    #[must_use]
    pub fn preflight(methods: &[Method]) -> Self {
        Self { status: 204, headers: headers::preflight(methods).into(), body: String::new() }
    }

    /// A text that is the same for everybody and may be kept for five minutes.
    pub(crate) fn public(media_type: &'static str, body: String) -> Self {
        Self::new(200, media_type, "public, max-age=300", body)
    }

    pub(crate) fn new(status: u16, media_type: &'static str, cache: &'static str, body: String) -> Self {
        // With room for what refusals have beside these: they come in floods.
        let mut headers = Vec::with_capacity(6);
        headers.extend([("content-type", media_type.into()), ("cache-control", cache.into())]);
        Self { status, headers, body }
    }

    /// The same with more headers.
    #[must_use]
    pub fn with_headers<V: Into<Cow<'static, str>>>(
        mut self,
        more: impl IntoIterator<Item = (&'static str, V)>,
    ) -> Self {
        self.headers.extend(more.into_iter().map(|(name, value)| (name, value.into())));
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{docs, openapi, problem::Code};

    fn header<'a>(written: &'a Written, name: &str) -> Option<&'a str> {
        written.headers.iter().find(|(other, _)| *other == name).map(|(_, value)| &**value)
    }

    #[test]
    fn only_what_is_the_same_for_everybody_is_kept_by_caches() {
        let json = [
            Written::json("{}".to_owned()),
            Written::health(),
            Written::created("{}".to_owned(), "/a".to_owned()),
        ];
        assert!(json.iter().all(|written| header(written, "cache-control") == Some("no-store")));
        assert_eq!((json[2].status, header(&json[2], "location")), (201, Some("/a")));
        let public = [
            docs::reference("https://a.test"),
            docs::problem_page(Code::KeyMissing),
            openapi::answer("{}", ""),
        ];
        assert!(public.iter().all(|written| header(written, "cache-control") == Some("public, max-age=300")));
    }

    #[test]
    fn a_description_names_the_server_that_was_called() {
        let written = openapi::answer(&openapi::text(), "https://api.example.com");
        let body: serde_json::Value = serde_json::from_str(&written.body).unwrap();
        assert_eq!(body, openapi::document("https://api.example.com"));
        assert_eq!(header(&written, "content-type"), Some("application/json"));
    }
}
