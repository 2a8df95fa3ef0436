//! The OpenAPI description and the reference page.

use shared::{docs, openapi, response::Response};

use crate::context::RequestContext;

/// The OpenAPI description, which `build.rs` writes.
const DESCRIPTION: &str = include_str!(concat!(env!("OUT_DIR"), "/openapi.json"));

/// `GET /openapi.json`
pub(crate) fn openapi(context: &RequestContext<'_>) -> Response {
    openapi::response(DESCRIPTION, context.public_url())
}

/// `GET /docs`
pub(crate) fn docs(context: &RequestContext<'_>) -> Response {
    docs::reference(context.public_url())
}
