//! The actions that the tools describe, each as a tool of MCP.

use serde_json::{Map, Value, json};
use shared::catalog::{ActionEntry, Catalog};
use shared::route::CallMethod;
use shared::tool::Tool;

use super::request::{ArgumentError, ToolRequest};
use super::toolset::{Toolset, Toolsets};

/// The longest name that every client and model takes.
const MAX_NAME: usize = 64;

/// Returns the request for a call of such a tool. Returns `None` if there is none of this name.
///
/// # Errors
/// Returns an error if an argument is unknown or malformed.
pub fn action_request(
    catalog: &Catalog,
    toolsets: &Toolsets,
    name: &str,
    arguments: &Value,
) -> Option<Result<ToolRequest, ArgumentError>> {
    // No tool's name has an underscore, so the first one ends it. An action's name may.
    let (tool, _) = name.split_once('_')?;
    // As for `call_tool`: both are ways to the same tools.
    let tool = tool.parse::<Tool>().ok().filter(|_| toolsets.allow(Toolset::Tools))?;
    let (_, entry) = entries(catalog, tool).find(|(other, _)| other == name)?;
    let query: Vec<_> = arguments_of(&entry).map(|(name, _)| name).collect();
    let mut row = json!({
        "method": entry.method.method().as_str(), "path": format!("/v1/{tool}/{}", entry.action), "query": query,
        "required": required_of(&entry),
    });
    if let (Some(_), Some(row)) = (entry.json_body(), row.as_object_mut()) {
        row.insert("body".to_owned(), true.into());
    }
    let empty = Map::new();
    Some(ToolRequest::of(&row, arguments.as_object().unwrap_or(&empty)))
}

/// Returns the operation of each action that arguments can call, with the name of its tool: with a JSON
/// body, or else without a body.
pub(super) fn entries(catalog: &Catalog, tool: Tool) -> impl Iterator<Item = (String, ActionEntry<'_>)> {
    let mut found: Vec<(String, ActionEntry<'_>)> = Vec::new();
    for entry in catalog.actions(tool) {
        let name = format!("{tool}_{}", entry.action);
        let is_name = name.len() <= MAX_NAME
            && name.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-'));
        let is_callable = match entry.method {
            CallMethod::Get => true,
            // Arguments are JSON, so a form or a file cannot be sent.
            CallMethod::Post => entry.json_body().is_some() || !entry.operation.contains_key("requestBody"),
        };
        if !(is_name && is_callable) {
            continue;
        }
        // `POST` follows `GET`.
        match found.last_mut().filter(|(other, _)| *other == name) {
            Some((_, last)) if entry.json_body().is_some() => *last = entry,
            Some(_) => {}
            None => found.push((name, entry)),
        }
    }
    found.into_iter()
}

/// Returns the parameters of the query that are arguments.
pub(super) fn arguments_of<'a>(entry: &ActionEntry<'a>) -> impl Iterator<Item = (&'a str, &'a Value)> {
    let named = entry.query().filter_map(|parameter| Some((parameter.get("name")?.as_str()?, parameter)));
    // It would collide with the argument that holds the body.
    named.filter(|(name, _)| *name != "body")
}

/// Returns the arguments that a call needs.
pub(super) fn required_of<'a>(entry: &ActionEntry<'a>) -> Vec<&'a str> {
    let is_required = |value: &Value| value.get("required") == Some(&Value::Bool(true));
    let query = arguments_of(entry).filter(|(_, parameter)| is_required(parameter)).map(|(name, _)| name);
    let needs_body =
        entry.json_body().is_some() && entry.operation.get("requestBody").is_some_and(is_required);
    query.chain(needs_body.then_some("body")).collect()
}

#[cfg(test)]
pub(super) mod tests {
    use shared::catalog::ToolDescription;

    use super::*;

    pub(in crate::mcp) fn catalog() -> Catalog {
        let schema = |name: &str| json!({ "$ref": format!("#/components/schemas/{name}") });
        let of_json = |schema: Value| json!({ "required": true, "content": { "application/json": { "schema": schema } } });
        let text = json!({
            "openapi": "3.1.0",
            "paths": {
                "/generate": {
                    "get": { "parameters": [{ "name": "url", "in": "query", "required": true, "schema": { "type": "string" } }] },
                    "post": { "summary": "Makes a code", "description": "As an image.", "requestBody": of_json(schema("Code")) },
                },
                "/list": { "get": {
                    "summary": "Lists codes",
                    "parameters": [
                        { "name": "limit", "in": "query", "description": "At most", "schema": schema("Limit") },
                        { "name": "lang", "in": "header", "schema": {} },
                    ],
                } },
                "/scan": { "post": { "requestBody": { "content": { "image/png": {} } } } },
                "/v1.2": { "get": {} },
                "/again": { "post": {} },
            },
            "components": { "schemas": {
                "Code": { "type": "object", "properties": { "like": schema("Code"), "limit": schema("Limit") } },
                "Limit": { "type": "integer" },
            } },
        });
        let qr = ToolDescription::parse(Tool::Qr, "", &text.to_string()).unwrap();
        Catalog::compose([(Tool::Qr, &qr)])
    }

    pub(in crate::mcp) fn toolsets(query: &str) -> Toolsets {
        Toolsets::parse(Some(query)).unwrap()
    }

    #[test]
    fn call_of_an_action_is_its_request() {
        let request =
            |name: &str, arguments: Value| action_request(&catalog(), &toolsets(""), name, &arguments);
        let post = request("qr_generate", json!({ "body": { "url": "x" } })).unwrap().unwrap();
        assert_eq!((post.method.as_str(), post.target.as_str()), ("POST", "/v1/qr/generate"));
        assert_eq!(post.body.as_deref(), Some(r#"{"url":"x"}"#));
        let get = request("qr_list", json!({ "limit": 3 })).unwrap().unwrap();
        assert_eq!((get.method.as_str(), get.target.as_str()), ("GET", "/v1/qr/list?limit=3"));
        assert!(request("qr_list", json!({ "limit": 3, "lang": "de" })).unwrap().is_err());
        for arguments in [json!({}), json!({ "body": null })] {
            let missing = request("qr_generate", arguments).unwrap();
            assert_eq!(missing, Err(ArgumentError::Missing("body".to_owned())));
        }
        for name in ["qr_scan", "qr_v1.2", "qr_none", "qr", "pdf_generate", "call_tool"] {
            assert!(request(name, json!({})).is_none(), "{name}");
        }
        assert!(action_request(&catalog(), &toolsets("toolsets=pages"), "qr_list", &json!({})).is_none());
    }
}
