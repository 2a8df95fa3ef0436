//! The description for machines and the reference for people.

use shared::{docs, openapi, written::Written};

use crate::edge::Edge;

/// Made by `build.rs`.
const DESCRIPTION: &str = include_str!(concat!(env!("OUT_DIR"), "/openapi.json"));

/// `GET /openapi.json`
pub(crate) fn openapi(edge: &Edge<'_>) -> Written {
    openapi::answer(DESCRIPTION, edge.public_url())
}

/// `GET /docs`
pub(crate) fn docs(edge: &Edge<'_>) -> Written {
    docs::reference(edge.public_url())
}
