//! The OpenAPI description and the reference documentation.

use std::borrow::Cow;

use once_cell::sync::Lazy;
use shared::{
    docs::{self, Host},
    openapi,
    problem::Problem,
    response::Response,
    route::DocsPage,
    site,
    transport::Address,
};

use super::Context;

static DESCRIPTION: Lazy<String> = Lazy::new(openapi::text);
/// The reference. It is rendered once, because that reads all of the description.
static REFERENCE: Lazy<String> = Lazy::new(|| docs::text(DocsPage::Gateway, Host::Direct));

/// `GET /openapi.json`
pub(super) fn openapi(context: &Context<'_>) -> Response {
    openapi::response(&DESCRIPTION, &public_url(context))
}

/// `GET /docs`. The pages below it describe what only the edge serves.
///
/// # Errors
/// Returns `route-unknown` for the pages below it.
pub(super) fn docs(context: &Context<'_>, page: DocsPage) -> Result<Response, Problem> {
    if Host::Direct.serves(page) {
        Ok(docs::serve(&REFERENCE, &public_url(context)))
    } else {
        Err(site::edge_only())
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
