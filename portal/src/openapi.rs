//! `GET /openapi.json`: the machine-readable description. It is made from the same tables as the
//! router and the problems, so that it cannot contradict them. The bio-link product has one of its
//! own, [`biolink`].

pub mod biolink;
mod example;
mod keys;
mod marks;
mod operation;
mod outcome;
mod schema;

use serde::{Serialize, Serializer};
use serde_json::{Map, Value, json};
use shared::{
    headers::API_KEY,
    problem::{Code, MEDIA_TYPE},
    response::Response,
    tool::Tool,
};

use crate::{asset::Asset, endpoint::Endpoint, route::DocsPage};

use outcome::{ANY, Group, HEADERS, canonical};

/// The version of the description (spec section 9).
pub const VERSION: &str = "1.0.0";

pub(crate) use shared::document::SERVER;

/// Returns the text of the [`document`], which [`response`] completes.
#[must_use]
pub fn text() -> String {
    // Plain maps and strings always serialise.
    serde_json::to_string(&RangesLast(&compact_document())).unwrap_or_default()
}

/// Returns the description, with `server` (such as `https://api.example.com`) as its one server.
#[must_use]
pub fn document(server: &str) -> Value {
    serde_json::from_str(&marks::complete(&text(), server)).unwrap_or_default()
}

/// Writes `*/*` after the other members of its object: code generators take the first media type of
/// a response.
struct RangesLast<'a>(&'a Value);

impl Serialize for RangesLast<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Value::Object(members) => {
                let (ranges, named): (Vec<_>, Vec<_>) = members.iter().partition(|(name, _)| *name == ANY);
                let ordered = named.into_iter().chain(ranges);
                serializer.collect_map(ordered.map(|(name, value)| (name, RangesLast(value))))
            }
            Value::Array(items) => serializer.collect_seq(items.iter().map(RangesLast)),
            plain => plain.serialize(serializer),
        }
    }
}

/// Returns a description as it is served, from its text.
#[must_use]
pub fn response(description: &str, server: &str) -> Response {
    Response::public("application/json", marks::complete(description, server))
}

fn compact_document() -> Value {
    let server = SERVER;
    json!({
        "openapi": "3.0.3",
        "info": {
            "title": "Unified Tool Gateway API",
            "version": VERSION,
            "description": "One endpoint pattern reaches every tool, and one API key authenticates all calls. Send the key in the header X-API-Key. Every response names its request in X-Request-Id. Except at tools, HEAD is taken wherever GET is, and the body of a PATCH may also be called application/merge-patch+json. An event stream of a tool that breaks off ends with an event `error`, whose data is the problem `response-aborted`. The gateway's own errors are RFC 9457 problem details and carry X-Gateway-Problem with the problem's code. An error without that header is the tool's own, of any type.",
            "contact": { "name": "Reference and quick start", "url": format!("{server}/docs") },
            "license": { "name": "MIT OR Apache-2.0", "url": "https://spdx.org/licenses/" },
        },
        "servers": [{ "url": server }],
        "externalDocs": { "description": "Reference for people", "url": format!("{server}/docs") },
        "tags": Tool::ALL.map(|tool| json!({ "name": tool, "description": tool.purpose() })),
        "paths": paths(),
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
            "headers": HEADERS.map(|header| (canonical(header.name), header.describe())).into_iter().collect::<Map<_, _>>(),
            "responses": responses(),
        },
    })
}

fn paths() -> Map<String, Value> {
    let mut paths = Map::new();
    for endpoint in Endpoint::all() {
        if let Some(operation) = operation(endpoint) {
            let item = paths.entry(endpoint.path()).or_insert_with(|| json!({}));
            if let Some(item) = item.as_object_mut() {
                item.insert(endpoint.method().as_str().to_lowercase(), operation);
            }
        }
    }
    paths
}

/// Returns the operation of an endpoint; `None` for one that is not for clients of the API, or not
/// served yet.
fn operation(endpoint: Endpoint) -> Option<Value> {
    match endpoint {
        Endpoint::CallTool(tool, method) => Some(operation::call_tool(tool, method)),
        Endpoint::IssueKey => Some(operation::issue_key()),
        Endpoint::ReadOwnKey => Some(operation::read_own_key()),
        Endpoint::Health => Some(operation::open(
            "health",
            "Whether the gateway is alive",
            "Says nothing of the tools: read the status for that.",
            ("application/json", operation::schema("Health")),
        )),
        Endpoint::Status => Some(operation::status()),
        Endpoint::Asset(Asset::OpenApi) => Some(operation::open(
            "openapi",
            "This description",
            "The description of the API in OpenAPI 3.0.3, with the address that was called as its server.",
            ("application/json", json!({ "type": "object" })),
        )),
        Endpoint::Asset(Asset::Docs(DocsPage::Gateway)) => Some(operation::open(
            "docs",
            "Reference for people",
            "Guides, and every operation with its fields, errors and examples in five languages.",
            ("text/html", json!({ "type": "string" })),
        )),
        Endpoint::ProblemPage => Some(operation::problem_page()),
        Endpoint::RotateOwnKey => Some(keys::rotate_own()),
        Endpoint::RevokeOwnKey => Some(keys::revoke_own()),
        Endpoint::ListKeys => Some(keys::list()),
        Endpoint::ReadKey => Some(keys::read()),
        Endpoint::ChangeKey => Some(keys::change()),
        Endpoint::RevokeKey => Some(keys::revoke()),
        Endpoint::RotateKey => Some(keys::rotate()),
        // The pages API is a product of its own.
        Endpoint::KeyChanges
        | Endpoint::Asset(_)
        | Endpoint::Mcp
        | Endpoint::StatusPage
        | Endpoint::Site(_)
        | Endpoint::Pages(_)
        | Endpoint::Webhooks(_)
        | Endpoint::Admin(_)
        | Endpoint::Console(_)
        | Endpoint::PushProducts
        | Endpoint::Visit(_)
        | Endpoint::Preflight => None,
    }
}

/// Returns every response component that an operation refers to, by name.
fn responses() -> Map<String, Value> {
    let at_tools =
        operation::AT_TOOLS.into_iter().map(|group| (group.name_at_tools(), response_at_tools(group)));
    let elsewhere = Group::ALL.into_iter().filter(|group| !operation::ONLY_AT_TOOLS.contains(group));
    elsewhere.map(|group| (group.name(), response_of(group))).chain(at_tools).collect()
}

/// Returns a group of problems as a response object: one example for each code.
fn response_of(group: Group) -> Value {
    problem_response(group.codes(), group.headers())
}

/// Returns problems of one status as a response object: one example for each code. Titles and
/// examples are [`marks`] in the text.
fn problem_response(codes: &[Code], headers: &[&str]) -> Value {
    json!({
        "description": marks::titles(codes),
        "headers": outcome::references(headers),
        "content": { MEDIA_TYPE: {
            "schema": reference("schemas", "Problem"),
            "examples": marks::examples(codes),
        } },
    })
}

/// Returns a reference to a component of this kind.
fn reference(kind: &str, name: &str) -> Value {
    json!({ "$ref": format!("#/components/{kind}/{name}") })
}

/// Returns the same of an operation whose tool may respond with this status too, of its own and
/// with any body.
fn response_at_tools(group: Group) -> Value {
    let mut response = response_of(group);
    if let Some(content) = response.get_mut("content").and_then(Value::as_object_mut) {
        content.extend(outcome::of_a_tool());
    }
    if let Some(Value::String(description)) = response.get_mut("description") {
        description.push_str(" Without X-Gateway-Problem it is the tool's own response, of any type.");
    }
    response
}

#[cfg(test)]
mod tests;
