//! The tools, made of the OpenAPI descriptions.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use super::hints::annotations;
use crate::{
    openapi::{self, biolink},
    tool::Tool,
};

/// The tags under which the operations of tools are listed in the bio-link description.
const TAGS: [&str; 8] =
    ["pages", "links", "revisions", "products", "analytics", "webhooks", "events", "account"];
const REFERENCE: &str = "#/components/schemas/";
/// The path and the name of the one operation of the gateway's description beside calls.
const USAGE: (&str, &str) = ("/v1/keys/me", "read_usage");

/// A tool with the request that it makes.
struct Entry {
    name: String,
    tool: Value,
    request: Value,
}

/// Returns the result of `tools/list`.
#[must_use]
pub fn tools() -> String {
    let tools: Vec<_> = entries().into_iter().map(|entry| entry.tool).collect();
    json!({ "tools": tools }).to_string()
}

/// Returns the requests of the tools by name, for [`ToolRequest`](super::ToolRequest).
#[must_use]
pub fn requests() -> String {
    let rows: Map<_, _> = entries().into_iter().map(|entry| (entry.name, entry.request)).collect();
    Value::Object(rows).to_string()
}

fn entries() -> Vec<Entry> {
    let (gateway, pages) =
        (openapi::document("https://server.invalid"), biolink::document("https://server.invalid"));
    let mut entries = vec![call_tool()];
    for (document, path, method, operation) in operations(&gateway).chain(operations(&pages)) {
        let id = operation.get("operationId").and_then(Value::as_str).unwrap_or_default();
        let tag = operation.pointer("/tags/0").and_then(Value::as_str).unwrap_or_default();
        let is_usage = path == USAGE.0 && method == "get";
        let is_key = operation.pointer("/security/0/ApiKey").is_some();
        if is_usage {
            entries.push(entry(document, USAGE.1, path, method, operation));
        } else if TAGS.contains(&tag) && is_key {
            entries.push(entry(document, id, path, method, operation));
        }
    }
    entries
}

/// Returns the operations of a document with path and method.
fn operations(document: &Value) -> impl Iterator<Item = (&Value, &str, &str, &Value)> {
    let paths = document.get("paths").and_then(Value::as_object).into_iter().flatten();
    paths.flat_map(move |(path, item)| {
        let methods = item.as_object().into_iter().flatten();
        methods.map(move |(method, operation)| (document, path.as_str(), method.as_str(), operation))
    })
}

/// Returns the tool that calls tools of the gateway.
fn call_tool() -> Entry {
    let purposes: Vec<_> = Tool::ALL.iter().map(|tool| format!("{tool} ({})", tool.purpose())).collect();
    let name = "call_tool";
    let schema = json!({
        "type": "object",
        "properties": {
            "tool": { "type": "string", "enum": Tool::ALL, "description": purposes.join("; ") },
            "action": { "type": "string", "description": "An action of the tool; qr and image have `generate`.", "pattern": "^[A-Za-z0-9._~-]{1,64}$" },
            "query": { "type": "object", "description": "The query of the call.", "additionalProperties": { "type": ["string", "number", "boolean"] } },
            "body": { "description": "The JSON body. With it the call is a POST, and without it a GET." },
        },
        "required": ["tool", "action"],
        "additionalProperties": false,
    });
    let tool = json!({
        "name": name,
        "title": "Call a tool",
        "description": "Calls a tool of the gateway and returns its response, of any type. It counts against the key's quotas.",
        "inputSchema": schema,
        "annotations": { "readOnlyHint": false, "destructiveHint": false, "idempotentHint": false, "openWorldHint": true },
    });
    let request = json!({ "method": "*", "path": "/v1/{tool}/{action}", "path_parameters": ["tool", "action"], "query": ["*"] });
    Entry { name: name.to_owned(), tool, request }
}

fn entry(document: &Value, name: &str, path: &str, method: &str, operation: &Value) -> Entry {
    let parameters: Vec<_> = operation
        .get("parameters")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .map(|parameter| resolve(document, parameter))
        .collect();
    let of = |place: &str| -> Vec<&str> {
        let those = parameters.iter().filter(|parameter| text(parameter, "in") == place);
        those.map(|parameter| text(parameter, "name")).collect()
    };
    let title = text(operation, "summary");
    let tool = json!({
        "name": name,
        "title": title,
        "description": format!("{title}. {}", text(operation, "description")),
        "inputSchema": input_schema(document, &parameters, operation),
        "annotations": annotations(name, method),
    });
    let request = json!({
        "method": method.to_uppercase(), "path": path, "path_parameters": of("path"), "query": of("query"),
    });
    Entry { name: name.to_owned(), tool, request }
}

/// Returns the schema of a tool's arguments: each parameter, and `body`.
fn input_schema(document: &Value, parameters: &[&Value], operation: &Value) -> Value {
    let (mut properties, mut required) = (Map::new(), Vec::new());
    for parameter in parameters {
        let name = argument(text(parameter, "name"));
        let mut schema = parameter.get("schema").cloned().unwrap_or_else(|| json!({}));
        if let Some(members) = schema.as_object_mut() {
            members.insert("description".to_owned(), text(parameter, "description").into());
        }
        if parameter.get("required") == Some(&Value::Bool(true)) {
            required.push(name.clone());
        }
        properties.insert(name, schema);
    }
    if let Some(body) = operation.pointer("/requestBody/content/application~1json/schema") {
        properties.insert("body".to_owned(), body.clone());
        if operation.pointer("/requestBody/required") == Some(&Value::Bool(true)) {
            required.push("body".to_owned());
        }
    }
    let mut schema = json!({ "type": "object", "properties": properties, "required": required, "additionalProperties": false });
    let definitions = definitions(document, &schema);
    schema = renamed(schema);
    if let (Some(members), false) = (schema.as_object_mut(), definitions.is_empty()) {
        members.insert("$defs".to_owned(), renamed(definitions.into()));
    }
    schema
}

/// Returns the schemas that a schema refers to, those that they refer to, and so on.
fn definitions(document: &Value, schema: &Value) -> Map<String, Value> {
    let mut found = Map::new();
    let mut open = references(schema);
    while let Some(name) = open.pop_first() {
        let definition =
            document.pointer(&format!("/components/schemas/{name}")).cloned().unwrap_or_default();
        open.extend(
            references(&definition).into_iter().filter(|other| !found.contains_key(other) && *other != name),
        );
        found.insert(name, definition);
    }
    found
}

fn references(schema: &Value) -> BTreeSet<String> {
    match schema {
        Value::Object(members) => {
            let own = members.get("$ref").and_then(Value::as_str).and_then(|to| to.strip_prefix(REFERENCE));
            members.values().flat_map(references).chain(own.map(str::to_owned)).collect()
        }
        Value::Array(items) => items.iter().flat_map(references).collect(),
        _ => BTreeSet::new(),
    }
}

/// Returns a schema that refers to `$defs`, without examples, which are the largest part of it.
fn renamed(schema: Value) -> Value {
    match schema {
        Value::Object(members) => {
            let kept = members.into_iter().filter(|(name, value)| {
                name != "example" || value.is_object() && value.get("type").is_some()
            });
            kept.map(|(name, value)| match (name.as_str(), value) {
                ("$ref", Value::String(to)) => (name, to.replace(REFERENCE, "#/$defs/").into()),
                (_, value) => (name, renamed(value)),
            })
            .collect::<Map<_, _>>()
            .into()
        }
        Value::Array(items) => items.into_iter().map(renamed).collect(),
        plain => plain,
    }
}

/// Returns a parameter itself, if it is given by reference.
fn resolve<'a>(document: &'a Value, parameter: &'a Value) -> &'a Value {
    let reference = parameter.get("$ref").and_then(Value::as_str).and_then(|to| to.strip_prefix('#'));
    reference.and_then(|pointer| document.pointer(pointer)).unwrap_or(parameter)
}

/// Returns the name of the argument for a parameter: a header's in lower case with underscores.
fn argument(name: &str) -> String {
    name.to_ascii_lowercase().replace('-', "_")
}

fn text<'a>(value: &'a Value, member: &str) -> &'a str {
    value.get(member).and_then(Value::as_str).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all() -> Vec<Value> {
        let list: Value = serde_json::from_str(&tools()).unwrap();
        list["tools"].as_array().unwrap().clone()
    }

    #[test]
    fn tools_have_valid_schemas_and_hints_by_method() {
        let requests: Value = serde_json::from_str(&requests()).unwrap();
        for tool in all() {
            let name = tool["name"].as_str().unwrap();
            assert!(jsonschema::validator_for(&tool["inputSchema"]).is_ok(), "{name}");
            let read_only = requests[name]["method"] == "GET";
            assert_eq!(tool["annotations"]["readOnlyHint"], read_only, "{name}");
            assert!(!tool["inputSchema"].to_string().contains("#/components"), "{name}");
        }
    }

    #[test]
    fn tools_are_those_that_an_agent_needs() {
        let tools = all();
        let names: BTreeSet<_> = tools.iter().map(|tool| tool["name"].as_str().unwrap()).collect();
        assert_eq!(names.len(), tools.len());
        for name in [
            "call_tool",
            "read_usage",
            "list_pages",
            "create_page",
            "patch_page",
            "delete_page",
            "add_link",
            "read_analytics",
            "list_webhooks",
            "create_product_source",
            "refresh_product_source",
            "list_product_source_runs",
            "list_events",
            "export_account",
            "erase_account",
        ] {
            assert!(names.contains(name), "{name} of {names:?}");
        }
    }

    #[test]
    fn tools_are_all_operations_with_a_key_but_changes_of_the_key_itself() {
        let names: BTreeSet<_> = all().iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect();
        let pages = biolink::document("https://a.test");
        let with_key =
            operations(&pages).filter(|(.., operation)| operation.pointer("/security/0/ApiKey").is_some());
        let expected: BTreeSet<_> =
            with_key.map(|(.., operation)| text(operation, "operationId").to_owned()).collect();
        let others: Vec<_> = names.difference(&expected).map(String::as_str).collect();
        assert_eq!(others, ["call_tool", "read_usage"]);
        assert_eq!(expected.difference(&names).count(), 0);
    }

    #[test]
    fn hint_names_an_operation_that_there_is() {
        let tools = all();
        for name in super::super::hints::named() {
            assert!(tools.iter().any(|tool| tool["name"] == name), "{name}");
        }
    }

    #[test]
    fn erasure_must_be_confirmed() {
        let tools = all();
        let erase = tools.iter().find(|tool| tool["name"] == "erase_account").unwrap();
        assert_eq!(erase["inputSchema"]["required"], json!(["confirm"]), "{erase}");
        assert_eq!(erase["annotations"]["destructiveHint"], true);
    }

    #[test]
    fn example_of_the_description_is_a_valid_argument() {
        let tools = all();
        let create = tools.iter().find(|tool| tool["name"] == "create_page").unwrap();
        let validator = jsonschema::validator_for(&create["inputSchema"]).unwrap();
        assert!(validator.is_valid(
            &json!({"body": {"title": "Ada", "links": [{"title": "News", "url": "https://example.com"}]}})
        ));
        assert!(
            !validator.is_valid(&json!({"body": {"title": 1}})) && !validator.is_valid(&json!({"page": 1}))
        );
    }
}
