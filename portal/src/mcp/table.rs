//! The tools, made of the OpenAPI descriptions when the worker is built.

use serde_json::{Map, Value, json};
use shared::action::Action;
use shared::tool::Tool;

use super::hints::annotations;
use super::known_actions::known_actions;
use super::outline::{Outline, resolve};
use super::request::HEADERS;
use super::schema::standard;
use super::toolset::Toolset;
use crate::endpoint::Endpoint;
use crate::openapi::{self, biolink};

/// The tags under which the operations of tools are listed in the bio-link description, and their
/// toolsets.
const TAGS: [(&str, Toolset); 10] = [
    ("pages", Toolset::Pages),
    ("links", Toolset::Pages),
    ("revisions", Toolset::Pages),
    ("products", Toolset::Pages),
    ("images", Toolset::Pages),
    ("domains", Toolset::Domains),
    ("analytics", Toolset::Analytics),
    ("webhooks", Toolset::Webhooks),
    ("events", Toolset::Webhooks),
    ("account", Toolset::Keys),
];
/// Operations that hand a secret or everything to the conversation.
const CONFIDENTIAL: [&str; 3] = ["export_account", "read_webhook_secret", "rotate_webhook_secret"];
/// Operations that are no tools: what confirms an erasure must not be in a conversation, and arguments
/// have no files.
const PERSONAL: [&str; 2] = ["erase_account", "upload_image"];
/// The path and the name of the one operation of the gateway's description beside calls.
const USAGE: (&str, &str) = ("/v1/keys/me", "read_usage");
/// Bodies of many members, and how much of them the list has.
const OUTLINES: [(&str, Outline); 7] = [
    ("create_page", Outline { levels: 2, described: 2, nullable: false }),
    ("replace_page", Outline { levels: 1, described: 0, nullable: false }),
    ("patch_page", Outline { levels: 1, described: 0, nullable: true }),
    ("add_link", Outline { levels: 1, described: 2, nullable: false }),
    ("patch_link", Outline { levels: 1, described: 0, nullable: true }),
    ("create_product_source", Outline { levels: 2, described: 3, nullable: false }),
    ("patch_product_source", Outline { levels: 1, described: 0, nullable: true }),
];
/// Arguments that the instructions of the server describe, if they are one value.
const COMMON: [&str; 10] = [
    "cursor",
    "delivery_id",
    "dry_run",
    "event_id",
    "idempotency_key",
    "if_match",
    "link_id",
    "page_id",
    "source_id",
    "webhook_id",
];
/// Parameters that are no arguments: what they do to a response is of no use to an agent.
const WITHOUT: [(&str, &str); 2] = [("read_analytics", "format"), ("read_page", "if_none_match")];

/// Tools that are listed only for a client that names their toolset: what few agents need. All of them may be called.
const NAMED: [&str; 8] = [
    "delete_image",
    "list_images",
    "list_revisions",
    "read_image",
    "read_revision",
    "replace_page",
    "reset_analytics",
    "restore_revision",
];
/// What descriptions say of the status, of plans and of scopes: a secret gets the tools that it may call.
const UNSAID: [&str; 5] = [
    " A dry run responds with 200.",
    " For keys of every plan.",
    ", and for keys of every plan",
    " A secret without the scope `keys` sees `id` and `secret`, which is itself.",
    " One that calls tools also sees what its calls share: `tier`, `status`, `limits`, `expires_at` and `usage`.",
];

/// A tool with the request that it makes.
struct Entry {
    name: String,
    toolset: Toolset,
    needs_plan: bool,
    /// What a secret needs for it.
    scope: String,
    tool: Value,
    request: Value,
}

/// Returns the table of tools: on each line toolset, `listed` or `named`, `plan` or `any`, the scope, `tools` or `any`,
/// and the tool as JSON.
pub fn tools() -> String {
    let lines = entries().into_iter().map(|Entry { name, toolset, needs_plan, scope, tool, .. }| {
        let listed = if NAMED.contains(&&*name) { "named" } else { "listed" };
        let plan = if needs_plan { "plan" } else { "any" };
        format!("{}\t{listed}\t{plan}\t{scope}\t{tool}\n", toolset.as_str())
    });
    lines.collect()
}

/// Returns the requests of the tools by name, for [`ToolRequest`](super::ToolRequest).
pub fn requests() -> String {
    let rows: Map<_, _> = entries().into_iter().map(|entry| (entry.name, entry.request)).collect();
    Value::Object(rows).to_string()
}

fn entries() -> Vec<Entry> {
    let (gateway, pages) =
        (openapi::document("https://server.invalid"), biolink::document("https://server.invalid"));
    let mut entries = vec![call_tool()];
    for operation in operations(&gateway).chain(operations(&pages)) {
        let id = text(operation.members, "operationId");
        let tag = operation.members.pointer("/tags/0").and_then(Value::as_str).unwrap_or_default();
        let tag = TAGS.iter().find(|(other, _)| *other == tag && !PERSONAL.contains(&id));
        let is_key = operation.members.pointer("/security/0/ApiKey").is_some();
        if operation.path == USAGE.0 && operation.method == "get" {
            entries.push(entry(&operation, USAGE.1, Toolset::Keys));
        } else if let Some((_, toolset)) = tag.filter(|_| is_key) {
            // What returns secrets is never listed or called by default: its results end up in a
            // model's context.
            let toolset = if CONFIDENTIAL.contains(&id) { Toolset::Account } else { *toolset };
            entries.push(entry(&operation, id, toolset));
        }
    }
    entries
}

/// An operation of a description.
struct Operation<'a> {
    document: &'a Value,
    path: &'a str,
    method: &'a str,
    members: &'a Value,
}

fn operations(document: &Value) -> impl Iterator<Item = Operation<'_>> {
    let paths = document.get("paths").and_then(Value::as_object).into_iter().flatten();
    paths.flat_map(move |(path, item)| {
        let methods = item.as_object().into_iter().flatten();
        methods.map(move |(method, members)| Operation { document, path, method, members })
    })
}

/// Returns the tool that calls tools of the gateway.
fn call_tool() -> Entry {
    let purposes: Vec<_> = Tool::ALL.into_iter().map(described).collect();
    let name = "call_tool";
    let schema = json!({
        "type": "object",
        "properties": {
            "tool": { "type": "string", "enum": Tool::ALL, "description": purposes.join("; ") },
            "action": { "type": "string", "description": "An action of the tool.", "maxLength": Action::MAX_LEN },
            "query": { "type": "object", "description": "The query of the call: strings, numbers, booleans, and lists of them." },
            "body": { "description": "The JSON body. With it the call is a POST, and without it a GET." },
        },
        "required": ["tool", "action"],
        "additionalProperties": false,
    });
    let tool = json!({
        "name": name,
        "description": "Calls a tool of the gateway and returns its response, of any type; an image as PNG unless another format is asked for. It counts against the key's quotas.",
        "inputSchema": schema,
        "annotations": { "readOnlyHint": false },
    });
    let request = json!({
        "toolset": Toolset::Tools.as_str(), "method": "*", "path": "/v1/{tool}/{action}",
        "path_parameters": ["tool", "action"], "query": ["*"], "body": true,
    });
    let scope = "tools".to_owned();
    Entry { name: name.to_owned(), toolset: Toolset::Tools, needs_plan: false, scope, tool, request }
}

/// Returns what a tool of the gateway is for, with the actions that are known.
fn described(tool: Tool) -> String {
    match known_actions(tool) {
        [] => format!("{tool} ({})", tool.purpose()),
        actions => format!("{tool} ({}; actions: {})", tool.purpose(), actions.join(", ")),
    }
}

fn entry(operation: &Operation<'_>, name: &str, toolset: Toolset) -> Entry {
    let Operation { document, path, method, members } = operation;
    let parameters: Vec<_> = members
        .get("parameters")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .map(|parameter| resolve(document, parameter))
        .filter(|parameter| !WITHOUT.contains(&(name, &argument(parameter))))
        .collect();
    let of = |place: &str| -> Vec<String> {
        let those = parameters.iter().filter(|parameter| text(parameter, "in") == place);
        match place {
            "header" => those.map(|parameter| argument(parameter)).collect(),
            _ => those.map(|parameter| text(parameter, "name").to_owned()).collect(),
        }
    };
    let headers = of("header");
    debug_assert!(headers.iter().all(|name| HEADERS.iter().any(|(known, _)| known == name)), "{name}");
    let mut request = json!({
        "toolset": toolset.as_str(), "method": method.to_uppercase(), "path": path,
        "path_parameters": of("path"), "query": of("query"), "headers": headers,
    });
    if let (Some(_), Some(row)) = (members.get("requestBody"), request.as_object_mut()) {
        row.insert("body".to_owned(), true.into());
    }
    let input = input_schema(operation, name, &parameters);
    if let (Some(required), Some(row)) = (input.get("required"), request.as_object_mut()) {
        row.insert("required".to_owned(), required.clone());
    }
    let title = text(members, "summary");
    let tool = json!({
        "name": name,
        "description": description(title, text(members, "description")),
        "inputSchema": input,
        "annotations": annotations(name, method),
    });
    let endpoint = endpoint_of(path, method);
    let needs_plan = match endpoint {
        Some(Endpoint::Pages(endpoint)) => endpoint.needs_plan(),
        Some(Endpoint::Webhooks(_)) => true,
        _ => false,
    };
    // From the same table as the check of a call, so that the list cannot promise more.
    let scope = endpoint.and_then(|endpoint| endpoint.requires().scope());
    let scope = scope.map_or_else(|| "any".to_owned(), |scope| scope.to_string());
    Entry { name: name.to_owned(), toolset, needs_plan, scope, tool, request }
}

/// Returns the description of a tool, without what an agent cannot see.
fn description(title: &str, text: &str) -> String {
    UNSAID.iter().fold(format!("{title}. {text}"), |text, unsaid| text.replace(unsaid, ""))
}

fn endpoint_of(path: &str, method: &str) -> Option<Endpoint> {
    Endpoint::all()
        .find(|endpoint| endpoint.path() == path && endpoint.method().as_str().eq_ignore_ascii_case(method))
}

/// Returns the schema of a tool's arguments: each parameter, and `body`.
fn input_schema(operation: &Operation<'_>, name: &str, parameters: &[&Value]) -> Value {
    let (mut properties, mut required) = (Map::new(), Vec::new());
    for parameter in parameters {
        let argument = argument(parameter);
        let mut schema = parameter.get("schema").cloned().unwrap_or_else(|| json!({}));
        if parameter.get("required") == Some(&Value::Bool(true)) {
            required.push(argument.clone());
        }
        // The instructions of the server say these once, for all tools.
        if COMMON.contains(&argument.as_str()) && schema.get("type") != Some(&json!("array")) {
            schema = json!({ "type": schema.get("type") });
        } else if let Some(members) = schema.as_object_mut() {
            members.insert("description".to_owned(), text(parameter, "description").into());
        }
        properties.insert(argument, schema);
    }
    if let Some(body) = operation.members.pointer("/requestBody/content/application~1json/schema") {
        let outline = OUTLINES.iter().find(|(other, _)| *other == name);
        let schema = outline.map(|(_, outline)| outline.of(operation.document, body));
        properties
            .insert("body".to_owned(), schema.unwrap_or_else(|| resolve(operation.document, body).clone()));
        if operation.members.pointer("/requestBody/required") == Some(&Value::Bool(true)) {
            required.push("body".to_owned());
        }
    }
    if properties.is_empty() {
        return json!({ "type": "object", "additionalProperties": false });
    }
    let schema = json!({ "type": "object", "properties": properties, "required": required });
    standard(operation.document, &schema)
}

/// Returns the name of the argument for a parameter: a header's in lower case with underscores.
fn argument(parameter: &Value) -> String {
    text(parameter, "name").to_ascii_lowercase().replace('-', "_")
}

fn text<'a>(value: &'a Value, member: &str) -> &'a str {
    value.get(member).and_then(Value::as_str).unwrap_or_default()
}

#[cfg(test)]
mod tests;
