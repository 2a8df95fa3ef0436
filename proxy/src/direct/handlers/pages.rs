//! The OpenAPI description and the reference documentation.

use std::{borrow::Cow, collections::HashMap};

use once_cell::sync::{Lazy, OnceCell};
use shared::{docs, openapi, response::Response, route::DocsPage, transport::Address};

use super::Context;

static DESCRIPTION: Lazy<String> = Lazy::new(openapi::text);
/// The pages of the reference. Each is rendered once, because that reads all of both descriptions.
static REFERENCE: Lazy<HashMap<DocsPage, OnceCell<String>>> =
    Lazy::new(|| DocsPage::ALL.map(|page| (page, OnceCell::new())).into());

/// `GET /openapi.json`
pub(super) fn openapi(context: &Context<'_>) -> Response {
    openapi::response(&DESCRIPTION, &public_url(context))
}

/// `GET /docs` and the pages below it
pub(super) fn docs(context: &Context<'_>, page: DocsPage) -> Response {
    let server = public_url(context);
    match REFERENCE.get(&page) {
        Some(text) => docs::serve(text.get_or_init(|| docs::text(page)), &server),
        None => docs::reference(page, &server),
    }
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
