use serde_json::json;
use shared::catalog::ToolDescription;
use shared::problem::codes;

use super::*;

fn page(catalog: &Catalog) -> String {
    tools_page(&tools_template(), Ok(catalog), "https://api.example.com").body
}

fn catalog() -> Catalog {
    Catalog::compose([(Tool::Qr, &described())])
}

fn catalog_of(pdf: &ToolDescription) -> Catalog {
    Catalog::compose([(Tool::Pdf, pdf), (Tool::Qr, &described())])
}

fn described() -> ToolDescription {
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
    ToolDescription::parse(Tool::Qr, "", &text.to_string()).unwrap()
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

/// The most that a tool takes of the page, in bytes.
const MAX_SECTION: usize = 96 * 1024;

fn operations(path: &Value) -> Value {
    (0..64).map(|n| (format!("/a{n:02}"), path.clone())).collect::<serde_json::Map<_, _>>().into()
}

fn of_body(schemas: Value, body: Value) -> Value {
    let item = json!({ "post": { "requestBody": { "$ref": "#/components/requestBodies/A" } } });
    let bodies = json!({ "A": { "content": { "application/json": body } } });
    json!({ "paths": operations(&item), "components": { "schemas": schemas, "requestBodies": bodies } })
}

/// Descriptions that are small and would take much room: a row of the table for each shape.
fn hostile() -> Vec<(&'static str, Value)> {
    fields().into_iter().chain(texts()).collect()
}

fn members(count: usize, of: &Value) -> Value {
    let properties: serde_json::Map<_, _> = (0..count).map(|n| (format!("p{n}"), of.clone())).collect();
    json!({ "type": "object", "properties": properties })
}

/// One schema in each of 64 actions.
fn fields() -> Vec<(&'static str, Value)> {
    let schema = |name: &str| json!({ "$ref": format!("#/components/schemas/{name}") });
    let row = |name, schemas| (name, of_body(schemas, json!({ "schema": schema("A") })));
    let refers = |count, other: Value| json!({ "A": members(count, &schema("B")), "B": other });
    let quotes = "\"".repeat(10_000);
    let required: Vec<_> = (0..2_000).map(|n| format!("p{n}")).collect();
    let many = json!({ "properties": members(1_000, &json!({}))["properties"], "required": required });
    let wide: Vec<_> = (0..6_000).collect();
    vec![
        row("members in each action", json!({ "A": members(2_800, &json!({})) })),
        row("a long text in each member", refers(400, json!({ "description": quotes }))),
        row("a wide enumeration in each member", refers(100, json!({ "enum": wide }))),
        row("a large value in each member", refers(400, json!({ "enum": [members(2_000, &json!({}))] }))),
        row("a long list of types in each member", refers(400, json!({ "type": vec!["\""; 4_000] }))),
        row("required members in each action", json!({ "A": many })),
        row("a long name", json!({ "A": { "properties": { (quotes): {} } } })),
    ]
}

/// Texts and examples.
fn texts() -> Vec<(&'static str, Value)> {
    let of = |method: &str, operation: Value| json!({ "paths": { "/a": { method: operation } } });
    let of_query = |parameters: Vec<Value>| of("get", json!({ "parameters": parameters }));
    let long = "'".repeat(60_000);
    let content = json!({ "application/json": { "example": { "a": long } } });
    let parameter = |n| json!({ "in": "query", "name": format!("p{n}"), "example": "\"" });
    let operation = json!({ "get": { "summary": "<".repeat(100), "description": "\"".repeat(100) } });
    vec![
        ("a long example", of("post", json!({ "requestBody": { "content": content } }))),
        (
            "a long example of a parameter",
            of_query(vec![json!({ "in": "query", "name": "a", "example": long })]),
        ),
        ("many parameters", of_query((0..1_000).map(parameter).collect())),
        (
            "long texts of a tool",
            json!({ "info": { "description": "\"".repeat(10_000) }, "paths": operations(&operation) }),
        ),
    ]
}

#[test]
fn tool_has_its_share_of_the_page_and_the_others_theirs() {
    let usual = page(&catalog()).len();
    for (name, mut document) in hostile() {
        document["openapi"] = "3.1.0".into();
        let pdf = ToolDescription::parse(Tool::Pdf, "", &document.to_string());
        let pdf = pdf.unwrap_or_else(|error| panic!("{name}: {error}"));
        let html = page(&catalog_of(&pdf));
        assert!(html.len() < usual + MAX_SECTION, "{name}: {}", html.len());
        assert!(html.contains("integer, 64 to 4096") && html.contains("/v1/pdf/a"), "{name}");
        assert!(html.contains(r#"<a href="/tools/pdf">"#) || !name.contains("each"), "{name}");
    }
}

#[test]
fn page_of_large_tools_names_every_action() {
    let (_, mut document) = hostile().swap_remove(0);
    document["openapi"] = "3.1.0".into();
    let all = Tool::ALL.map(|tool| (tool, ToolDescription::parse(tool, "", &document.to_string()).unwrap()));
    let html = page(&Catalog::compose(all.iter().map(|(tool, one)| (*tool, one))));
    assert!(html.len() < Tool::ALL.len() * MAX_SECTION + 20_000, "{}", html.len());
    for tool in Tool::ALL {
        assert!(html.contains(&format!("POST /v1/{tool}/a63")), "{tool}");
    }
    assert_eq!(html.matches("<table").count(), html.matches("</table>").count());
}
