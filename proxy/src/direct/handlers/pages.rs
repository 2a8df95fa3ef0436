//! The OpenAPI description and the reference documentation.

use std::borrow::Cow;

use once_cell::sync::Lazy;
use shared::{docs, openapi, response::Response, transport::Address};

use super::OwnRequest;

static DESCRIPTION: Lazy<String> = Lazy::new(openapi::text);

/// `GET /openapi.json`
pub(super) fn openapi(request: &OwnRequest<'_>) -> Response {
    openapi::response(&DESCRIPTION, &public_url(request))
}

/// `GET /docs`
pub(super) fn docs(request: &OwnRequest<'_>) -> Response {
    docs::reference(&public_url(request))
}

/// Returns the URL that clients should call: the configured one, else the one that was called. Returns
/// an empty string, which makes paths relative, if the URL would have to be escaped.
fn public_url<'a>(request: &'a OwnRequest<'_>) -> Cow<'a, str> {
    if let Some(url) = &request.config.public_url {
        return Cow::Borrowed(url);
    }
    let scheme = if request.scheme.secure { "https" } else { "http" };
    let called = format!("{scheme}://{}", request.scheme.host);
    let plain = Address::parse(&called).is_some_and(|address| address.base == called && address.is_plain());
    Cow::Owned(if plain { called } else { String::new() })
}
