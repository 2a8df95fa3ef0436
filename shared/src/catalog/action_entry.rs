//! One operation of a catalog.

use serde_json::{Map, Value};

use crate::route::CallMethod;
use crate::tool::Tool;

/// An action of a tool with one of its methods.
#[derive(Clone, Copy, Debug)]
pub struct ActionEntry<'a> {
    /// The tool.
    pub tool: Tool,
    /// The name of the action.
    pub action: &'a str,
    /// With or without a body.
    pub method: CallMethod,
    /// The operation in the catalog, in which only schemas are references.
    pub operation: &'a Map<String, Value>,
}

impl<'a> ActionEntry<'a> {
    /// Returns the summary; empty if the tool has none.
    pub fn summary(&self) -> &'a str {
        self.text("summary")
    }

    /// Returns the description; empty if the tool has none.
    pub fn description(&self) -> &'a str {
        self.text("description")
    }

    /// Returns the parameters of the query.
    pub fn query(&self) -> impl Iterator<Item = &'a Value> {
        let parameters = self.operation.get("parameters").and_then(Value::as_array).into_iter().flatten();
        parameters.filter(|parameter| parameter.get("in").and_then(Value::as_str) == Some("query"))
    }

    /// Returns the media type object of a JSON body, if the action takes one.
    pub fn json_body(&self) -> Option<&'a Value> {
        self.operation.get("requestBody")?.get("content")?.get("application/json")
    }

    /// Returns the operation with its action, method and path.
    pub(super) fn to_value(self) -> Value {
        let mut members = self.operation.clone();
        let path = format!("/v1/{}/{}", self.tool, self.action);
        let head = [("action", self.action), ("method", self.method.method().as_str()), ("path", &path)];
        members.extend(head.map(|(name, value)| (name.to_owned(), value.into())));
        for name in ["operationId", "tags"] {
            members.remove(name);
        }
        members.into()
    }

    fn text(&self, member: &str) -> &'a str {
        self.operation.get(member).and_then(Value::as_str).unwrap_or_default()
    }
}
