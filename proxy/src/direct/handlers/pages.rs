//! The OpenAPI description and the reference documentation.

use std::borrow::Cow;

use once_cell::sync::Lazy;
use shared::{docs, openapi, response::Response, transport::Address};

use super::Context;

static DESCRIPTION: Lazy<String> = Lazy::new(openapi::text);

/// `GET /openapi.json`
pub(super) fn openapi(context: &Context<'_>) -> Response {
    openapi::response(&DESCRIPTION, &public_url(context))
}

/// `GET /docs`
pub(super) fn docs(context: &Context<'_>) -> Response {
    docs::reference(&public_url(context))
}

/// Returns the URL that clients should call: the configured one, else the one that was called.
/// Returns an empty string, which makes paths relative, if the URL would have to be escaped.
fn public_url<'a>(context: &'a Context<'_>) -> Cow<'a, str> {
    if let Some(url) = &context.config.public_url {
        return Cow::Borrowed(url);
    }
    let scheme = if context.scheme.secure { "https" } else { "http" };
    let called = format!("{scheme}://{}", context.scheme.host);
    let plain = Address::parse(&called).is_some_and(|address| address.base == called && address.is_plain());
    Cow::Owned(if plain { called } else { String::new() })
}
