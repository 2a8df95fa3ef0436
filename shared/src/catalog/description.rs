//! The OpenAPI description of one tool, as it publishes it.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use super::error::{DescriptionError, MAX_ACTIONS, MAX_DESCRIPTION, MAX_KEPT};
use super::inline::Inliner;
use crate::action::Action;
use crate::route::CallMethod;
use crate::tool::Tool;

/// The component of the gateway's own problems.
pub(super) const PROBLEM: &str = "GatewayProblem";
/// Members of an operation that are kept beside `parameters`, `requestBody` and `responses`.
const TEXTS: [&str; 2] = ["summary", "description"];
/// Statuses that the gateway itself responds with, unless the tool describes them.
const OF_THE_GATEWAY: [&str; 3] = ["401", "429", "503"];

/// What is kept of a tool's description: its actions as paths of the gateway, and their schemas under
/// names that no other tool has. All other references are replaced by what they refer to, and schemas are
/// those of OpenAPI 3.1.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolDescription {
    text: Option<String>,
    /// Path items by path, such as `/v1/qr/generate`.
    pub(super) paths: Map<String, Value>,
    /// Schemas by name, such as `qr.Code`.
    pub(super) schemas: Map<String, Value>,
}

impl ToolDescription {
    /// Parses what a tool publishes. `prefix` is the path before `/{action}` at the tool. Paths that no
    /// call reaches and operations with `x-internal` are left out.
    ///
    /// # Errors
    /// Returns an error if it is not a description with an action, has references that lead
    /// nowhere, or is too large.
    pub fn parse(tool: Tool, prefix: &str, text: &str) -> Result<Self, DescriptionError> {
        if text.len() > MAX_DESCRIPTION {
            return Err(DescriptionError::TooLarge(text.len()));
        }
        let document: Value =
            serde_json::from_str(text).map_err(|error| DescriptionError::Json(error.to_string()))?;
        let version = document.get("openapi").and_then(Value::as_str).unwrap_or_default();
        if !(version.starts_with("3.0") || version.starts_with("3.1")) {
            return Err(DescriptionError::Version(version.chars().take(20).collect()));
        }
        let mut inliner = Inliner::new(&document, tool.as_str());
        let (mut paths, mut count) = (Map::new(), 0);
        for (path, item) in document.get("paths").and_then(Value::as_object).into_iter().flatten() {
            let segment = path.strip_prefix(prefix).and_then(|rest| rest.strip_prefix('/'));
            let Some(action) = segment.and_then(Action::parse) else { continue };
            let mut kept = Map::new();
            for method in [CallMethod::Get, CallMethod::Post] {
                let operation = item.get(name(method)).and_then(Value::as_object);
                let is_internal =
                    |operation: &&Map<String, Value>| operation.get("x-internal") == Some(&Value::Bool(true));
                let Some(operation) = operation.filter(|operation| !is_internal(operation)) else { continue };
                let id = format!("{tool}_{action}_{}", name(method));
                kept.insert(name(method).to_owned(), kept_of(&mut inliner, tool, id, item, operation)?);
                count += 1;
            }
            if !kept.is_empty() {
                paths.insert(format!("/v1/{tool}/{action}"), kept.into());
            }
        }
        match count {
            0 => return Err(DescriptionError::NoAction(prefix.to_owned())),
            1..=MAX_ACTIONS => {}
            _ => return Err(DescriptionError::TooManyActions(count)),
        }
        let schemas = inliner.into_schemas()?;
        let text = document.pointer("/info/description").and_then(Value::as_str).map(str::to_owned);
        let size = Value::Object(paths.clone()).to_string().len()
            + Value::Object(schemas.clone()).to_string().len()
            + text.as_ref().map_or(0, String::len);
        if size > MAX_KEPT { Err(DescriptionError::TooMuch(size)) } else { Ok(Self { text, paths, schemas }) }
    }

    /// Returns what the tool says of itself.
    pub(super) fn text(&self) -> Option<&str> {
        self.text.as_deref()
    }

    /// Returns the number of actions.
    pub fn actions(&self) -> usize {
        self.paths.len()
    }
}

/// Returns what is kept of an operation.
fn kept_of(
    inliner: &mut Inliner<'_>,
    tool: Tool,
    id: String,
    item: &Value,
    operation: &Map<String, Value>,
) -> Result<Value, DescriptionError> {
    let mut kept = json!({ "operationId": id, "tags": [tool], "summary": operation.get("summary") });
    let Some(members) = kept.as_object_mut() else { return Ok(kept) };
    for name in TEXTS {
        match operation.get(name).filter(|value| value.is_string()) {
            Some(text) => members.insert(name.to_owned(), text.clone()),
            None => members.remove(name),
        };
    }
    if operation.get("deprecated") == Some(&Value::Bool(true)) {
        members.insert("deprecated".to_owned(), true.into());
    }
    let parameters = parameters(inliner, item, operation)?;
    if !parameters.is_empty() {
        members.insert("parameters".to_owned(), parameters.into());
    }
    if let Some(body) = operation.get("requestBody") {
        members.insert("requestBody".to_owned(), inliner.inline(body)?);
    }
    let mut responses = match operation.get("responses") {
        Some(responses) => inliner.inline(responses)?.as_object().cloned().unwrap_or_default(),
        None => Map::new(),
    };
    if responses.is_empty() {
        responses.insert("default".to_owned(), json!({ "description": "What the tool responds." }));
    }
    for status in OF_THE_GATEWAY {
        let reference = || json!({ "$ref": format!("#/components/responses/{PROBLEM}") });
        responses.entry(status).or_insert_with(reference);
    }
    members.insert("responses".to_owned(), responses.into());
    Ok(kept)
}

/// Returns the parameters of query and header: those of the path, unless the operation has its own.
fn parameters(
    inliner: &mut Inliner<'_>,
    item: &Value,
    operation: &Map<String, Value>,
) -> Result<Vec<Value>, DescriptionError> {
    let own = operation.get("parameters").and_then(Value::as_array).into_iter().flatten();
    let of_path = item.get("parameters").and_then(Value::as_array).into_iter().flatten();
    let (mut kept, mut names) = (Vec::new(), BTreeSet::new());
    for parameter in own.chain(of_path) {
        let parameter = inliner.inline(parameter)?;
        let text = |member: &str| parameter.get(member).and_then(Value::as_str).unwrap_or_default();
        let id = (text("in").to_owned(), text("name").to_owned());
        if matches!(id.0.as_str(), "query" | "header") && !id.1.is_empty() && names.insert(id) {
            kept.push(parameter);
        }
    }
    Ok(kept)
}

/// Returns the name of the method in a path item.
pub(super) const fn name(method: CallMethod) -> &'static str {
    match method {
        CallMethod::Get => "get",
        CallMethod::Post => "post",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(paths: Value, components: Value) -> Result<ToolDescription, DescriptionError> {
        let document = json!({ "openapi": "3.0.3", "paths": paths, "components": components });
        ToolDescription::parse(Tool::Qr, "", &document.to_string())
    }

    fn operation(members: Value) -> Value {
        let described = parse(json!({ "/generate": { "post": members } }), json!({})).unwrap();
        described.paths["/v1/qr/generate"]["post"].clone()
    }

    #[test]
    fn action_is_a_path_of_the_gateway() {
        let item = json!({ "get": {}, "post": {}, "delete": {} });
        let document = json!({ "openapi": "3.1.0", "paths": {
            "/api/generate": item, "/api/a/b": item, "/api/{id}": item, "/generate": item, "/api": item,
            "/api/hidden": { "get": { "x-internal": true } },
        } });
        let described = ToolDescription::parse(Tool::Qr, "/api", &document.to_string()).unwrap();
        assert_eq!(described.paths.keys().collect::<Vec<_>>(), ["/v1/qr/generate"]);
        let methods: Vec<_> = described.paths["/v1/qr/generate"].as_object().unwrap().keys().collect();
        assert_eq!(methods, ["get", "post"]);
        assert_eq!(described.actions(), 1);
    }

    #[test]
    fn operation_keeps_what_a_caller_needs_and_gets_the_gateways_problems() {
        let kept = operation(json!({
            "operationId": "x", "tags": ["y"], "security": [{}], "servers": [{}], "callbacks": {},
            "summary": "Makes a code", "description": 7, "deprecated": true,
            "responses": { "429": { "description": "slow down" } },
        }));
        let problem = json!({ "$ref": "#/components/responses/GatewayProblem" });
        assert_eq!(
            kept,
            json!({
                "operationId": "qr_generate_post", "tags": ["qr"], "summary": "Makes a code", "deprecated": true,
                "responses": { "401": problem, "429": { "description": "slow down" }, "503": problem },
            })
        );
    }

    #[test]
    fn parameters_of_the_path_are_those_of_the_operation() {
        let parameter =
            |name: &str, place: &str, text: &str| json!({ "name": name, "in": place, "description": text });
        let paths = json!({ "/a": {
            "parameters": [parameter("size", "query", "of path"), { "$ref": "#/components/parameters/Lang" }],
            "get": { "parameters": [parameter("size", "query", "own"), parameter("c", "cookie", "")] },
        } });
        let components = json!({ "parameters": { "Lang": parameter("lang", "query", "shared") } });
        let described = parse(paths, components).unwrap();
        assert_eq!(
            described.paths["/v1/qr/a"]["get"]["parameters"],
            json!([parameter("size", "query", "own"), parameter("lang", "query", "shared")])
        );
    }

    #[test]
    fn unusable_description_is_refused_with_its_reason() {
        let refused = |text: &str| ToolDescription::parse(Tool::Qr, "", text).unwrap_err().to_string();
        for (text, reason) in [
            ("{".to_owned(), "it is not JSON"),
            ("{}".to_owned(), "`openapi` is ``, expected 3.0.x or 3.1.x"),
            (r#"{"swagger":"2.0"}"#.to_owned(), "expected 3.0.x or 3.1.x"),
            (
                r#"{"openapi":"3.1.0","paths":{"/a/b":{"get":{}}}}"#.to_owned(),
                "no GET or POST on a path `/{action}`",
            ),
            (" ".repeat(MAX_DESCRIPTION + 1), "it has 262145 bytes"),
        ] {
            assert!(refused(&text).contains(reason), "{}", refused(&text));
        }
        let many: Map<_, _> = (0..=MAX_ACTIONS).map(|n| (format!("/a{n}"), json!({ "get": {} }))).collect();
        assert_eq!(parse(many.into(), json!({})), Err(DescriptionError::TooManyActions(65)));
        let long = json!({ "/a": { "get": { "description": "x".repeat(MAX_KEPT) } } });
        assert!(matches!(parse(long, json!({})), Err(DescriptionError::TooMuch(_))));
    }
}
