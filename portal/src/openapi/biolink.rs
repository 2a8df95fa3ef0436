//! `GET /biolink/openapi.json`: the description of the bio-link product's API, `openapi/biolink.yaml`.
//! Its examples are calls of an account in memory with responses that it gave: a test makes them.

mod events;

use serde_json::Value;

use super::{SERVER, parse, render};

pub(super) const DESCRIPTION: &str = include_str!("../../openapi/biolink.yaml");

/// Returns the text of the [`document`], which [`response`](super::response) completes.
pub fn text() -> String {
    render(&document(SERVER))
}

/// Returns the description, with `server` (such as `https://api.example.com`) as its one server.
pub fn document(server: &str) -> Value {
    let mut document = parse(DESCRIPTION, server);
    events::add_schemas(&mut document);
    document
}

#[cfg(test)]
mod tests;
