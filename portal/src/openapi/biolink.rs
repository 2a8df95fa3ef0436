//! `GET /biolink/openapi.json`: the description of the bio-link product's API, made from the table
//! of its routes. Its examples are calls of an account in memory with responses that it gave.

mod example;
mod operation;
mod parameter;
mod refusal;
mod schema;
mod texts;

use serde_json::{Map, Value, json};
use shared::headers::API_KEY;

use super::{SERVER, VERSION, marks, outcome::canonical};
use crate::endpoint::Endpoint;

use texts::Tag;

/// Returns the text of the [`document`], which [`response`](super::response) completes.
#[must_use]
pub fn text() -> String {
    compact_document().to_string()
}

/// Returns the description, with `server` (such as `https://api.example.com`) as its one server.
#[must_use]
pub fn document(server: &str) -> Value {
    serde_json::from_str(&marks::complete(&text(), server)).unwrap_or_default()
}

fn compact_document() -> Value {
    let server = SERVER;
    json!({
        "openapi": "3.0.3",
        "info": {
            "title": "Bio-link Pages API",
            "version": VERSION,
            "description": "Creates, changes and publishes bio-link pages. Send a key with the bio-link plan `business` in the header X-API-Key. Visitors open a published page at /{slug}. HEAD is taken wherever GET is, and the body of a PATCH may also be called application/merge-patch+json. Every error is an RFC 9457 problem.",
            "contact": { "name": "Reference and quick start", "url": format!("{server}/docs") },
            "license": { "name": "MIT OR Apache-2.0", "url": "https://spdx.org/licenses/" },
        },
        "servers": [{ "url": server }],
        "tags": Tag::ALL.map(|tag| json!({ "name": tag.name(), "description": tag.about() })),
        "paths": paths(),
        // `webhooks` of OpenAPI 3.1, under the name that tools for 3.0 know.
        "x-webhooks": operation::deliveries(),
        "components": {
            "securitySchemes": {
                "ApiKey": {
                    "type": "apiKey",
                    "in": "header",
                    "name": canonical(API_KEY),
                    "description": "The key as POST /v1/keys/issue returned it.",
                },
                "AdminSecret": { "type": "http", "scheme": "bearer", "description": "The admin secret." },
            },
            "schemas": schema::all(),
            "examples": { "Page": { "value": example::page_response() } },
            "headers": operation::HEADERS.map(|header| (canonical(header.name), header.describe())).into_iter().collect::<Map<_, _>>(),
            "parameters": parameter::components(),
            "responses": refusal::components(),
        },
    })
}

fn paths() -> Map<String, Value> {
    let mut paths = Map::new();
    for endpoint in Endpoint::all() {
        if let Some(operation) = operation::describe(endpoint) {
            let item = paths.entry(endpoint.path()).or_insert_with(|| json!({}));
            if let Some(item) = item.as_object_mut() {
                item.insert(endpoint.method().as_str().to_lowercase(), operation);
            }
        }
    }
    paths
}

#[cfg(test)]
mod tests;
