//! The OpenAPI description that a simulated tool publishes, as a real one does.

use serde_json::{Map, Value, json};
use shared::tool::Tool;

/// The path of the description.
pub(super) const PATH: &str = "/openapi.json";

/// An action of a tool: its name, its summary, and an example of its body.
type DescribedAction = (&'static str, &'static str, Value);

/// Returns the description of a tool. `qr/generate` is real. Any other action responds with a
/// description of the request.
pub(super) fn description(tool: Tool) -> Value {
    let (paths, schemas) = match tool {
        Tool::Qr => qr(),
        other => simulated(&actions(other)),
    };
    json!({
        "openapi": "3.0.3",
        "info": {
            "title": format!("Demo tool {tool}"),
            "version": "1.0.0",
            "description": match tool {
                Tool::Qr => "QR codes of URLs, as SVG or PNG.".to_owned(),
                other => format!("A demo of {}: it responds with what it received.", other.purpose()),
            },
        },
        "paths": paths,
        "components": { "schemas": schemas },
    })
}

fn qr() -> (Value, Value) {
    let content = json!({
        "image/svg+xml": { "schema": { "type": "string" } },
        "image/png": { "schema": { "type": "string", "format": "binary" } },
    });
    let responses = json!({
        "200": { "description": "The code.", "content": content },
        "422": { "description": "A field is invalid; `errors` names each.",
            "content": { "application/problem+json": { "schema": { "type": "object" } } } },
    });
    let field = |name: &str, required: bool, example: Value| {
        json!({
            "name": name, "in": "query", "required": required, "example": example,
            "schema": { "$ref": format!("#/components/schemas/{name}") },
        })
    };
    let example = json!({ "url": "https://example.com", "size": 256 });
    let paths = json!({ "/generate": {
        "get": {
            "summary": "Makes a QR code",
            "parameters": [
                field("url", true, json!("https://example.com")), field("size", false, json!(256)),
                field("format", false, json!("png")),
            ],
            "responses": responses,
        },
        "post": {
            "summary": "Makes a QR code",
            "requestBody": { "required": true, "content": { "application/json": {
                "schema": { "$ref": "#/components/schemas/Code" }, "example": example,
            } } },
            "responses": responses,
        },
    } });
    let field = |name: &str| json!({ "$ref": format!("#/components/schemas/{name}") });
    let schemas = json!({
        "url": { "type": "string", "maxLength": 2953, "description": "The absolute URL to encode." },
        "size": { "type": "integer", "minimum": 64, "maximum": 4096, "default": 256,
            "description": "The side in pixels." },
        "format": { "type": "string", "enum": ["svg", "png"],
            "description": "The format; what `Accept` prefers if it is absent." },
        "Code": { "type": "object", "required": ["url"],
            "properties": { "url": field("url"), "size": field("size"), "format": field("format") } },
    });
    (paths, schemas)
}

/// Returns the paths and schemas of actions that take a JSON body.
fn simulated(actions: &[DescribedAction]) -> (Value, Value) {
    let (mut paths, mut schemas) = (Map::new(), Map::new());
    for (action, summary, example) in actions {
        let operation = json!({ "post": {
            "summary": summary,
            "requestBody": { "required": true, "content": { "application/json": {
                "schema": { "$ref": format!("#/components/schemas/{action}") }, "example": example,
            } } },
            "responses": { "200": { "description": "What the demo received.",
                "content": { "application/json": { "schema": { "$ref": "#/components/schemas/received" } } } } },
        } });
        paths.insert(format!("/{action}"), operation);
        schemas.insert((*action).to_owned(), schema(example));
    }
    schemas.insert("received".to_owned(), json!({
        "type": "object",
        "properties": { "tool": { "type": "string" }, "action": { "type": "string" }, "body": { "type": "object" } },
    }));
    (paths.into(), schemas.into())
}

/// Returns the schema of which a value is an example. All members of an object are required.
fn schema(example: &Value) -> Value {
    match example {
        Value::Object(members) => {
            let properties: Map<_, _> =
                members.iter().map(|(name, value)| (name.clone(), schema(value))).collect();
            json!({ "type": "object", "required": members.keys().collect::<Vec<_>>(), "properties": properties })
        }
        Value::Array(items) => json!({ "type": "array", "items": items.first().map(schema) }),
        Value::String(_) => json!({ "type": "string" }),
        Value::Number(_) => json!({ "type": "integer" }),
        Value::Bool(_) => json!({ "type": "boolean" }),
        Value::Null => json!({}),
    }
}

fn actions(tool: Tool) -> Vec<DescribedAction> {
    let url = "https://example.com";
    match tool {
        Tool::Biolink => {
            vec![("generate", "Suggests a bio link page", json!({ "profile": "Ada, engineer" }))]
        }
        Tool::Build => {
            vec![("generate", "Builds a website", json!({ "prompt": "A bakery in Bern", "pages": 3 }))]
        }
        Tool::Cover => {
            vec![("generate", "Makes a cover image", json!({ "title": "Lighthouses", "width": 1200 }))]
        }
        Tool::Decks => vec![
            ("generate", "Makes a slide deck", json!({ "topic": "Lighthouses", "slides": 8 })),
            ("export", "Exports a slide deck", json!({ "deck": "deck_1", "format": "pdf" })),
        ],
        Tool::Flip => vec![("convert", "Converts a document", json!({ "url": url, "to": "docx" }))],
        Tool::Flow => vec![("run", "Runs a workflow", json!({ "workflow": "flow_1", "input": {} }))],
        Tool::Idea => vec![("generate", "Suggests ideas", json!({ "topic": "lighthouses", "count": 5 }))],
        Tool::Image => vec![("generate", "Makes an image", json!({ "prompt": "a lighthouse at dawn" }))],
        Tool::Leads => vec![("enrich", "Enriches a lead", json!({ "email": "ada@example.com" }))],
        Tool::Learn => {
            vec![("generate", "Makes a lesson", json!({ "topic": "lighthouses", "level": "beginner" }))]
        }
        Tool::Narrate => {
            vec![("generate", "Narrates a text", json!({ "text": "Once upon a time", "voice": "alto" }))]
        }
        Tool::Pdf => vec![("merge", "Merges PDF files", json!({ "urls": [url] }))],
        Tool::Qr => Vec::new(),
        Tool::Seo => vec![("analyze", "Analyzes a page", json!({ "url": url }))],
        Tool::Speech => vec![("synthesize", "Speaks a text", json!({ "text": "Hello", "voice": "alto" }))],
        Tool::Transcribe => {
            vec![("transcribe", "Transcribes a recording", json!({ "url": url, "language": "en" }))]
        }
        Tool::Yt => vec![("summarize", "Summarizes a video", json!({ "url": url }))],
    }
}

#[cfg(test)]
mod tests {
    use shared::catalog::ToolDescription;

    use super::*;

    #[test]
    fn every_description_is_one_that_the_gateway_takes() {
        for tool in Tool::ALL {
            let described = ToolDescription::parse(tool, "", &description(tool).to_string());
            assert!(described.is_ok_and(|described| described.actions() > 0), "{tool}");
        }
    }
}
