//! Expands a description, which has less to write than is served. The heads of the files say what.

use std::collections::BTreeSet;

use biolink::codes;
use serde_json::{Map, Value, json};
use shared::problem::{Code, MEDIA_TYPE, Problem};
use shared::request_id::RequestId;
use shared::tool::Tool;

type Object = Map<String, Value>;

/// Returns the OpenAPI document that a description stands for.
pub(super) fn expand(mut document: Value) -> Value {
    let mut remove = |name: &str| document.as_object_mut()?.remove(name);
    remove("x-parts");
    let security = remove("security").unwrap_or_default();
    repeat_for_tools(&mut document);
    for name in ["paths", "x-webhooks"] {
        let items = members(document.get_mut(name));
        let operations = items.into_iter().flat_map(|item| members(Some(item)));
        operations.into_iter().for_each(|operation| expand_operation(operation, &security));
    }
    // Receivers of webhooks state no headers.
    let items = members(document.get_mut("paths")).into_iter();
    let operations = items.flat_map(|item| members(Some(item)));
    let responses = operations.flat_map(|operation| members(operation.get_mut("responses")));
    responses.for_each(refer_to_headers);
    copy_examples_to_schemas(&mut document);
    if let Some(components) = document.get_mut("components") {
        members(components.get_mut("schemas")).into_iter().for_each(expand_schema);
        members(components.get_mut("parameters")).into_iter().for_each(expand_parameter);
        for response in members(components.get_mut("responses")) {
            expand_response(response);
            refer_to_headers(response);
        }
    }
    document
}

/// Replaces what has `{tool}` by what it is for each tool.
fn repeat_for_tools(document: &mut Value) {
    if let Some(Value::Array(tags)) = document.get_mut("tags") {
        *tags = tags.iter().flat_map(|tag| for_tools("", tag)).map(|(_, tag)| tag).collect();
    }
    if let Some(Value::Object(paths)) = document.get_mut("paths") {
        *paths = paths.iter().flat_map(|(path, item)| for_tools(path, item)).collect();
    }
}

/// Returns the members of an object, or the items of a list.
fn members(value: Option<&mut Value>) -> Vec<&mut Value> {
    match value {
        Some(Value::Object(members)) => members.values_mut().collect(),
        Some(Value::Array(items)) => items.iter_mut().collect(),
        _ => Vec::new(),
    }
}

/// Returns the value for each tool, if it or its name has `{tool}`; else the value.
fn for_tools(name: &str, value: &Value) -> Vec<(String, Value)> {
    // Only what names the tool is repeated; all else stands once.
    if !name.contains("{tool}") && !value.to_string().contains("{tool}") {
        return vec![(name.to_owned(), value.clone())];
    }
    Tool::ALL.map(|tool| (name.replace("{tool}", tool.as_str()), for_tool(value, tool))).to_vec()
}

fn for_tool(value: &Value, tool: Tool) -> Value {
    match value {
        Value::String(text) => {
            text.replace("{tool}", tool.as_str()).replace("{purpose}", tool.purpose()).into()
        }
        Value::Array(items) => items.iter().map(|item| for_tool(item, tool)).collect(),
        Value::Object(members) => {
            let member = |(name, value): (&String, &Value)| match name.as_str() {
                // A tool without its own example keeps `example`, which is not that of another tool.
                "x-tool-example" => Some(("example".to_owned(), value.get(tool.as_str())?.clone())),
                _ => Some((name.clone(), for_tool(value, tool))),
            };
            Value::Object(members.iter().filter_map(member).collect())
        }
        other => other.clone(),
    }
}

fn expand_operation(operation: &mut Value, security: &Value) {
    if let Some(members) = operation.as_object_mut() {
        members.entry("security").or_insert_with(|| security.clone());
    }
    members(operation.get_mut("parameters")).into_iter().for_each(expand_parameter);
    members(operation.get_mut("responses")).into_iter().for_each(expand_response);
    if let Some(body) = operation.get_mut("requestBody") {
        expand_body(body);
    }
}

/// Gives the schema of a request body the example of that body. Importers of descriptions read one or the
/// other: Insomnia reads the schema alone. Bodies of one component share the first example.
fn copy_examples_to_schemas(document: &mut Value) {
    let mut of_components = Object::new();
    let items = members(document.get_mut("paths"));
    for operation in items.into_iter().flat_map(|item| members(Some(item))) {
        let Some(body) = operation.pointer_mut("/requestBody/content/application~1json") else { continue };
        let Some(example) = body.get("example").cloned() else { continue };
        let Some(schema) = body.get_mut("schema").and_then(Value::as_object_mut) else { continue };
        match schema.get("$ref").and_then(Value::as_str).and_then(|target| target.rsplit('/').next()) {
            Some(component) => of_components.entry(component).or_insert(example),
            None => schema.entry("example").or_insert(example),
        };
    }
    for (component, example) in of_components {
        let schema =
            document.pointer_mut("/components/schemas").and_then(|schemas| schemas.get_mut(component));
        if let Some(schema) = schema.and_then(Value::as_object_mut) {
            schema.entry("example").or_insert(example);
        }
    }
}

fn expand_parameter(parameter: &mut Value) {
    refer(parameter, "parameters");
    parameter.get_mut("schema").into_iter().for_each(expand_schema);
}

fn expand_response(response: &mut Value) {
    refer(response, "responses");
    if response.is_array() {
        *response = json!({ "x-problems": response });
    }
    expand_problems(response);
    expand_body(response);
}

/// Makes a component's name a reference to the component.
fn refer(value: &mut Value, kind: &str) {
    if let Value::String(name) = value {
        *value = json!({ "$ref": format!("#/components/{kind}/{name}") });
    }
}

/// Makes references of the names of a response's headers. Every response has `X-Request-Id`.
fn refer_to_headers(response: &mut Value) {
    let Some(members) = response.as_object_mut().filter(|members| !members.contains_key("$ref")) else {
        return;
    };
    let names = members.remove("headers").unwrap_or_default();
    let names = names.as_array().into_iter().flatten().filter_map(Value::as_str).chain(["X-Request-Id"]);
    let reference = |name: &str| json!({ "$ref": format!("#/components/headers/{name}") });
    let headers: Object = names.map(|name| (name.to_owned(), reference(name))).collect();
    members.insert("headers".to_owned(), headers.into());
}

/// Returns the headers that a response with these problems has.
fn headers_of(codes: &[Code]) -> BTreeSet<&'static str> {
    let of_code = |code: &Code| {
        let of_status: &[_] = match code.status() {
            401 => &["WWW-Authenticate"],
            405 => &["Allow"],
            412 => &["Etag"],
            415 => &["Accept"],
            429 | 503 => &["Retry-After"],
            _ => &[],
        };
        let own: &[_] = match *code {
            codes::IDEMPOTENCY_CONFLICT => &["Retry-After"],
            codes::QUOTA_EXCEEDED => &["RateLimit", "RateLimit-Policy"],
            codes::TOOL_UNAVAILABLE => &["Proxy-Status"],
            _ => &[],
        };
        of_status.iter().chain(own).copied()
    };
    codes.iter().flat_map(of_code).chain(["X-Gateway-Problem"]).collect()
}

/// Adds the titles of problems to the description of a response, and the headers and an example of each.
fn expand_problems(response: &mut Value) {
    let Some(members) = response.as_object_mut() else { return };
    let Some(codes) = members.remove("x-problems") else { return };
    let codes: Vec<_> =
        codes.as_array().into_iter().flatten().filter_map(Value::as_str).filter_map(codes::parse).collect();
    let titles = codes.iter().map(|code| format!("`{}`: {}.", code.as_str(), code.title()));
    let more = members.remove("description").and_then(|more| more.as_str().map(str::to_owned));
    let description = titles.chain(more).collect::<Vec<_>>().join(" ");
    members.insert("description".to_owned(), description.into());
    if let Some(headers) = members.entry("headers").or_insert_with(|| json!([])).as_array_mut() {
        headers.extend(headers_of(&codes).into_iter().map(Value::from));
    }
    let examples: Object = codes.into_iter().map(|code| (code.as_str().to_owned(), example(code))).collect();
    let content = members.entry("content").or_insert_with(|| json!({}));
    if let Some(content) = content.as_object_mut() {
        content.insert(MEDIA_TYPE.to_owned(), json!({ "schema": "Problem", "examples": examples }));
    }
}

fn example(code: Code) -> Value {
    let problem = Problem::new(code, code.about()).render(&RequestId([0x5a; 16]));
    json!({ "value": serde_json::from_str::<Value>(&problem.body).unwrap_or_default() })
}

/// Expands what a request or a response has as its body.
fn expand_body(described: &mut Value) {
    if let Some(members) = described.as_object_mut() {
        let json = ["schema", "example", "examples"].into_iter();
        let json: Object = json.filter_map(|name| members.remove_entry(name)).collect();
        if !json.is_empty() {
            members.insert("content".to_owned(), json!({ "application/json": json }));
        }
    }
    for media_type in members(described.get_mut("content")) {
        for name in ["schema", "x-itemSchema"] {
            media_type.get_mut(name).into_iter().for_each(expand_schema);
        }
    }
}

fn expand_schema(schema: &mut Value) {
    refer(schema, "schemas");
    let is_nullable = schema.get("nullable").is_some();
    if let Some(names) = schema.get_mut("enum").and_then(Value::as_array_mut).filter(|_| is_nullable) {
        // OpenAPI 3.0 wants it said twice.
        names.push(Value::Null);
    }
    members(schema.get_mut("properties")).into_iter().for_each(expand_schema);
    for name in ["items", "additionalProperties"] {
        schema.get_mut(name).into_iter().for_each(expand_schema);
    }
}
