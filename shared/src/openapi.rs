//! `GET /openapi.json`: the machine-readable description, made from the tables that the router and the problems
//! are made from, so that it cannot say anything else than they do.

mod keys;
mod operation;
mod outcome;
mod schema;

use serde::{Serialize, Serializer};
use serde_json::{Map, Value, json};

use crate::{
    endpoint::Endpoint,
    headers::API_KEY,
    problem::{Code, MEDIA_TYPE, Problem},
    request_id::RequestId,
    response::Response,
    tool::Tool,
};

use outcome::{ANY, Group, HEADERS, canonical};

/// The version of the description (spec section 9).
pub const VERSION: &str = "1.0.0";

/// Stands for the server's address in a description that is made before the address is known.
pub const SERVER: &str = "https://server.invalid";

/// Returns the text of the [`document`] for [`SERVER`], to be kept for [`response`].
#[must_use]
pub fn text() -> String {
    // Plain maps and strings always serialise.
    serde_json::to_string(&RangesLast(&document(SERVER))).unwrap_or_default()
}

/// Writes `*/*` after the other members of its object: code generators take the first media type of a response.
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

/// `GET /openapi.json`, from the [`text`].
#[must_use]
pub fn response(description: &str, server: &str) -> Response {
    Response::public("application/json", description.replace(SERVER, server))
}

/// Returns the description, with `server` (such as `https://api.example.com`) as its one server.
#[must_use]
pub fn document(server: &str) -> Value {
    json!({
        "openapi": "3.0.3",
        "info": {
            "title": "Unified Tool Gateway API",
            "version": VERSION,
            "description": "One endpoint pattern reaches every tool, and one API key authenticates all calls. Send the key in the header X-API-Key. Every response names its request in X-Request-Id. The gateway's own errors are RFC 9457 problem details and carry X-Gateway-Problem with the problem's code. An error without that header is the tool's own, of any type.",
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
                    "description": "The key as POST /v1/keys/issue answered it.",
                },
                "AdminSecret": { "type": "http", "scheme": "bearer", "description": "The admin secret." },
            },
            "schemas": schema::all(),
            "headers": HEADERS.map(|header| (canonical(header.name), header.describe())).into_iter().collect::<Map<_, _>>(),
            "responses": respond_all(),
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
        Endpoint::OpenApi => Some(operation::open(
            "openapi",
            "This description",
            "The description of the API in OpenAPI 3.0.3, with the address that was called as its server.",
            ("application/json", json!({ "type": "object" })),
        )),
        Endpoint::Docs => Some(operation::open(
            "docs",
            "Reference for people",
            "Quick start, tools, limits, headers and errors on one page.",
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
        Endpoint::KeyChanges | Endpoint::Preflight => None,
    }
}

/// Returns every response component that an operation refers to, by name.
fn respond_all() -> Map<String, Value> {
    let at_tools =
        operation::AT_TOOLS.into_iter().map(|group| (group.name_at_tools(), respond_at_tools(group)));
    let elsewhere = Group::ALL.into_iter().filter(|group| !operation::ONLY_AT_TOOLS.contains(group));
    elsewhere.map(|group| (group.name(), respond(group))).chain(at_tools).collect()
}

/// Returns a group of problems as a response object: one example for each code.
fn respond(group: Group) -> Value {
    let example = |code: &Code| {
        let rendered = Problem::new(*code, code.about()).render(&RequestId([0x5a; 16]));
        let value: Value = serde_json::from_str(&rendered.body).unwrap_or_default();
        (code.as_str().to_owned(), json!({ "summary": code.title(), "value": value }))
    };
    let titles: Vec<_> =
        group.codes().iter().map(|code| format!("`{}`: {}.", code.as_str(), code.title())).collect();
    json!({
        "description": titles.join(" "),
        "headers": outcome::references(group.headers()),
        "content": { MEDIA_TYPE: {
            "schema": { "$ref": "#/components/schemas/Problem" },
            "examples": group.codes().iter().map(example).collect::<Map<_, _>>(),
        } },
    })
}

/// Returns the same of an operation whose tool may respond with this status too, of its own and
/// with any body.
fn respond_at_tools(group: Group) -> Value {
    let mut response = respond(group);
    if let Some(content) = response.get_mut("content").and_then(Value::as_object_mut) {
        content.extend(outcome::of_a_tool());
    }
    if let Some(Value::String(description)) = response.get_mut("description") {
        description.push_str(" Without X-Gateway-Problem it is the tool's own response, of any type.");
    }
    response
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use super::*;
    use crate::method::Method;
    use crate::route::Route;

    /// Returns every operation of the document: path, method, operation.
    fn operations() -> Vec<(String, String, Value)> {
        let document = document(SERVER);
        let paths = document["paths"].as_object().unwrap().clone();
        let each = |(path, item): (String, Value)| {
            let methods = item.as_object().unwrap().clone();
            methods.into_iter().map(move |(method, operation)| (path.clone(), method, operation))
        };
        paths.into_iter().flat_map(each).collect()
    }

    /// Every `$ref` of a value.
    fn references(value: &Value, found: &mut BTreeSet<String>) {
        match value {
            Value::Object(members) => members.iter().for_each(|(name, value)| match value {
                Value::String(target) if name == "$ref" => {
                    found.insert(target.clone());
                }
                _ => references(value, found),
            }),
            Value::Array(items) => items.iter().for_each(|item| references(item, found)),
            _ => {}
        }
    }

    #[test]
    fn it_is_openapi_3_0_3_with_one_server_and_a_tag_for_each_of_the_17_tools() {
        let document = document(SERVER);
        assert_eq!((&document["openapi"], &document["info"]["version"]), (&json!("3.0.3"), &json!("1.0.0")));
        assert_eq!(document["servers"].as_array().map(Vec::len), Some(1));
        let tags: Vec<_> =
            document["tags"].as_array().unwrap().iter().map(|tag| tag["name"].clone()).collect();
        assert_eq!(tags, Tool::ALL.map(|tool| json!(tool.as_str())));
    }

    #[test]
    fn each_tool_has_exactly_its_two_operations_with_the_action_and_the_key() {
        let operations: BTreeMap<_, _> = operations()
            .into_iter()
            .map(|(path, method, operation)| {
                (operation["operationId"].as_str().unwrap().to_owned(), (path, method, operation))
            })
            .collect();
        let tagged = operations.values().filter(|(_, _, operation)| operation.get("tags").is_some()).count();
        assert_eq!(tagged, 2 * Tool::ALL.len());
        for tool in Tool::ALL {
            for method in ["get", "post"] {
                let (path, taken, operation) = &operations[&format!("{tool}_{method}")];
                assert_eq!((path, taken.as_str()), (&format!("/v1/{tool}/{{action}}"), method));
                assert_eq!(operation["tags"], json!([tool.as_str()]));
                assert_eq!(operation["security"], json!([{ "ApiKey": [] }]));
                let action = &operation["parameters"][0];
                assert_eq!(
                    (&action["name"], &action["in"], &action["required"]),
                    (&json!("action"), &json!("path"), &json!(true))
                );
                for status in ["200", "401", "429", "503"] {
                    assert!(operation["responses"].get(status).is_some(), "{tool}_{method} {status}");
                }
            }
        }
    }

    #[test]
    fn the_router_takes_what_the_document_offers_and_the_document_offers_what_the_router_takes() {
        let concrete = |path: &str| {
            let path = path.replace("{action}", "generate").replace("{code}", "key-missing");
            path.replace("{id}", "key_00000000000000000")
        };
        let mut documented: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for (path, method, _) in operations() {
            let concrete = concrete(&path);
            assert!(!concrete.contains('{'), "{path} has a parameter that this test does not know");
            let route = Route::parse(&method.to_uppercase(), &concrete).unwrap();
            assert_eq!(
                (Endpoint::of(&route).path(), Endpoint::of(&route).method().as_str().to_lowercase()),
                (path, method.clone())
            );
            documented.entry(concrete).or_default().insert(method);
        }
        for endpoint in Endpoint::all().filter(|endpoint| operation(*endpoint).is_some()) {
            let path = concrete(&endpoint.path());
            let Ok(Route::Preflight(methods)) = Route::parse("OPTIONS", &path) else { panic!("{path}") };
            for method in methods.iter().filter(|method| **method != Method::Head) {
                let route = Route::parse(method.as_str(), &path).unwrap();
                let described = operation(Endpoint::of(&route)).is_some();
                assert_eq!(
                    documented[&path].contains(&method.as_str().to_lowercase()),
                    described,
                    "{method} {path}"
                );
            }
        }
    }

    #[test]
    fn every_reference_leads_somewhere_and_every_component_is_referred_to() {
        let document = document(SERVER);
        let mut found = BTreeSet::new();
        references(&document, &mut found);
        for kind in ["schemas", "headers", "responses"] {
            for name in document["components"][kind].as_object().unwrap().keys() {
                assert!(found.contains(&format!("#/components/{kind}/{name}")), "{kind} {name}");
            }
        }
        for reference in found {
            let target = document.pointer(reference.strip_prefix('#').unwrap());
            assert!(target.is_some(), "{reference}");
        }
    }

    #[test]
    fn every_problem_a_client_can_see_at_the_edge_is_documented_under_its_own_status() {
        let mut documented = BTreeSet::new();
        for (path, method, operation) in operations() {
            for (status, response) in operation["responses"].as_object().unwrap() {
                let Some(reference) = response["$ref"].as_str() else { continue };
                let name = reference.rsplit('/').next().unwrap();
                let named =
                    |group: &Group| [group.name(), group.name_at_tools()].iter().any(|own| own == name);
                let group = Group::ALL.into_iter().find(named).unwrap();
                for code in group.codes() {
                    assert_eq!(code.status().to_string(), *status, "{method} {path} {}", code.as_str());
                    documented.insert(code.as_str());
                }
            }
        }
        let hidden: Vec<_> =
            Code::ALL.into_iter().filter(|code| !documented.contains(code.as_str())).collect();
        assert_eq!(hidden, outcome::NOT_AT_THESE_OPERATIONS);
    }

    #[test]
    fn tool_may_respond_with_any_body_and_every_status() {
        let document = document(SERVER);
        for (path, method, operation) in
            operations().into_iter().filter(|(_, _, own)| own.get("tags").is_some())
        {
            for (status, response) in operation["responses"].as_object().unwrap() {
                let reference = response["$ref"].as_str().map(|own| own.strip_prefix('#').unwrap());
                let response = reference.map_or(response, |own| document.pointer(own).unwrap());
                let content = &response["content"];
                assert_eq!(
                    content["application/octet-stream"]["schema"]["format"], "binary",
                    "{method} {path} {status}"
                );
                assert!(content.get(ANY).is_some(), "{method} {path} {status}");
                let is_problem = content.get(MEDIA_TYPE).is_some();
                assert_eq!(
                    is_problem,
                    response["headers"].get("X-Gateway-Problem").is_some(),
                    "{method} {path} {status}"
                );
            }
        }
    }

    /// Generators take the first media type: one that every client can hold.
    #[test]
    fn text_is_the_document_with_ranges_last() {
        let text = text();
        assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), document(SERVER));
        assert!(text.contains(r#","*/*":{"schema":{}}}"#) && !text.contains(r#"{"*/*""#));
    }

    #[test]
    fn a_429_and_a_503_say_when_to_come_back() {
        let document = document(SERVER);
        for group in Group::ALL.into_iter().filter(|group| matches!(group.status(), 429 | 503)) {
            let responses = &document["components"]["responses"];
            let response =
                responses.get(group.name()).or_else(|| responses.get(group.name_at_tools())).unwrap();
            let headers = &response["headers"];
            assert!(headers.get("Retry-After").is_some(), "{}", group.name());
        }
    }
}
