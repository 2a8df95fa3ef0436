//! The description for machines and the reference for people.

use shared::{docs, openapi, response::Response};

use crate::context::RequestContext;

/// Made by `build.rs`.
const DESCRIPTION: &str = include_str!(concat!(env!("OUT_DIR"), "/openapi.json"));

/// `GET /openapi.json`
pub(crate) fn openapi(context: &RequestContext<'_>) -> Response {
    openapi::response(DESCRIPTION, context.public_url())
}

/// `GET /docs`
pub(crate) fn docs(context: &RequestContext<'_>) -> Response {
    docs::reference(context.public_url())
}
