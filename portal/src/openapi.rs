//! `GET /openapi.json`: the machine-readable description. It is data, `openapi/gateway.yaml`: a test
//! compares it with the router, the problems and the limits. The bio-link product has one of its own,
//! [`biolink`].
//!
//! Why: docs/decisions/portal.md, "The descriptions are YAML, with a test for what code says too".

pub mod biolink;
mod expand;

use serde::{Serialize, Serializer};
use serde_json::Value;
use shared::response::Response;

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
    parse(DESCRIPTION, server)
}

/// Returns a description as it is served, from its text.
pub fn response(description: &str, server: &str) -> Response {
    Response::public("application/json", description.replace(SERVER, server))
}

/// Returns the document that a description in YAML stands for.
fn parse(description: &str, server: &str) -> Value {
    // YAML 1.1 reads `no` and `on` as truth values, and Norway's language as false.
    let options = serde_saphyr::options! { strict_booleans: true };
    // The files are a part of the program, and a test reads them.
    let description = serde_saphyr::from_str_with_options(&description.replace(SERVER, server), options);
    expand::expand(description.unwrap_or_default())
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
