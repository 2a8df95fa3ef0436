//! `GET /openapi.json`: the machine-readable description. It is data, `openapi/gateway.yaml`, and what code
//! knows is put in: limits, names, problems. The bio-link product has its own, [`biolink`].
//!
//! Why: docs/decisions/portal.md, "The descriptions are YAML, and code completes them".

pub mod biolink;
mod expand;
mod facts;

use std::sync::LazyLock;

use serde::{Serialize, Serializer};
use serde_json::Value;
use shared::response::Response;

use self::facts::Facts;

/// The version of the description (spec section 9).
pub const VERSION: &str = "1.0.0";

pub(crate) use shared::document::SERVER;

/// Every media type.
const ANY: &str = "*/*";
const DESCRIPTION: &str = include_str!("../openapi/gateway.yaml");

/// Returns the text of the [`document`], which [`response`] completes.
pub fn text() -> String {
    render(&document(SERVER))
}

/// Returns the description, with `server` (such as `https://api.example.com`) as its one server.
pub fn document(server: &str) -> Value {
    // Pages, tables and tests ask many times, and reading takes longer than all else here.
    static READ: LazyLock<Value> = LazyLock::new(|| expand::expand(parse(DESCRIPTION)));
    with_server(READ.clone(), server)
}

/// Returns a description as it is served, from its text.
pub fn response(description: &str, server: &str) -> Response {
    Response::public("application/json", description.replace(SERVER, server))
}

/// Reads a description, with what code knows put in.
fn parse(description: &str) -> Value {
    // YAML 1.1 reads `no` and `on` as truth values, and Norway's language as false.
    let options = serde_saphyr::options! { strict_booleans: true };
    // The files are a part of the program, and a test reads them.
    let mut description = serde_saphyr::from_str_with_options(description, options).unwrap_or_default();
    Facts::new().fill(&mut description);
    description
}

/// Returns the document with the address of a server in place of [`SERVER`].
fn with_server(mut document: Value, server: &str) -> Value {
    match &mut document {
        Value::String(text) => *text = text.replace(SERVER, server),
        Value::Array(items) => items.iter_mut().for_each(|item| *item = with_server(item.take(), server)),
        Value::Object(members) => {
            members.values_mut().for_each(|member| *member = with_server(member.take(), server));
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
    document
}

/// Returns the text of a document.
fn render(document: &Value) -> String {
    // Plain maps and strings always serialize.
    serde_json::to_string(&RangesLast(document)).unwrap_or_default()
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

#[cfg(test)]
mod tests;
