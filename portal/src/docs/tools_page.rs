//! The actions of the tools, for people.

use maud::{Markup, PreEscaped, html};
use serde_json::Value;
use shared::bounded_json::{BoundedJson, Bounds};
use shared::catalog::{ActionEntry, Catalog, KEPT};
use shared::problem::Problem;
use shared::response::Response;
use shared::tool::Tool;

use super::layout::{Page, Section, respond};
use super::room::{Room, shortened};
use crate::NAME;

/// Stands for the tools in the page as it is rendered at build time.
const PLACE: &str = "<!--tools-->";
/// One sentence about the page.
const ABOUT: &str = "What each tool can do: its actions with their parameters, bodies and examples";
/// Maximum size of what is shown of a tool, in bytes. The paths of its actions come on top.
const MAX_OF_TOOL: usize = 56 * 1024;
/// Maximum number of fields of a table.
const MAX_ROWS: usize = 100;
/// Maximum number of values of a field that are listed.
const MAX_VALUES: usize = 30;
/// The longest name or value, in characters.
const MAX_NAME: usize = 100;
/// The longest example of a body, in bytes.
const MAX_EXAMPLE: usize = 8 * 1024;

/// Returns the page `/docs/tools` without the tools, which [`tools_page`] completes.
pub fn tools_template() -> String {
    let content = html! {
        h1 { "Actions of the tools" }
        p.lead { (ABOUT) "." }
        p {
            "The tools say so themselves. For programs: " a href="/tools" { code { "/tools" } } ", one tool at "
            code { "/tools/{tool}" } ", and all as OpenAPI 3.1 at " a href="/tools/openapi.json" { code { "/tools/openapi.json" } }
            ". The " a href="/docs" { "reference" } " has keys, limits and errors."
        }
        (PreEscaped(PLACE))
    };
    let title = format!("Actions of the tools: {NAME}");
    let page = Page::new(&title, ABOUT, &content);
    Page { section: Some(Section::Docs), ..page }.html()
}

/// Returns the page with the catalog, or one that says why it is not known. `server` is the address that the
/// examples call.
pub fn tools_page(template: &str, catalog: Result<&Catalog, &Problem>, server: &str) -> Response {
    let content = match catalog {
        Ok(catalog) => listed(catalog, server),
        Err(_) => unknown(),
    };
    let status = catalog.map_or_else(Problem::status, |_| 200);
    Response { status, ..respond(template.replace(PLACE, &content.into_string())).unique() }
}

fn listed(catalog: &Catalog, server: &str) -> Markup {
    html! {
        nav aria-label="Tools" {
            ul { @for tool in Tool::ALL { li { a href=(format!("#{tool}")) { (tool) } ": " (tool.purpose()) } } }
        }
        @for tool in Tool::ALL { (section(tool, catalog, server)) }
    }
}

fn unknown() -> Markup {
    html! {
        p.lead.bad { "What the tools can do is not known at the moment." }
        p { "The gateway responds, and none of its data centers does, which have it from the tools. Calls of tools get 503 until one does. Keys and pages are not affected." }
        p { a href="/docs/tools" { "Read it again" } ", or see " a href="/status" { "which tools are available" } ". What each is for:" }
        ul { @for tool in Tool::ALL { li { code { (tool) } ": " (tool.purpose()) } } }
    }
}

fn section(tool: Tool, catalog: &Catalog, server: &str) -> Markup {
    let mut room = Room::new(MAX_OF_TOOL);
    let about = shortened(catalog.about(tool).unwrap_or_else(|| tool.purpose()), Room::MAX_TEXT);
    let about = room.take(|| html! { p { (about) } });
    let actions: Vec<_> =
        catalog.actions(tool).map(|entry| action(&entry, catalog, server, &mut room)).collect();
    html! {
        section {
            h2 id=(tool) { a href=(format!("#{tool}")) { (tool) } }
            @if let Some(about) = about { (about) }
            @if actions.is_empty() {
                p.soft { "This tool does not describe its actions. Call them at " code { "/v1/" (tool) "/{action}" } "." }
            }
            @if room.is_used_up() {
                p.soft { "This tool says more than fits here. " (whole(tool)) " has all of it." }
            }
            @for action in actions { (action) }
        }
    }
}

/// Returns a link to all that a tool says.
fn whole(tool: Tool) -> Markup {
    html! { a href=(format!("/tools/{tool}")) { code { "/tools/" (tool) } } }
}

/// Returns what there is room for of an action, and at least its path.
fn action(entry: &ActionEntry<'_>, catalog: &Catalog, server: &str, room: &mut Room) -> Markup {
    let method = entry.method.method().as_str();
    let path = format!("/v1/{}/{}", entry.tool, entry.action);
    let summary = room.take(|| {
        let (summary, description) = (shortened(entry.summary(), Room::MAX_TEXT), entry.description());
        html! { p { (summary) @if !description.is_empty() { ": " (shortened(description, Room::MAX_TEXT)) } } }
    });
    let query = table("Parameters of the query", entry.tool, entry.query(), room, |parameter| {
        let required = parameter.get("required") == Some(&Value::Bool(true));
        let schema = resolved(catalog, parameter.get("schema").unwrap_or(&Value::Null));
        field(text(parameter, "name"), required, schema, text(parameter, "description"))
    });
    let fields = entry.json_body().and_then(|body| resolved(catalog, body.get("schema")?));
    let required = fields.and_then(|schema| schema.get("required")).and_then(Value::as_array);
    let is_required = |name: &str| required.is_some_and(|names| names.iter().any(|other| other == name));
    let properties = fields.and_then(|schema| schema.get("properties")).and_then(Value::as_object);
    let members =
        table("Members of the body", entry.tool, properties.into_iter().flatten(), room, |(name, schema)| {
            let resolved = resolved(catalog, schema);
            field(
                name,
                is_required(name),
                resolved,
                resolved.map_or("", |schema| text(schema, "description")),
            )
        });
    // Without colors: this is rendered by the worker, which would be larger with them.
    let example = room.take(|| html! { pre { code { (example(entry, method, &path, server)) } } });
    html! {
        h3 { code { (method) " " (path) } }
        @for part in [summary, query, members, example].into_iter().flatten() { (part) }
        @if room.is_used_up() { p.soft { "More: " (whole(entry.tool)) } }
    }
}

/// Returns a table of the first fields. Returns nothing if there is none, or no room.
fn table<T>(
    caption: &str,
    tool: Tool,
    mut fields: impl Iterator<Item = T>,
    room: &mut Room,
    row: impl Fn(T) -> Markup,
) -> Option<Markup> {
    // As long as there is room, so that no more is rendered than is shown.
    let rows: Vec<_> = fields.by_ref().take(MAX_ROWS).map_while(|one| room.take(|| row(one))).collect();
    let is_whole = fields.next().is_none();
    (!rows.is_empty()).then(|| {
        html! {
            table {
                caption { (caption) }
                thead { tr { th scope="col" { "Name" } th scope="col" { "Type" } th scope="col" { "Meaning" } } }
                tbody {
                    @for row in &rows { (row) }
                    @if !is_whole { tr { td colspan="3" { "More: " (whole(tool)) } } }
                }
            }
        }
    })
}

fn field(name: &str, required: bool, schema: Option<&Value>, meaning: &str) -> Markup {
    html! {
        tr {
            th scope="row" { code { (shortened(name, MAX_NAME)) } @if required { ", required" } }
            td { (schema.map(kind).unwrap_or_default()) }
            td { (shortened(meaning, Room::MAX_TEXT)) }
        }
    }
}

/// Returns the type of a value in few words.
fn kind(schema: &Value) -> String {
    if let Some(values) = schema.get("enum").and_then(Value::as_array) {
        return one_of(values);
    }
    let kind = match schema.get("type") {
        Some(Value::Array(kinds)) => one_of(kinds),
        Some(kind) => short(kind),
        None => String::new(),
    };
    match (schema.get("minimum"), schema.get("maximum")) {
        (Some(low), Some(high)) => format!("{kind}, {} to {}", short(low), short(high)),
        _ => kind,
    }
}

/// Returns the first values, and how many more there are.
fn one_of(values: &[Value]) -> String {
    let mut shown: Vec<_> = values.iter().take(MAX_VALUES).map(short).collect();
    if values.len() > MAX_VALUES {
        shown.push(format!("{} others", values.len() - MAX_VALUES));
    }
    shown.join(" or ")
}

fn short(value: &Value) -> String {
    match value {
        Value::String(text) => shortened(text, MAX_NAME).into_owned(),
        other => written(other, MAX_NAME).unwrap_or_else(|| "…".to_owned()),
    }
}

/// Returns the schema that a reference leads to, or the schema itself.
fn resolved<'a>(catalog: &'a Catalog, schema: &'a Value) -> Option<&'a Value> {
    match schema.get("$ref").and_then(Value::as_str) {
        Some(reference) => catalog.schema(reference.rsplit('/').next()?),
        None => Some(schema),
    }
}

/// Returns a call with curl, with the example of the body or of each parameter.
fn example(entry: &ActionEntry<'_>, method: &str, path: &str, server: &str) -> String {
    let key = "-H 'X-API-Key: …'";
    match entry.json_body() {
        Some(body) => {
            let data = body_example(body);
            let data = data.map_or_else(|| "@body.json".to_owned(), |data| quoted(&data));
            format!("curl -X POST {server}{path} {key} \\\n  -H 'Content-Type: application/json' -d {data}")
        }
        None if method == "POST" => format!("curl -X POST {server}{path} {key}"),
        None => format!("curl {server}{path} {key}{}", query_example(entry)),
    }
}

/// Returns the arguments for the examples of the parameters.
fn query_example(entry: &ActionEntry<'_>) -> String {
    let mut arguments = String::new();
    for parameter in entry.query().take(MAX_ROWS) {
        let example = parameter.get("example").or_else(|| parameter.pointer("/schema/example"));
        let Some(example) = example.and_then(|example| written(example, MAX_EXAMPLE)) else { continue };
        let pair = quoted(&format!("{}={example}", shortened(text(parameter, "name"), MAX_NAME)));
        if arguments.len() + pair.len() > MAX_EXAMPLE {
            break;
        }
        arguments.push_str(if arguments.is_empty() { " -G" } else { "" });
        arguments.push_str(" \\\n  --data-urlencode ");
        arguments.push_str(&pair);
    }
    arguments
}

/// Returns the example of a body as JSON. Returns `None` if it is too long.
fn body_example(body: &Value) -> Option<String> {
    let named = body.get("examples").and_then(Value::as_object).and_then(|examples| examples.values().next());
    let example = body.get("example").or_else(|| named?.get("value"));
    let mut json = BoundedJson::new(Bounds { bytes: MAX_EXAMPLE, ..KEPT });
    match example {
        Some(example) => json.value(example),
        None => json.object(|_| Ok(())),
    }
    .ok()?;
    Some(json.into_text())
}

/// Returns a text as one argument of a shell.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

/// Returns a value as people write it. Returns `None` if it has more bytes than that.
fn written(value: &Value, bytes: usize) -> Option<String> {
    if let Value::String(text) = value {
        return (text.len() <= bytes).then(|| text.clone());
    }
    let mut json = BoundedJson::new(Bounds { bytes, ..KEPT });
    json.value(value).ok()?;
    Some(json.into_text())
}

fn text<'a>(value: &'a Value, member: &str) -> &'a str {
    value.get(member).and_then(Value::as_str).unwrap_or_default()
}

#[cfg(test)]
mod tests;
