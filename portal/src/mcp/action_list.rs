//! The actions that the tools describe, in the list of tools of MCP.
//!
//! A description may let one schema stand in each of its actions, so the list is bounded by itself: a tool of
//! MCP, all of one tool of the gateway, and a page. What is too large is listed without its schema, and can be
//! called all the same.
//!
//! Why: docs/decisions/portal.md, "A tool has its share of the lists, and no more".

use std::collections::BTreeSet;

use serde_json::Value;
use shared::bounded_json::{BoundedJson, Bounds, Full};
use shared::catalog::{ActionEntry, Catalog, MAX_ACTIONS};
use shared::key::{Scope, Scopes};
use shared::route::CallMethod;
use shared::tool::Tool;

use super::actions::{arguments_of, entries, required_of};
use super::list_cursor::ListCursor;
use super::toolset::{Toolset, Toolsets};

const SCHEMAS: &str = "#/components/schemas/";
const DEFINITIONS: &str = "#/$defs/";

/// The bounds of one tool of MCP.
const MAX_LISTED: Bounds = Bounds { bytes: 16 * 1024, values: 4 * 1024, levels: 100 };
/// The bounds of one without its schema.
const MAX_SHORT: Bounds = Bounds { bytes: 640, ..MAX_LISTED };
/// The longest text that it has then, in characters.
const MAX_TEXT: usize = 200;
/// Maximum size of the tools of MCP that are actions of one tool, in bytes.
pub(super) const MAX_OF_TOOL: usize = 64 * 1024;
/// Maximum size of the actions of a page, in bytes.
pub(super) const MAX_PAGE: usize = 128 * 1024;

// Each action is listed, whatever the others of its tool take.
const _: () = assert!(MAX_ACTIONS * MAX_SHORT.bytes <= MAX_OF_TOOL && MAX_OF_TOOL <= MAX_PAGE);

/// A page of the list.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct ActionPage {
    /// Tools of MCP, one for each action, as JSON texts.
    pub tools: Vec<String>,
    /// The cursor of the page that follows, if there is one.
    pub next: Option<String>,
}

/// Returns the actions that toolsets list and `scopes` permit, from a cursor or the first one on.
pub fn action_page(
    catalog: &Catalog,
    toolsets: &Toolsets,
    scopes: Scopes,
    cursor: Option<&ListCursor>,
) -> ActionPage {
    let mut page = ActionPage::default();
    let (mut bytes, mut last) = (0, None);
    let first = cursor.map_or(0, |cursor| cursor.tool.index());
    let is_listed = |tool: &Tool| toolsets.list(Toolset::Tools) && scopes.contains(Scope::Tool(tool.label()));
    let tools = Tool::ALL.into_iter().skip(first).filter(is_listed);
    for (tool, (name, text)) in tools.flat_map(|tool| of_tool(catalog, tool).map(move |one| (tool, one))) {
        if cursor.is_some_and(|cursor| !cursor.is_before(tool, &name)) {
            continue;
        }
        // `last` has been listed, so the next page begins after it.
        if bytes + text.len() > MAX_PAGE {
            page.next = last;
            break;
        }
        bytes += text.len();
        page.tools.push(text);
        last = Some(name);
    }
    page
}

/// Returns the actions of a tool with their names, within the bound of all of them.
fn of_tool(catalog: &Catalog, tool: Tool) -> impl Iterator<Item = (String, String)> {
    let entries: Vec<_> = entries(catalog, tool).collect();
    let (mut left, mut open) = (MAX_OF_TOOL, entries.len());
    entries.into_iter().filter_map(move |(name, entry)| {
        open -= 1;
        // Room is kept for the actions to come: one large schema must not push the others off the
        // list.
        let reserved = open * MAX_SHORT.bytes;
        let bytes = MAX_LISTED.bytes.min(left.saturating_sub(reserved));
        // Written with a bound, and not measured afterwards: schemas that refer to each other grow
        // without end.
        let whole = whole(Bounds { bytes, ..MAX_LISTED }, catalog, &name, &entry);
        let text = whole.or_else(|_| short(&name, &entry)).ok()?;
        left = left.saturating_sub(text.len());
        Some((name, text))
    })
}

/// Returns a tool of MCP with its schema.
fn whole(bounds: Bounds, catalog: &Catalog, name: &str, entry: &ActionEntry<'_>) -> Result<String, Full> {
    let description = match (entry.summary(), entry.description()) {
        (summary, "") => summary.to_owned(),
        ("", description) => description.to_owned(),
        (summary, description) => format!("{summary}. {description}"),
    };
    let mut json = BoundedJson::new(bounds);
    write(&mut json, name, &description, entry, |json| write_schema(json, catalog, entry))?;
    Ok(json.into_text())
}

/// Returns a tool of MCP that says where its schema is.
fn short(name: &str, entry: &ActionEntry<'_>) -> Result<String, Full> {
    let tool = entry.tool;
    let what = if entry.json_body().is_some() { "`body` and the query" } else { "the query" };
    let reason = format!("Too large to be listed: GET /tools/{tool} says what {what} may have.");
    let with = |description: &str| {
        let mut json = BoundedJson::new(MAX_SHORT);
        write(&mut json, name, description, entry, |json| {
            json.object(|json| {
                json.text_member("type", "object")?;
                json.text_member("description", &reason)
            })
        })?;
        Ok(json.into_text())
    };
    let text = [entry.summary(), entry.description()].into_iter().find(|text| !text.is_empty());
    let text: String = text.unwrap_or_default().chars().take(MAX_TEXT).collect();
    // Escapes may make a text many times as long.
    with(&text).or_else(|_: Full| with(""))
}

fn write(
    json: &mut BoundedJson,
    name: &str,
    description: &str,
    entry: &ActionEntry<'_>,
    schema: impl FnOnce(&mut BoundedJson) -> Result<(), Full>,
) -> Result<(), Full> {
    json.object(|json| {
        json.text_member("name", name)?;
        // The tool's texts must not pass as the gateway's, which an agent trusts with its key.
        let description = match description {
            "" => String::new(),
            own => format!("Words of the tool {}, as in the schema: {own}", entry.tool),
        };
        json.text_member("description", &description)?;
        json.name("inputSchema")?;
        schema(json)?;
        json.name("annotations")?;
        json.object(|json| {
            json.name("readOnlyHint")?;
            json.value(&(entry.method == CallMethod::Get).into())
        })
    })
}

/// Writes the schema of the arguments: each parameter of the query, and `body`.
fn write_schema(json: &mut BoundedJson, catalog: &Catalog, entry: &ActionEntry<'_>) -> Result<(), Full> {
    let (required, mut open) = (required_of(entry), BTreeSet::new());
    json.object(|json| {
        json.text_member("type", "object")?;
        json.name("properties")?;
        json.object(|json| {
            for (name, parameter) in arguments_of(entry) {
                json.name(name)?;
                write_described(json, parameter, &mut open)?;
            }
            let Some(body) = entry.json_body() else { return Ok(()) };
            json.name("body")?;
            match body.get("schema") {
                // In place: as a definition it would be longer.
                Some(schema) => write_standard(json, in_place(catalog, schema), &mut open),
                None => json.object(|_| Ok(())),
            }
        })?;
        if !required.is_empty() {
            json.name("required")?;
            json.array(|json| required.iter().try_for_each(|name| json.text(name)))?;
        }
        if open.is_empty() {
            return Ok(());
        }
        json.name("$defs")?;
        json.object(|json| {
            let mut written = BTreeSet::new();
            while let Some(name) = open.pop_first() {
                // Schemas may refer to each other in a circle.
                if !written.insert(name) {
                    continue;
                }
                json.name(name)?;
                match catalog.schema(name) {
                    Some(schema) => write_standard(json, schema, &mut open)?,
                    // A name that nothing defines is any value: the reference must not dangle.
                    None => json.object(|_| Ok::<_, Full>(()))?,
                }
            }
            Ok(())
        })
    })
}

/// Returns the schema that a schema is a reference to, and any other one itself.
fn in_place<'a>(catalog: &'a Catalog, schema: &'a Value) -> &'a Value {
    let name = schema.get("$ref").and_then(Value::as_str).and_then(|to| to.strip_prefix(SCHEMAS));
    name.and_then(|name| catalog.schema(name)).unwrap_or(schema)
}

/// Writes the schema of a parameter with the parameter's description.
fn write_described<'a>(
    json: &mut BoundedJson,
    parameter: &'a Value,
    open: &mut BTreeSet<&'a str>,
) -> Result<(), Full> {
    let (schema, text) = (parameter.get("schema"), parameter.get("description"));
    match schema {
        // A schema may be true or false (JSON Schema 2020-12, section 4.3.2), which has no room for
        // a description.
        Some(schema @ (Value::Bool(_) | Value::Array(_))) => json.value(schema),
        _ => json.object(|json| {
            let members = schema.and_then(Value::as_object).into_iter().flatten();
            for (name, value) in members.filter(|(name, _)| *name != "description" || text.is_none()) {
                write_member(json, name, value, open)?;
            }
            let Some(text) = text else { return Ok(()) };
            json.name("description")?;
            json.value(text)
        }),
    }
}

/// Writes a schema with references to definitions, and adds their names to `open`.
fn write_standard<'a>(
    json: &mut BoundedJson,
    schema: &'a Value,
    open: &mut BTreeSet<&'a str>,
) -> Result<(), Full> {
    match schema {
        Value::Object(members) => json.object(|json| {
            members.iter().try_for_each(|(name, value)| write_member(json, name, value, open))
        }),
        Value::Array(items) => {
            json.array(|json| items.iter().try_for_each(|item| write_standard(json, item, open)))
        }
        plain => json.value(plain),
    }
}

fn write_member<'a>(
    json: &mut BoundedJson,
    name: &str,
    value: &'a Value,
    open: &mut BTreeSet<&'a str>,
) -> Result<(), Full> {
    json.name(name)?;
    match value.as_str().filter(|_| name == "$ref").and_then(|to| to.strip_prefix(SCHEMAS)) {
        Some(to) => {
            open.insert(to);
            json.text(&format!("{DEFINITIONS}{to}"))
        }
        None => write_standard(json, value, open),
    }
}

#[cfg(test)]
mod tests;
