//! The description for machines and the reference for people.

use shared::{docs, openapi, response::Response};

use crate::edge::Edge;

/// Made by `build.rs`.
const DESCRIPTION: &str = include_str!(concat!(env!("OUT_DIR"), "/openapi.json"));

/// `GET /openapi.json`
pub(crate) fn openapi(edge: &Edge<'_>) -> Response {
    openapi::response(DESCRIPTION, edge.public_url())
}

/// `GET /docs`
pub(crate) fn docs(edge: &Edge<'_>) -> Response {
    docs::reference(edge.public_url())
}
