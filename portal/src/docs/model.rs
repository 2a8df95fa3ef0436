//! The reference as a model: what both OpenAPI documents say of each operation, resolved and in the
//! order of the routes. Pages are rendered from it, so nothing in them is written twice.

mod schema;

use std::collections::BTreeSet;

use biolink::codes;
use serde_json::Value;
use shared::problem::{Code, MEDIA_TYPE};

use crate::endpoint::Endpoint;
use crate::openapi::{self, SERVER};

pub(super) use schema::{Field, Object, kind_of};

/// An OpenAPI document, and where it is served.
pub(super) struct Description {
    /// The path of the document.
    pub(super) path: &'static str,
    document: Value,
}

/// An operation of a document.
pub(super) struct Operation<'a> {
    pub(super) id: &'a str,
    pub(super) method: &'static str,
    pub(super) path: String,
    pub(super) summary: &'a str,
    pub(super) about: &'a str,
    /// The tag that it is listed under.
    pub(super) tag: &'a str,
    pub(super) authentication: Authentication,
    pub(super) parameters: Vec<Parameter<'a>>,
    pub(super) body: Option<Body<'a>>,
    /// The responses that are not problems, by rising status.
    pub(super) replies: Vec<Reply<'a>>,
    /// The problems, by rising status.
    pub(super) codes: Vec<Code>,
}

/// The way in which a client authenticates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Authentication {
    None,
    ApiKey,
    AdminSecret,
}

/// A parameter in the path, the query or a header.
pub(super) struct Parameter<'a> {
    pub(super) name: &'a str,
    pub(super) place: &'a str,
    pub(super) required: bool,
    pub(super) kind: String,
    pub(super) about: &'a str,
    /// Whether it stands for several parameters, each with its own name.
    pub(super) is_object: bool,
    /// The text that the example has in its place.
    pub(super) example: Option<String>,
}

/// The body of a request: JSON, or a file.
pub(super) struct Body<'a> {
    pub(super) required: bool,
    /// The component that describes it; `None` if the tool defines its members.
    pub(super) schema: Option<&'a str>,
    /// What the examples send.
    pub(super) payload: Option<Payload<'a>>,
}

/// The body of a request as the examples send it.
#[derive(Clone, Copy, Debug)]
pub(super) enum Payload<'a> {
    Json(&'a Value),
    /// A file.
    File,
}

/// A response that is not a problem.
pub(super) struct Reply<'a> {
    pub(super) status: &'a str,
    pub(super) about: &'a str,
    pub(super) headers: Vec<&'a str>,
    pub(super) contents: Vec<Content<'a>>,
}

/// The body of a response in one media type.
pub(super) struct Content<'a> {
    pub(super) media_type: &'a str,
    pub(super) schema: Option<&'a str>,
    pub(super) example: Option<&'a Value>,
}

impl Description {
    /// Returns the description of the gateway.
    pub(super) fn gateway() -> Self {
        Self { path: "/openapi.json", document: openapi::document(SERVER) }
    }

    /// Returns the description of bio-link pages.
    pub(super) fn biolink() -> Self {
        Self { path: "/biolink/openapi.json", document: openapi::biolink::document(SERVER) }
    }

    /// Returns every operation, in the order of [`Endpoint::all`].
    pub(super) fn operations(&self) -> Vec<Operation<'_>> {
        Endpoint::all().filter_map(|endpoint| self.operation(endpoint)).collect()
    }

    /// Returns what the document says of a tag.
    pub(super) fn about_tag(&self, name: &str) -> &str {
        let tags = self.document.get("tags").and_then(Value::as_array).into_iter().flatten();
        tags.filter(|tag| text(tag, "name") == name).map(|tag| text(tag, "description")).next().unwrap_or("")
    }

    /// Returns a schema component.
    pub(super) fn object<'a>(&'a self, name: &'a str) -> Option<Object<'a>> {
        self.component("schemas", name).map(|schema| Object::read(name, schema))
    }

    /// Returns what the document says of a header of responses.
    pub(super) fn headers(&self) -> Vec<(&str, &str)> {
        let all = self.document.pointer("/components/headers").and_then(Value::as_object);
        all.into_iter().flatten().map(|(name, header)| (name.as_str(), text(header, "description"))).collect()
    }

    fn component(&self, kind: &str, name: &str) -> Option<&Value> {
        self.document.get("components")?.get(kind)?.get(name)
    }

    /// Returns what a reference leads to; the value itself if it is no reference.
    fn resolve<'a>(&'a self, value: &'a Value) -> &'a Value {
        let target = value.get("$ref").and_then(Value::as_str).and_then(|target| target.strip_prefix('#'));
        target.and_then(|pointer| self.document.pointer(pointer)).unwrap_or(value)
    }

    fn operation(&self, endpoint: Endpoint) -> Option<Operation<'_>> {
        let (path, method) = (endpoint.path(), endpoint.method().as_str());
        let operation = self.document.get("paths")?.get(&path)?.get(method.to_lowercase())?;
        let parameters = operation.get("parameters").and_then(Value::as_array);
        let responses = operation.get("responses").and_then(Value::as_object)?;
        let responses =
            || responses.iter().map(|(status, response)| (status.as_str(), self.resolve(response)));
        let codes: BTreeSet<usize> = responses().flat_map(|(_, response)| codes_of(response)).collect();
        Some(Operation {
            id: text(operation, "operationId"),
            method,
            path,
            summary: text(operation, "summary"),
            about: text(operation, "description"),
            tag: operation.pointer("/tags/0").and_then(Value::as_str).unwrap_or(""),
            authentication: authentication(operation),
            parameters: parameters.into_iter().flatten().map(|one| parameter(self.resolve(one))).collect(),
            body: operation.get("requestBody").map(body),
            replies: responses()
                .filter(|(status, _)| status.starts_with(['2', '3']))
                .map(|(status, response)| self.reply(status, response))
                .collect(),
            codes: codes.into_iter().filter_map(|at| codes::all().nth(at)).collect(),
        })
    }

    fn reply<'a>(&'a self, status: &'a str, response: &'a Value) -> Reply<'a> {
        let headers = response.get("headers").and_then(Value::as_object);
        let contents = response.get("content").and_then(Value::as_object);
        Reply {
            status,
            about: text(response, "description"),
            headers: headers.into_iter().flatten().map(|(name, _)| name.as_str()).collect(),
            contents: contents
                .into_iter()
                .flatten()
                .filter(|(media_type, _)| media_type.as_str() != "*/*")
                .map(|(media_type, content)| self.content(media_type, content))
                .collect(),
        }
    }

    fn content<'a>(&'a self, media_type: &'a str, content: &'a Value) -> Content<'a> {
        let examples = content.get("examples").and_then(Value::as_object);
        let first = examples.and_then(|examples| examples.values().next());
        let example = first.and_then(|example| self.resolve(example).get("value"));
        Content {
            media_type,
            schema: content.get("x-itemSchema").or_else(|| content.get("schema")).and_then(reference),
            example: content.get("example").or(example),
        }
    }
}

/// Returns the codes of a response as indices into [`codes::all`], which is sorted by status.
fn codes_of(response: &Value) -> impl Iterator<Item = usize> {
    let problem = response.get("content").and_then(|content| content.get(MEDIA_TYPE));
    let examples = problem.and_then(|problem| problem.get("examples")).and_then(Value::as_object);
    let codes = examples.into_iter().flatten().filter_map(|(code, _)| codes::parse(code));
    codes.filter_map(|code| codes::all().position(|other| other == code))
}

fn authentication(operation: &Value) -> Authentication {
    let scheme = |name: &str| {
        let schemes = operation.get("security").and_then(Value::as_array).into_iter().flatten();
        schemes.into_iter().any(|scheme| scheme.get(name).is_some())
    };
    if scheme("AdminSecret") {
        Authentication::AdminSecret
    } else if scheme("ApiKey") {
        Authentication::ApiKey
    } else {
        Authentication::None
    }
}

fn parameter(parameter: &Value) -> Parameter<'_> {
    Parameter {
        name: text(parameter, "name"),
        place: text(parameter, "in"),
        required: parameter.get("required").and_then(Value::as_bool).unwrap_or(false),
        kind: parameter.get("schema").map(kind_of).unwrap_or_default(),
        about: text(parameter, "description"),
        is_object: parameter.pointer("/schema/type").and_then(Value::as_str) == Some("object"),
        example: parameter.get("example").map(plain).filter(|example| !example.is_empty()),
    }
}

fn body(body: &Value) -> Body<'_> {
    let content_of = |media_type| body.get("content").and_then(|content| content.get(media_type));
    let content = content_of("application/json");
    let example = content.and_then(|content| content.get("example")).map(Payload::Json);
    let is_file = content.is_none() && content_of("application/octet-stream").is_some();
    Body {
        required: body.get("required").and_then(Value::as_bool).unwrap_or(false),
        schema: content.and_then(|content| content.get("schema")).and_then(reference),
        payload: example.or_else(|| is_file.then_some(Payload::File)),
    }
}

/// Returns the name of the component that a schema refers to.
fn reference(schema: &Value) -> Option<&str> {
    schema.get("$ref").and_then(Value::as_str).and_then(|target| target.rsplit('/').next())
}

/// Returns a value as it stands in a path or a query: a list with commas, an object as
/// several parameters.
fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(items) => items.iter().map(plain).collect::<Vec<_>>().join(","),
        Value::Object(members) => {
            let pairs = members.iter().map(|(name, value)| format!("{name}={}", plain(value)));
            pairs.collect::<Vec<_>>().join("&")
        }
        other => other.to_string(),
    }
}

fn text<'a>(value: &'a Value, name: &str) -> &'a str {
    value.get(name).and_then(Value::as_str).unwrap_or("")
}
