//! The catalog of the tools' actions: one OpenAPI description, composed of those that the tools publish.
//!
//! A proxy reads the description of each tool ([`ToolDescription`]) and serves the composed one. The edge
//! reads that from a proxy, and derives from it what agents and people get.
//!
//! Why: docs/decisions/proxy.md, "A tool's description is read by the proxy and served by the gateway".

mod action_entry;
mod description;
mod error;
mod inline;
mod visible;

use serde_json::{Map, Value, json};

pub use action_entry::ActionEntry;
pub use description::ToolDescription;
pub use error::{DescriptionError, KEPT, MAX_ACTIONS, MAX_DESCRIPTION};
pub use visible::visible;

use description::PROBLEM;

use crate::action::Action;
use crate::headers::API_KEY;
use crate::json;
use crate::problem::MEDIA_TYPE;
use crate::response::Response;
use crate::route::{CallMethod, ToolsEndpoint, ToolsRoute};
use crate::sorted_map::SortedMap;
use crate::tool::Tool;

/// The path of the composed description.
pub const CATALOG_PATH: &str = ToolsEndpoint::OpenApi.path();

/// The longest composed description, in bytes: what is kept of every tool, and as much as of one tool for what is
/// around that.
const MAX_COMPOSED: usize = (Tool::ALL.len() + 1) * KEPT.bytes;

/// The composed description of all tools that publish one: OpenAPI 3.1.
#[derive(Clone, Debug, PartialEq)]
pub struct Catalog(Value);

impl Catalog {
    /// Composes the descriptions of tools.
    pub fn compose<'a>(descriptions: impl IntoIterator<Item = (Tool, &'a ToolDescription)>) -> Self {
        let (mut tags, mut paths, mut schemas) = (Vec::new(), Map::new(), Map::new());
        for (tool, description) in descriptions {
            let mut tag = json!({ "name": tool, "description": tool.purpose() });
            if let (Some(own), Some(members)) = (description.text(), tag.as_object_mut()) {
                members.insert("description".to_owned(), own.into());
            }
            tags.push(tag);
            paths.extend(description.paths.clone());
            schemas.extend(description.schemas.clone());
        }
        // Last, because it is the gateway's own. The schemas of tools have a prefix and cannot have
        // this name.
        schemas.insert("Problem".to_owned(), problem_schema());
        Self(json!({
            "openapi": "3.1.0",
            "info": {
                "title": "Actions of the tools",
                "version": "1.0.0",
                "description": "What the tools say of themselves. /openapi.json describes the gateway.",
            },
            "servers": [{ "url": "/" }],
            "security": [{ "ApiKey": [] }],
            "tags": tags,
            "paths": paths,
            "components": {
                "securitySchemes": { "ApiKey": { "type": "apiKey", "in": "header", "name": API_KEY } },
                "responses": { PROBLEM: {
                    "description": "An error of the gateway's own has X-Gateway-Problem. Any other is the tool's.",
                    "content": { MEDIA_TYPE: { "schema": { "$ref": "#/components/schemas/Problem" } } },
                } },
                "schemas": schemas,
            },
        }))
    }

    /// Reads what a proxy composed. Returns `None` if it is no description, or longer than all tools' together.
    pub fn from_json(text: &str) -> Option<Self> {
        // Before it is parsed: a document of JSON takes many times its size in memory.
        if text.len() > MAX_COMPOSED {
            return None;
        }
        let document: Value = serde_json::from_str(text).ok()?;
        let is_one = document.get("paths").is_some_and(Value::is_object)
            && document.pointer("/components/schemas").is_some_and(Value::is_object);
        is_one.then_some(Self(document))
    }

    /// Returns the response to a read of the catalog. `server` is the server's address.
    pub fn respond(&self, route: ToolsRoute, server: &str) -> Response {
        let body = match route {
            ToolsRoute::List => self.list().to_string(),
            ToolsRoute::Read(tool) => self.read(tool).to_string(),
            ToolsRoute::OpenApi => self.openapi(server),
        };
        Response::feed("application/json", body)
    }

    /// Returns every tool with the names of its actions.
    fn list(&self) -> Value {
        let tools: Vec<_> = Tool::ALL
            .into_iter()
            .map(|tool| {
                let mut actions: Vec<Value> = Vec::new();
                for entry in self.actions(tool) {
                    let method = entry.method.method().as_str();
                    match actions.last_mut().filter(|last| last.get("action") == Some(&entry.action.into())) {
                        Some(last) => {
                            if let Some(Value::Array(methods)) = last.get_mut("methods") {
                                methods.push(method.into());
                            }
                        }
                        None => actions.push(json!({
                            "action": entry.action, "methods": [method], "summary": entry.summary(),
                        })),
                    }
                }
                json!({
                    "tool": tool, "purpose": tool.purpose(), "described": !actions.is_empty(),
                    "url": format!("/tools/{tool}"), "actions": actions,
                })
            })
            .collect();
        json!({ "tools": tools, "openapi": CATALOG_PATH })
    }

    /// Returns a tool with its actions and the schemas that they refer to. A tool that does not
    /// describe itself has no actions here.
    fn read(&self, tool: Tool) -> Value {
        let actions: Vec<_> = self.actions(tool).map(|entry| entry.to_value()).collect();
        json!({
            "tool": tool, "purpose": tool.purpose(), "described": !actions.is_empty(),
            "description": self.about(tool), "actions": actions, "schemas": self.schemas(tool),
        })
    }

    /// Returns the whole description, of which nothing is copied but the text.
    fn openapi(&self, server: &str) -> String {
        let servers = json!([{ "url": server }]);
        let members = self.0.as_object().into_iter().flatten();
        let members = members.filter(|(name, _)| *name != "servers").map(|(name, value)| (&**name, value));
        let document: SortedMap<_, _> = members.chain([("servers", &servers)]).collect();
        json::to_string(&document).unwrap_or_default()
    }

    /// Returns what a tool says of itself, if it says anything.
    pub fn about(&self, tool: Tool) -> Option<&str> {
        let tags = self.0.get("tags")?.as_array()?;
        let tag = tags.iter().find(|tag| tag.get("name").and_then(Value::as_str) == Some(tool.as_str()))?;
        tag.get("description").and_then(Value::as_str)
    }

    /// Returns the actions of a tool in the order of their names, each with `GET` before `POST`.
    pub fn actions(&self, tool: Tool) -> impl Iterator<Item = ActionEntry<'_>> {
        let prefix = format!("/v1/{tool}/");
        let paths = self.0.get("paths").and_then(Value::as_object).into_iter().flatten();
        paths.flat_map(move |(path, item)| {
            let action = path.strip_prefix(&prefix).filter(|action| Action::parse(action).is_some());
            [CallMethod::Get, CallMethod::Post].into_iter().filter_map(move |method| {
                let operation = item.get(description::name(method))?.as_object()?;
                Some(ActionEntry { tool, action: action?, method, operation })
            })
        })
    }

    /// Returns a component of the description.
    pub fn schema(&self, name: &str) -> Option<&Value> {
        self.0.get("components")?.get("schemas")?.get(name)
    }

    /// Returns the schemas that a tool brought.
    fn schemas(&self, tool: Tool) -> Map<String, Value> {
        let all = self.0.pointer("/components/schemas").and_then(Value::as_object).into_iter().flatten();
        let prefix = format!("{tool}.");
        let own = all.filter(|(name, _)| name.starts_with(&prefix));
        own.map(|(name, schema)| (name.clone(), schema.clone())).collect()
    }
}

fn problem_schema() -> Value {
    json!({
        "type": "object",
        "description": "Problem details (RFC 9457). `/problems/{code}` explains each code.",
        "properties": {
            "type": { "type": "string" }, "title": { "type": "string" }, "status": { "type": "integer" },
            "detail": { "type": "string" }, "code": { "type": "string" }, "request_id": { "type": "string" },
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn description(tool: Tool) -> ToolDescription {
        let text = json!({
            "openapi": "3.0.3",
            "info": { "title": "Codes", "version": "2", "description": "Codes of URLs." },
            "paths": {
                "/generate": {
                    "get": { "summary": "Makes a code", "responses": { "200": { "description": "A code" } } },
                    "post": {
                        "summary": "Makes a code",
                        "requestBody": { "content": { "application/json": {
                            "schema": { "$ref": "#/components/schemas/Code" },
                            "example": { "url": "https://example.com" },
                        } } },
                        "responses": { "200": { "description": "A code" } },
                    },
                },
                "/scan": { "post": { "summary": "Reads a code", "responses": {} } },
            },
            "components": { "schemas": { "Code": { "type": "object", "properties": { "url": { "type": "string" } } } } },
        });
        ToolDescription::parse(tool, "", &text.to_string()).unwrap()
    }

    fn catalog() -> Catalog {
        let (qr, pdf) = (description(Tool::Qr), description(Tool::Pdf));
        Catalog::compose([(Tool::Pdf, &pdf), (Tool::Qr, &qr)])
    }

    fn body(route: ToolsRoute) -> Value {
        let response = catalog().respond(route, "https://api.example.com");
        assert!(response.header("etag").is_some());
        serde_json::from_str(&response.body).unwrap()
    }

    #[test]
    fn list_has_every_tool_with_the_actions_that_it_described() {
        let list = body(ToolsRoute::List);
        let tools = list["tools"].as_array().unwrap();
        assert_eq!(tools.len(), Tool::ALL.len());
        let qr = &tools[Tool::Qr.index()];
        assert_eq!(
            qr["actions"],
            json!([
                { "action": "generate", "methods": ["GET", "POST"], "summary": "Makes a code" },
                { "action": "scan", "methods": ["POST"], "summary": "Reads a code" },
            ])
        );
        let idea = &tools[Tool::Idea.index()];
        assert_eq!((&idea["described"], &idea["actions"]), (&json!(false), &json!([])));
    }

    #[test]
    fn tool_has_its_operations_and_its_schemas() {
        let qr = body(ToolsRoute::Read(Tool::Qr));
        assert_eq!(qr["description"], "Codes of URLs.");
        let post = &qr["actions"][1];
        assert_eq!((&post["method"], &post["path"]), (&json!("POST"), &json!("/v1/qr/generate")));
        let content = &post["requestBody"]["content"]["application/json"];
        assert_eq!(content["schema"], json!({ "$ref": "#/components/schemas/qr.Code" }));
        assert_eq!(content["example"], json!({ "url": "https://example.com" }));
        assert_eq!(qr["schemas"].as_object().unwrap().keys().collect::<Vec<_>>(), ["qr.Code"]);
        assert_eq!(body(ToolsRoute::Read(Tool::Idea))["described"], false);
    }

    #[test]
    fn composed_description_has_a_path_for_each_action_and_the_server() {
        let document = body(ToolsRoute::OpenApi);
        assert_eq!(document["servers"][0]["url"], "https://api.example.com");
        let paths: Vec<_> = document["paths"].as_object().unwrap().keys().collect();
        assert_eq!(paths, ["/v1/pdf/generate", "/v1/pdf/scan", "/v1/qr/generate", "/v1/qr/scan"]);
        assert_eq!(document["paths"]["/v1/qr/generate"]["post"]["operationId"], "qr_generate_post");
        let names: Vec<_> = document["components"]["schemas"].as_object().unwrap().keys().collect();
        assert_eq!(names, ["Problem", "pdf.Code", "qr.Code"]);
    }

    #[test]
    fn composed_description_is_read_again() {
        let catalog = catalog();
        assert_eq!(Catalog::from_json(&catalog.0.to_string()), Some(catalog));
        for text in ["", "[]", "{}", r#"{"paths":{}}"#] {
            assert_eq!(Catalog::from_json(text), None, "{text}");
        }
        let long = format!(
            "{}{}",
            json!({ "paths": {}, "components": { "schemas": {} } }),
            " ".repeat(MAX_COMPOSED)
        );
        assert_eq!(Catalog::from_json(&long), None);
    }

    #[test]
    fn largest_descriptions_of_all_tools_are_read_again() {
        let text =
            json!({ "openapi": "3.1.0", "paths": { "/a": { "get": { "summary": "x".repeat(65_000) } } } });
        let all = Tool::ALL.map(|tool| (tool, ToolDescription::parse(tool, "", &text.to_string()).unwrap()));
        let catalog = Catalog::compose(all.iter().map(|(tool, one)| (*tool, one)));
        let composed = catalog.respond(ToolsRoute::OpenApi, "https://api.example.com").body;
        assert!(composed.len() > 65_000 * Tool::ALL.len());
        assert!(Catalog::from_json(&composed).is_some());
    }
}
