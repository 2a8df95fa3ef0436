//! The OpenAPI description of one tool, as it publishes it.

use std::borrow::Cow;
use std::collections::BTreeSet;

use serde::Deserialize;
use serde_json::{Map, Value};

use super::error::{DescriptionError, KEPT, LITERAL, MAX_ACTIONS, MAX_DESCRIPTION, excerpt};
use super::inline::Inliner;
use super::visible::{is_visible, visible};
use crate::action::Action;
use crate::bounded_json::BoundedJson;
use crate::headers::reaches_tool;
use crate::route::CallMethod;
use crate::tool::Tool;

/// The component of the gateway's own problems.
pub(super) const PROBLEM: &str = "GatewayProblem";
/// Members of an operation that are kept beside `parameters`, `requestBody` and `responses`.
const TEXTS: [&str; 2] = ["summary", "description"];
/// Statuses that the gateway itself responds with. What a tool says of them never stands in their place.
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

/// What is kept of a description, as it is written and read again.
#[derive(Deserialize)]
struct Kept {
    description: Option<String>,
    paths: Map<String, Value>,
    schemas: Map<String, Value>,
}

impl ToolDescription {
    /// Parses what a tool publishes. `prefix` is the path before `/{action}` at the tool. Paths that no
    /// call reaches, operations with `x-internal`, parameters that no call brings to the tool, and characters
    /// that no reader sees are left out.
    ///
    /// # Errors
    /// Returns an error if it is not a description with an action, has references that lead
    /// nowhere, is too large, or has hidden characters where leaving them out would change a call.
    pub fn parse(tool: Tool, prefix: &str, text: &str) -> Result<Self, DescriptionError> {
        // Before it is parsed: a document of JSON takes many times its size in memory.
        if text.len() > MAX_DESCRIPTION {
            return Err(DescriptionError::TooLarge(text.len()));
        }
        let document: Value = serde_json::from_str(text).map_err(not_json)?;
        let version = document.get("openapi").and_then(Value::as_str).unwrap_or_default();
        // Version 2 has other places for bodies and schemas, which would be read as no action at
        // all.
        if !(version.starts_with("3.0") || version.starts_with("3.1")) {
            return Err(DescriptionError::Version(excerpt(version, 20)));
        }
        let items = items(&document, prefix);
        match items.iter().map(|item| item.operations.len()).sum() {
            0 => return Err(DescriptionError::NoAction(prefix.to_owned())),
            1..=MAX_ACTIONS => {}
            count => return Err(DescriptionError::TooManyActions(count)),
        }
        // The only copy of what references open up into. It is parsed again when its size is known.
        let mut json = BoundedJson::new(KEPT);
        json.object(|json| write(json, tool, &document, &items))?;
        let mut kept: Kept = serde_json::from_str(&json.into_text()).map_err(not_json)?;
        clean(&mut kept.paths)?;
        clean(&mut kept.schemas)?;
        let text = kept.description.map(|text| visible(&text).into_owned());
        Ok(Self { text, paths: kept.paths, schemas: kept.schemas })
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

fn not_json(error: serde_json::Error) -> DescriptionError {
    DescriptionError::Json(error.to_string())
}

/// A path of a description that calls reach.
struct PathItem<'a> {
    action: Action<'a>,
    /// The parameters of all operations.
    parameters: &'a [Value],
    operations: Vec<(CallMethod, &'a Map<String, Value>)>,
}

/// Returns the paths that have an operation for calls.
fn items<'a>(document: &'a Value, prefix: &str) -> Vec<PathItem<'a>> {
    let paths = document.get("paths").and_then(Value::as_object).into_iter().flatten();
    let items = paths.filter_map(|(path, item)| {
        // A slash after the prefix: `/tools` must not take the paths of `/toolsets`.
        let segment = path.strip_prefix(prefix).and_then(|rest| rest.strip_prefix('/'));
        let action = segment.and_then(Action::parse)?;
        let operations = [CallMethod::Get, CallMethod::Post].into_iter().filter_map(|method| {
            let operation = item.get(name(method))?.as_object()?;
            (operation.get("x-internal") != Some(&Value::Bool(true))).then_some((method, operation))
        });
        Some(PathItem { action, parameters: list(item.get("parameters")), operations: operations.collect() })
    });
    items.filter(|item| !item.operations.is_empty()).collect()
}

/// Writes the members of [`Kept`].
fn write<'a>(
    json: &mut BoundedJson,
    tool: Tool,
    document: &'a Value,
    items: &[PathItem<'a>],
) -> Result<(), DescriptionError> {
    let mut inliner = Inliner::new(document, tool.as_str());
    if let Some(text) = document.pointer("/info/description").and_then(Value::as_str) {
        json.text_member("description", text)
            .map_err(|full| DescriptionError::from(full).at(|| "`info.description`".to_owned()))?;
    }
    json.name("paths")?;
    json.object(|json| {
        items.iter().try_for_each(|item| {
            json.name(&format!("/v1/{tool}/{}", item.action))?;
            json.object(|json| {
                item.operations.iter().try_for_each(|&(method, operation)| {
                    let mut write = || {
                        json.name(name(method))?;
                        json.object(|json| write_operation(json, &mut inliner, tool, item, method, operation))
                    };
                    write().map_err(|error| error.at(|| format!("{} /{}", method.method(), item.action)))
                })
            })
        })
    })?;
    json.name("schemas")?;
    json.object(|json| inliner.write_schemas(json))
}

/// Writes what is kept of an operation.
fn write_operation<'a>(
    json: &mut BoundedJson,
    inliner: &mut Inliner<'a>,
    tool: Tool,
    item: &PathItem<'a>,
    method: CallMethod,
    operation: &'a Map<String, Value>,
) -> Result<(), DescriptionError> {
    json.text_member("operationId", &format!("{tool}_{}_{}", item.action, name(method)))?;
    json.name("tags")?;
    json.array(|json| json.text(tool.as_str()))?;
    for name in TEXTS {
        if let Some(text) = operation.get(name).and_then(Value::as_str) {
            json.text_member(name, text)?;
        }
    }
    if operation.get("deprecated") == Some(&Value::Bool(true)) {
        json.name("deprecated")?;
        json.value(&Value::Bool(true))?;
    }
    write_parameters(json, inliner, item, operation)?;
    if let Some(body) = operation.get("requestBody") {
        json.name("requestBody")?;
        inliner.write(json, body)?;
    }
    let responses = operation.get("responses").map(|responses| inliner.resolve(responses)).transpose()?;
    let responses = responses.and_then(Value::as_object).filter(|responses| !responses.is_empty());
    json.name("responses")?;
    json.object(|json| {
        match responses {
            Some(responses) => {
                inliner.write_named(json, responses, |status| !OF_THE_GATEWAY.contains(&status))?
            }
            None => {
                json.name("default")?;
                json.object(|json| json.text_member("description", "What the tool responds."))?;
            }
        }
        for status in OF_THE_GATEWAY {
            json.name(status)?;
            json.object(|json| json.text_member("$ref", &format!("#/components/responses/{PROBLEM}")))?;
        }
        Ok(())
    })
}

/// Writes the parameters of query and header that reach the tool: those of the path, unless the operation has its
/// own.
fn write_parameters<'a>(
    json: &mut BoundedJson,
    inliner: &mut Inliner<'a>,
    item: &PathItem<'a>,
    operation: &'a Map<String, Value>,
) -> Result<(), DescriptionError> {
    let (mut kept, mut names) = (Vec::new(), BTreeSet::new());
    for parameter in list(operation.get("parameters")).iter().chain(item.parameters) {
        let parameter = inliner.resolve(parameter)?;
        let text = |member: &str| parameter.get(member).and_then(Value::as_str).unwrap_or_default();
        let id = (text("in"), text("name"));
        let reaches = match id.0 {
            "query" => !id.1.is_empty(),
            // A header that the gateway does not pass on would be promised in vain.
            "header" => !id.1.is_empty() && reaches_tool(id.1),
            _ => false,
        };
        // Those of the operation come first and take the place of those of its path (OpenAPI,
        // Operation Object).
        if reaches && names.insert(id) {
            kept.push(parameter);
        }
    }
    if kept.is_empty() {
        return Ok(());
    }
    json.name("parameters")?;
    json.array(|json| kept.into_iter().try_for_each(|parameter| inliner.write(json, parameter)))
}

/// Leaves out what no reader sees of the texts within `members`. The recursion is bounded as [`KEPT`] is.
fn clean(members: &mut Map<String, Value>) -> Result<(), DescriptionError> {
    members.iter_mut().try_for_each(|(name, value)| {
        if !is_visible(name) || (LITERAL.contains(&name.as_str()) && !is_literal(value)) {
            return Err(DescriptionError::Hidden(excerpt(name, 40)));
        }
        clean_value(value)
    })
}

fn clean_value(value: &mut Value) -> Result<(), DescriptionError> {
    match value {
        Value::String(text) => {
            if let Cow::Owned(seen) = visible(text) {
                *text = seen;
            }
            Ok(())
        }
        Value::Array(items) => items.iter_mut().try_for_each(clean_value),
        Value::Object(members) => clean(members),
        Value::Null | Value::Bool(_) | Value::Number(_) => Ok(()),
    }
}

/// Returns true if a text, or each of a list, is visible. A property may be called `name`: its schema is no text.
fn is_literal(value: &Value) -> bool {
    match value {
        Value::String(text) => is_visible(text),
        Value::Array(items) => items.iter().all(is_literal),
        Value::Object(_) | Value::Null | Value::Bool(_) | Value::Number(_) => true,
    }
}

fn list(value: Option<&Value>) -> &[Value] {
    value.and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}

/// Returns the name of the method in a path item.
pub(super) const fn name(method: CallMethod) -> &'static str {
    match method {
        CallMethod::Get => "get",
        CallMethod::Post => "post",
    }
}

#[cfg(test)]
mod tests;
