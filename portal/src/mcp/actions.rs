//! The actions that the tools describe, each as a tool of MCP.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};
use shared::catalog::{ActionEntry, Catalog};
use shared::route::CallMethod;
use shared::tool::Tool;

use super::request::{ArgumentError, ToolRequest};
use super::toolset::{Toolset, Toolsets};

const SCHEMAS: &str = "#/components/schemas/";
const DEFINITIONS: &str = "#/$defs/";
/// The longest name that every client and model takes.
const MAX_NAME: usize = 64;

/// Returns the tools of MCP that toolsets list, one for each action, as JSON texts.
pub fn action_tools(catalog: &Catalog, toolsets: &Toolsets) -> Vec<String> {
    let tools = Tool::ALL.into_iter().filter(|_| toolsets.list(Toolset::Tools));
    tools
        .flat_map(|tool| entries(catalog, tool))
        .map(|(name, entry)| tool_of(catalog, &name, &entry))
        .collect()
}

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
    let (tool, _) = name.split_once('_')?;
    let tool = tool.parse::<Tool>().ok().filter(|_| toolsets.allow(Toolset::Tools))?;
    let (_, entry) = entries(catalog, tool).find(|(other, _)| other == name)?;
    let query: Vec<_> = arguments_of(&entry).map(|(name, _)| name).collect();
    let mut row = json!({
        "method": entry.method.method().as_str(), "path": format!("/v1/{tool}/{}", entry.action), "query": query,
    });
    if let (Some(_), Some(row)) = (entry.json_body(), row.as_object_mut()) {
        row.insert("body".to_owned(), true.into());
    }
    let empty = Map::new();
    Some(ToolRequest::of(&row, arguments.as_object().unwrap_or(&empty)))
}

/// Returns the operation of each action that arguments can call, with the name of its tool: with a JSON
/// body, or else without a body.
fn entries(catalog: &Catalog, tool: Tool) -> impl Iterator<Item = (String, ActionEntry<'_>)> {
    let mut found: Vec<(String, ActionEntry<'_>)> = Vec::new();
    for entry in catalog.actions(tool) {
        let name = format!("{tool}_{}", entry.action);
        let is_name = name.len() <= MAX_NAME
            && name.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-'));
        let is_callable = match entry.method {
            CallMethod::Get => true,
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

fn tool_of(catalog: &Catalog, name: &str, entry: &ActionEntry<'_>) -> String {
    let description = match (entry.summary(), entry.description()) {
        (summary, "") => summary.to_owned(),
        ("", description) => description.to_owned(),
        (summary, description) => format!("{summary}. {description}"),
    };
    let tool = json!({
        "name": name,
        "description": description,
        "inputSchema": input_schema(catalog, entry),
        "annotations": { "readOnlyHint": entry.method == CallMethod::Get },
    });
    tool.to_string()
}

/// Returns the parameters of the query that are arguments.
fn arguments_of<'a>(entry: &ActionEntry<'a>) -> impl Iterator<Item = (&'a str, &'a Value)> {
    let named = entry.query().filter_map(|parameter| Some((parameter.get("name")?.as_str()?, parameter)));
    named.filter(|(name, _)| *name != "body")
}

/// Returns the schema of the arguments: each parameter of the query, and `body`.
fn input_schema(catalog: &Catalog, entry: &ActionEntry<'_>) -> Value {
    let (mut properties, mut required, mut open) = (Map::new(), Vec::new(), BTreeSet::new());
    let is_required = |value: &Value| value.get("required") == Some(&Value::Bool(true));
    for (name, parameter) in arguments_of(entry) {
        let mut schema =
            parameter.get("schema").map_or_else(|| json!({}), |schema| standard(schema, &mut open));
        if let (Some(text), Some(members)) = (parameter.get("description"), schema.as_object_mut()) {
            members.insert("description".to_owned(), text.clone());
        }
        properties.insert(name.to_owned(), schema);
        required.extend(is_required(parameter).then(|| name.to_owned()));
    }
    if let Some(body) = entry.json_body() {
        let schema = body.get("schema").map_or_else(|| json!({}), |schema| standard(schema, &mut open));
        properties.insert("body".to_owned(), schema);
        let is_required = entry.operation.get("requestBody").is_some_and(is_required);
        required.extend(is_required.then(|| "body".to_owned()));
    }
    let mut schema = json!({ "type": "object", "properties": properties, "additionalProperties": false });
    let Some(members) = schema.as_object_mut() else { return schema };
    if !required.is_empty() {
        members.insert("required".to_owned(), required.into());
    }
    let mut definitions = Map::new();
    while let Some(name) = open.pop_first() {
        if !definitions.contains_key(&name) {
            let definition =
                catalog.schema(&name).map_or_else(|| json!({}), |schema| standard(schema, &mut open));
            definitions.insert(name, definition);
        }
    }
    if !definitions.is_empty() {
        members.insert("$defs".to_owned(), definitions.into());
    }
    schema
}

/// Returns a schema with references to definitions, and adds their names to `open`.
fn standard(schema: &Value, open: &mut BTreeSet<String>) -> Value {
    match schema {
        Value::Object(members) => {
            let member = |(name, value): (&String, &Value)| {
                let reference =
                    value.as_str().filter(|_| name == "$ref").and_then(|to| to.strip_prefix(SCHEMAS));
                let value = match reference {
                    Some(to) => {
                        open.insert(to.to_owned());
                        format!("{DEFINITIONS}{to}").into()
                    }
                    None => standard(value, open),
                };
                (name.clone(), value)
            };
            Value::Object(members.iter().map(member).collect())
        }
        Value::Array(items) => items.iter().map(|item| standard(item, open)).collect(),
        plain => plain.clone(),
    }
}

#[cfg(test)]
mod tests {
    use shared::catalog::ToolDescription;

    use super::*;

    fn catalog() -> Catalog {
        let schema = |name: &str| json!({ "$ref": format!("{SCHEMAS}{name}") });
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

    fn toolsets(query: &str) -> Toolsets {
        Toolsets::parse(Some(query)).unwrap()
    }

    fn tools() -> Vec<Value> {
        let tools = action_tools(&catalog(), &toolsets(""));
        tools.iter().map(|tool| serde_json::from_str(tool).unwrap()).collect()
    }

    #[test]
    fn each_action_that_arguments_can_call_is_a_tool() {
        let tools = tools();
        let names: Vec<_> = tools.iter().map(|tool| tool["name"].as_str().unwrap()).collect();
        assert_eq!(names, ["qr_again", "qr_generate", "qr_list"]);
        assert_eq!(tools[1]["description"], "Makes a code. As an image.");
        assert_eq!(tools[1]["annotations"], json!({ "readOnlyHint": false }));
        assert_eq!(tools[2]["annotations"], json!({ "readOnlyHint": true }));
        assert!(action_tools(&catalog(), &toolsets("toolsets=pages")).is_empty());
    }

    #[test]
    fn schema_has_parameters_body_and_the_definitions_that_they_need() {
        let tools = tools();
        let generate = &tools[1]["inputSchema"];
        assert_eq!(generate["properties"], json!({ "body": { "$ref": "#/$defs/qr.Code" } }));
        assert_eq!(generate["required"], json!(["body"]));
        assert_eq!(generate["$defs"]["qr.Code"]["properties"]["like"], json!({ "$ref": "#/$defs/qr.Code" }));
        assert_eq!(generate["$defs"].as_object().unwrap().len(), 2);
        let list = &tools[2]["inputSchema"];
        assert_eq!(
            list["properties"],
            json!({ "limit": { "$ref": "#/$defs/qr.Limit", "description": "At most" } })
        );
        assert_eq!((list.get("required"), list["$defs"].as_object().unwrap().len()), (None, 1));
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
        for name in ["qr_scan", "qr_v1.2", "qr_none", "qr", "pdf_generate", "call_tool"] {
            assert!(request(name, json!({})).is_none(), "{name}");
        }
        assert!(action_request(&catalog(), &toolsets("toolsets=pages"), "qr_list", &json!({})).is_none());
    }
}
