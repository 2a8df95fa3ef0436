//! The OpenAPI descriptions and the reference page.

use shared::{docs, openapi, response::Response};

use crate::context::RequestContext;

/// The OpenAPI descriptions, which `build.rs` writes.
const DESCRIPTION: &str = include_str!(concat!(env!("OUT_DIR"), "/openapi.json"));
const OF_BIOLINK: &str = include_str!(concat!(env!("OUT_DIR"), "/biolink.json"));

/// `GET /openapi.json`
pub(crate) fn openapi(context: &RequestContext<'_>) -> Response {
    openapi::response(DESCRIPTION, context.public_url())
}

/// `GET /biolink/openapi.json`
pub(crate) fn biolink_openapi(context: &RequestContext<'_>) -> Response {
    openapi::response(OF_BIOLINK, context.public_url())
}

/// `GET /docs`
pub(crate) fn docs(context: &RequestContext<'_>) -> Response {
    docs::reference(context.public_url())
}
