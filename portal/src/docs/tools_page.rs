//! The actions of the tools, for people.

use maud::{Markup, PreEscaped, html};
use serde_json::{Map, Value};
use shared::catalog::{ActionEntry, Catalog};
use shared::problem::Problem;
use shared::response::Response;
use shared::tool::Tool;

use super::layout::{Page, Section, respond};

/// Stands for the tools in the page as it is rendered at build time.
const PLACE: &str = "<!--tools-->";
/// One sentence about the page.
const ABOUT: &str = "What each tool can do: its actions with their parameters, bodies and examples";

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
    let page = Page::new("Actions of the tools: Unified Tool Gateway", ABOUT, &content);
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
    let mut actions = catalog.actions(tool).peekable();
    html! {
        section {
            h2 id=(tool) { a href=(format!("#{tool}")) { (tool) } }
            p { (catalog.about(tool).unwrap_or_else(|| tool.purpose())) }
            @if actions.peek().is_none() {
                p.soft { "This tool does not describe its actions. Call them at " code { "/v1/" (tool) "/{action}" } "." }
            }
            @for entry in actions { (action(&entry, catalog, server)) }
        }
    }
}

fn action(entry: &ActionEntry<'_>, catalog: &Catalog, server: &str) -> Markup {
    let method = entry.method.method().as_str();
    let path = format!("/v1/{}/{}", entry.tool, entry.action);
    let query: Vec<_> = entry.query().collect();
    let body = entry.json_body();
    let fields = body.and_then(|body| resolved(catalog, body.get("schema")?));
    let required = fields.and_then(|schema| schema.get("required")).and_then(Value::as_array);
    let is_required = |name: &str| required.is_some_and(|names| names.iter().any(|other| other == name));
    html! {
        h3 { code { (method) " " (path) } }
        p { (entry.summary()) @if !entry.description().is_empty() { ": " (entry.description()) } }
        @if !query.is_empty() {
            table {
                caption { "Parameters of the query" }
                (columns())
                tbody {
                    @for parameter in &query {
                        @let required = parameter.get("required") == Some(&Value::Bool(true));
                        (field(text(parameter, "name"), required, resolved(catalog, parameter.get("schema").unwrap_or(&Value::Null)), text(parameter, "description")))
                    }
                }
            }
        }
        @if let Some(properties) = fields.and_then(|schema| schema.get("properties")).and_then(Value::as_object) {
            table {
                caption { "Members of the body" }
                (columns())
                tbody {
                    @for (name, schema) in properties {
                        @let resolved = resolved(catalog, schema);
                        (field(name, is_required(name), resolved, resolved.map_or("", |schema| text(schema, "description"))))
                    }
                }
            }
        }
        // Without colors: this is rendered by the worker, which would be larger with them.
        pre { code { (example(entry, method, &path, server)) } }
    }
}

fn columns() -> Markup {
    html! { thead { tr { th scope="col" { "Name" } th scope="col" { "Type" } th scope="col" { "Meaning" } } } }
}

fn field(name: &str, required: bool, schema: Option<&Value>, meaning: &str) -> Markup {
    html! {
        tr {
            th scope="row" { code { (name) } @if required { ", required" } }
            td { (schema.map(kind).unwrap_or_default()) }
            td { (meaning) }
        }
    }
}

/// Returns the type of a value in few words.
fn kind(schema: &Value) -> String {
    if let Some(values) = schema.get("enum").and_then(Value::as_array) {
        return values.iter().map(plain).collect::<Vec<_>>().join(" or ");
    }
    let kind = match schema.get("type") {
        Some(Value::Array(kinds)) => kinds.iter().map(plain).collect::<Vec<_>>().join(" or "),
        Some(kind) => plain(kind),
        None => String::new(),
    };
    match (schema.get("minimum"), schema.get("maximum")) {
        (Some(low), Some(high)) => format!("{kind}, {low} to {high}"),
        _ => kind,
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
    let pairs: Vec<_> = entry
        .query()
        .filter_map(|parameter| {
            let example = parameter.get("example").or_else(|| parameter.pointer("/schema/example"))?;
            Some(format!(
                " \\\n  --data-urlencode {}",
                quoted(&format!("{}={}", text(parameter, "name"), plain(example)))
            ))
        })
        .collect();
    let key = "-H 'X-API-Key: …'";
    let Some(body) = entry.json_body() else {
        let get = if pairs.is_empty() || method == "POST" {
            String::new()
        } else {
            format!(" -G{}", pairs.concat())
        };
        let post = if method == "POST" { " -X POST" } else { "" };
        return format!("curl{post} {server}{path} {key}{get}");
    };
    let first =
        |examples: &Map<String, Value>| examples.values().next().and_then(|one| one.get("value")).cloned();
    let example = body.get("example").cloned();
    let example = example.or_else(|| body.get("examples").and_then(Value::as_object).and_then(first));
    let data = quoted(&example.unwrap_or_else(|| Value::Object(Map::new())).to_string());
    format!("curl -X POST {server}{path} {key} \\\n  -H 'Content-Type: application/json' -d {data}")
}

/// Returns a text as one argument of a shell.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

fn text<'a>(value: &'a Value, member: &str) -> &'a str {
    value.get(member).and_then(Value::as_str).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use shared::catalog::ToolDescription;
    use shared::problem::codes;

    use super::*;

    fn page(catalog: &Catalog) -> String {
        tools_page(&tools_template(), Ok(catalog), "https://api.example.com").body
    }

    fn catalog() -> Catalog {
        let text = json!({
            "openapi": "3.1.0",
            "info": { "description": "Codes <b>of</b> URLs." },
            "paths": { "/generate": {
                "get": { "summary": "Makes a code", "parameters": [
                    { "name": "url", "in": "query", "required": true, "description": "What it says", "example": "it's",
                        "schema": { "type": "string" } },
                ] },
                "post": { "summary": "Makes a code", "requestBody": { "content": { "application/json": {
                    "schema": { "$ref": "#/components/schemas/Code" }, "example": { "size": 256 },
                } } } },
            } },
            "components": { "schemas": { "Code": { "type": "object", "required": ["size"], "properties": {
                "size": { "type": "integer", "minimum": 64, "maximum": 4096, "description": "Pixels" },
            } } } },
        });
        let qr = ToolDescription::parse(Tool::Qr, "", &text.to_string()).unwrap();
        Catalog::compose([(Tool::Qr, &qr)])
    }

    #[test]
    fn page_has_a_section_for_each_tool_with_its_actions() {
        let html = page(&catalog());
        for tool in Tool::ALL {
            assert!(html.contains(&format!("id=\"{tool}\"")), "{tool}");
        }
        assert_eq!(html.matches("does not describe its actions").count(), Tool::ALL.len() - 1);
        for part in [
            "Codes &lt;b&gt;of&lt;/b&gt; URLs.",
            "GET /v1/qr/generate",
            "<code>url</code>, required",
            "integer, 64 to 4096",
            "curl -X POST https://api.example.com/v1/qr/generate",
            r"--data-urlencode 'url=it'\''s'",
        ] {
            assert!(html.contains(part), "{part}: {html}");
        }
    }

    #[test]
    fn page_without_an_origin_is_503_for_people() {
        let problem = Problem::new(codes::TOOL_UNAVAILABLE, "none");
        let page = tools_page(&tools_template(), Err(&problem), "https://api.example.com");
        assert_eq!((page.status, page.header("content-type")), (503, Some("text/html; charset=utf-8")));
        assert!(page.body.contains("is not known at the moment") && page.header("etag").is_none());
    }

    #[test]
    fn page_without_descriptions_says_how_to_call() {
        let html = page(&Catalog::compose([]));
        assert!(html.contains("/v1/qr/{action}"), "{html}");
    }
}
