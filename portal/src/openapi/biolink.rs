//! `GET /biolink/openapi.json`: the description of the bio-link product's API, `openapi/biolink.yaml`, with
//! what follows from the routes, and examples that an account in memory makes.

mod events;
mod example;
mod examples;
mod operations;

use std::sync::LazyLock;

use serde_json::Value;

use super::{SERVER, expand, parse, render, with_server};

pub(super) const DESCRIPTION: &str = include_str!("../../openapi/biolink.yaml");

/// Returns the text of the [`document`], which [`response`](super::response) completes.
pub fn text() -> String {
    render(&document(SERVER))
}

/// Returns the description, with `server` (such as `https://api.example.com`) as its one server.
pub fn document(server: &str) -> Value {
    static READ: LazyLock<Value> = LazyLock::new(read);
    with_server(READ.clone(), server)
}

fn read() -> Value {
    let mut description = parse(DESCRIPTION);
    operations::complete(&mut description);
    examples::add(&mut description);
    let mut document = expand::expand(description);
    events::add_schemas(&mut document);
    document
}

#[cfg(test)]
mod tests;
