//! A call of a tool as a request of the API.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::{Map, Value};
use shared::headers::Header;
use thiserror::Error;

use super::toolset::{Toolset, Toolsets};
use crate::endpoint::Endpoint;
use crate::route::Route;

/// The characters that are encoded in a query: all but unreserved characters (RFC 3986, section 2.3).
const RESERVED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// A request of the API that a call of a tool stands for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolRequest {
    /// The method.
    pub method: String,
    /// Path and query.
    pub target: String,
    /// The headers that the arguments set.
    pub headers: Vec<Header>,
    /// The JSON body.
    pub body: Option<String>,
}

/// A refusal of the arguments of a call, in a message for the client.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ArgumentError {
    /// An argument in the path is missing or malformed.
    #[error("`{0}` is required: letters, digits and -._~")]
    NotSegment(String),
    /// An argument that the tool needs is missing.
    #[error("`{0}` is required; the tool's inputSchema has what it takes")]
    Missing(String),
    /// An argument cannot be the value of a header.
    #[error("`{0}` is the value of a header: visible ASCII and spaces")]
    NotHeader(String),
    /// The query of a tool of the gateway has another type.
    #[error("`query` must be an object of strings, numbers, booleans, and lists of them")]
    NotQuery,
    /// The tool has no such argument.
    #[error("unknown argument `{0}`; the tool's inputSchema has all")]
    Unknown(String),
    /// The arguments make a request of another operation than the tool's.
    #[error("these arguments are of another operation; the tool's inputSchema has the values")]
    OtherOperation,
}

/// The header arguments that tools have.
pub(super) const HEADERS: [(&str, &str); 2] =
    [("if_match", "if-match"), ("idempotency_key", "idempotency-key")];

impl ToolRequest {
    /// Returns the request for a call. `requests` is the text of [`requests`](super::requests).
    /// Returns `None` if `toolsets` have no tool of this name.
    ///
    /// # Errors
    /// Returns an error if an argument is missing, unknown or malformed, or if the arguments make a request of another operation than the tool's.
    pub fn new(
        requests: &str,
        toolsets: &Toolsets,
        name: &str,
        arguments: &Value,
    ) -> Option<Result<Self, ArgumentError>> {
        let table: Value = serde_json::from_str(requests).ok()?;
        let row = table.get(name)?;
        let toolset =
            row.get("toolset").and_then(Value::as_str).and_then(|name| name.parse::<Toolset>().ok())?;
        let empty = Map::new();
        let arguments = arguments.as_object().unwrap_or(&empty);
        // Toolsets are no list alone: a name that is guessed is refused too.
        toolsets.allow(toolset).then(|| Self::of(row, arguments)?.held_to(row))
    }

    /// Returns the request of a row, before it is held to the operation.
    pub(super) fn of(row: &Value, arguments: &Map<String, Value>) -> Result<Self, ArgumentError> {
        let names = |member: &str| {
            let list = row.get(member).and_then(Value::as_array).into_iter().flatten();
            list.filter_map(Value::as_str).collect::<Vec<_>>()
        };
        let (in_path, in_query, in_headers) = (names("path_parameters"), names("query"), names("headers"));
        let takes_body = row.get("body").is_some();
        let mut path = text(row, "path").to_owned();
        for name in &in_path {
            let value = arguments.get(*name).filter(|value| value.is_string() || value.is_u64()).map(plain);
            // A slash or two dots in an argument would make the path that of another route.
            let value = value.filter(|value| is_segment(value));
            let value = value.ok_or_else(|| ArgumentError::NotSegment((*name).to_owned()))?;
            path = path.replace(&format!("{{{name}}}"), &value);
        }
        let body = arguments.get("body").filter(|body| takes_body && !body.is_null());
        let mut query: Vec<(String, String)> = Vec::new();
        let mut headers: Vec<Header> = Vec::new();
        for (name, value) in arguments.iter().filter(|(name, _)| !in_path.contains(&name.as_str())) {
            let header =
                HEADERS.iter().find(|(argument, _)| argument == name && in_headers.contains(argument));
            match (name.as_str(), header) {
                ("body", _) if takes_body => {}
                ("query", _) if in_query.contains(&"*") => query.extend(free_query(value)?),
                (argument, Some((_, header))) => {
                    let text = plain(value);
                    // A line break would end the header and begin another one (RFC 9110, section
                    // 5.5).
                    if !text.bytes().all(|byte| byte == b' ' || byte.is_ascii_graphic()) {
                        return Err(ArgumentError::NotHeader(argument.to_owned()));
                    }
                    headers.push(((*header).into(), text.into()));
                }
                (argument, None) if in_query.contains(&argument) => query.extend(parameters(argument, value)),
                // A misspelled filter would be dropped, and the call would return or change more
                // than was meant.
                _ => return Err(ArgumentError::Unknown(name.clone())),
            }
        }
        // After what is unknown: a member that stands beside the body, and not in it, is the likelier fault.
        let is_given = |name: &&str| arguments.get(*name).is_some_and(|value| !value.is_null());
        if let Some(missing) = names("required").into_iter().find(|name| !is_given(name)) {
            return Err(ArgumentError::Missing(missing.to_owned()));
        }
        let target = if query.is_empty() { path } else { format!("{path}?{}", encoded(&query)) };
        let method = match text(row, "method") {
            // A call of a tool of the gateway: the body decides.
            "*" if body.is_some() => "POST",
            "*" => "GET",
            method => method,
        };
        Ok(Self { method: method.to_owned(), target, headers, body: body.map(Value::to_string) })
    }

    /// Returns the request if it is one of the tool's operation. An argument in the path may name
    /// another one: `keys` and `issue` in place of a tool and its action. What has no route passes,
    /// because the API refuses it.
    fn held_to(self, row: &Value) -> Result<Self, ArgumentError> {
        // A value such as `me` in place of an id is another operation, with other rights and hints.
        let is_held = match Route::read(&self.method, &self.target) {
            Ok((Route::CallTool(_), _)) => text(row, "method") == "*",
            Ok((route, _)) => Endpoint::of(&route).path() == text(row, "path"),
            // The router refuses it with a problem that says more.
            Err(_) => true,
        };
        if is_held { Ok(self) } else { Err(ArgumentError::OtherOperation) }
    }
}

fn text<'a>(row: &'a Value, member: &str) -> &'a str {
    row.get(member).and_then(Value::as_str).unwrap_or_default()
}

/// Returns the members of a query that a tool of the gateway takes.
fn free_query(value: &Value) -> Result<Vec<(String, String)>, ArgumentError> {
    let is_value = |value: &Value| match value {
        Value::Array(items) => items.iter().all(is_scalar),
        single => is_scalar(single),
    };
    let members = value.as_object().filter(|members| members.values().all(is_value));
    let members = members.ok_or(ArgumentError::NotQuery)?;
    Ok(members.iter().flat_map(|(name, value)| parameters(name, value)).collect())
}

const fn is_scalar(value: &Value) -> bool {
    matches!(value, Value::String(_) | Value::Number(_) | Value::Bool(_))
}

/// Returns true for what can be a segment of a path.
fn is_segment(text: &str) -> bool {
    !matches!(text, "" | "." | "..")
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'.' | b'_' | b'~'))
}

/// Returns the parameters of a query for an argument: one for each item of a list.
fn parameters(name: &str, value: &Value) -> Vec<(String, String)> {
    match value {
        Value::Array(items) => items.iter().map(|item| (name.to_owned(), plain(item))).collect(),
        single => vec![(name.to_owned(), plain(single))],
    }
}

fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

fn encoded(query: &[(String, String)]) -> String {
    let part = |text: &str| utf8_percent_encode(text, RESERVED).to_string();
    query.iter().map(|(name, value)| format!("{}={}", part(name), part(value))).collect::<Vec<_>>().join("&")
}

#[cfg(test)]
mod tests {
    use std::sync::LazyLock;

    use serde_json::json;
    use shared::tool::Tool;

    use super::*;
    use crate::mcp::requests;

    const PAGE: &str = "pg_0123456789abcdefg";
    // It is made of both descriptions, which takes a tenth of a second.
    static REQUESTS: LazyLock<String> = LazyLock::new(requests);

    fn request_at(
        query: Option<&str>,
        name: &str,
        arguments: &Value,
    ) -> Option<Result<ToolRequest, ArgumentError>> {
        ToolRequest::new(&REQUESTS, &Toolsets::parse(query).unwrap(), name, arguments)
    }

    fn request(name: &str, arguments: &Value) -> Result<ToolRequest, ArgumentError> {
        request_at(None, name, arguments).unwrap()
    }

    #[test]
    fn call_of_a_gateway_tool_is_a_get_or_with_a_body_a_post() {
        let get = request(
            "call_tool",
            &json!({"tool": "qr", "action": "generate", "query": {"url": "https://a.test/?b=c d"}}),
        );
        assert_eq!(get.unwrap().target, "/v1/qr/generate?url=https%3A%2F%2Fa.test%2F%3Fb%3Dc%20d");
        let post =
            request("call_tool", &json!({"tool": "qr", "action": "generate", "body": {"url": "x"}})).unwrap();
        assert_eq!((post.method.as_str(), post.body.as_deref()), ("POST", Some(r#"{"url":"x"}"#)));
    }

    #[test]
    fn call_tool_reaches_tools_and_nothing_else() {
        for tool in Tool::ALL {
            assert!(request("call_tool", &json!({"tool": tool, "action": "generate"})).is_ok(), "{tool}");
        }
        for arguments in [
            json!({"tool": "keys", "action": "issue", "body": {"tier": "free"}}),
            json!({"tool": "keys", "action": "me"}),
            json!({"tool": "keys", "action": "kid_0123456789abcdef"}),
            json!({"tool": "qr", "action": ".."}),
            json!({"tool": "..", "action": "pages"}),
            json!({"tool": "qr", "action": "generate", "query": {"url": [["a"]]}}),
            json!({"tool": "qr", "action": "generate", "query": {"url": null}}),
            json!({"tool": "qr", "action": "generate", "query": null}),
            json!({"tool": "qr", "action": "generate", "if_match": "x"}),
            json!({"tool": "qr", "action": true}),
            json!({"tool": "qr"}),
        ] {
            let reaches = request("call_tool", &arguments)
                .is_ok_and(|request| Route::read(&request.method, &request.target).is_ok());
            assert!(!reaches, "{arguments}");
        }
    }

    /// Each tool, with `.`, `..` and every fixed word of a path in the place of its arguments.
    #[test]
    fn path_argument_does_not_reach_another_operation() {
        let table: Value = serde_json::from_str(&REQUESTS).unwrap();
        let words: std::collections::BTreeSet<String> = Endpoint::all()
            .flat_map(|endpoint| endpoint.path().split('/').map(str::to_owned).collect::<Vec<_>>())
            .filter(|word| !word.contains('{'))
            .chain([".".to_owned(), "..".to_owned(), PAGE.to_owned(), "1".to_owned()])
            .collect();
        for (name, row) in table.as_object().unwrap() {
            let in_path = row["path_parameters"].as_array().unwrap();
            let arguments = |word: &str| -> Map<String, Value> {
                in_path.iter().map(|name| (name.as_str().unwrap().to_owned(), json!(word))).collect()
            };
            for word in &words {
                let made = ToolRequest::of(row, &arguments(word)).and_then(|made| made.held_to(row));
                let Ok(made) = made else { continue };
                if let Ok((route, _)) = Route::read(&made.method, &made.target) {
                    let path = Endpoint::of(&route).path();
                    assert!(
                        path == row["path"] || name == "call_tool" && path.ends_with("/{action}"),
                        "{name} {word}"
                    );
                }
            }
        }
    }

    #[test]
    fn arguments_go_to_path_query_and_headers() {
        let arguments =
            json!({"page_id": PAGE, "dry_run": true, "if_match": "\"v1\"", "body": {"title": "A"}});
        let change = request("patch_page", &arguments).unwrap();
        assert_eq!(
            (change.method.as_str(), change.target.as_str()),
            ("PATCH", "/pages/pg_0123456789abcdefg?dry_run=true")
        );
        assert_eq!(change.headers, [("if-match".into(), "\"v1\"".into())]);
        let report = request("read_analytics", &json!({"metrics": ["views", "clicks"]})).unwrap();
        assert_eq!(report.target, "/analytics?metrics=views&metrics=clicks");
        let text = request("read_analytics", &json!({"metrics": "views,clicks"})).unwrap();
        assert_eq!(text.target, "/analytics?metrics=views%2Cclicks");
        let tool =
            request("call_tool", &json!({"tool": "pdf", "action": "merge", "query": {"page": [1, "2"]}}));
        assert_eq!(tool.unwrap().target, "/v1/pdf/merge?page=1&page=2");
        let revision = request("read_revision", &json!({"page_id": PAGE, "revision": 3})).unwrap();
        assert_eq!(revision.target, "/pages/pg_0123456789abcdefg/revisions/3");
    }

    #[test]
    fn wrong_argument_is_refused_and_cannot_leave_the_path() {
        for arguments in [
            json!({}),
            json!({"page_id": "a/../b"}),
            json!({"page_id": ".."}),
            json!({"page_id": null}),
            json!({"page_id": [PAGE]}),
            json!({"page_id": PAGE, "pagee": 1}),
            json!({"page_id": PAGE, "body": {}}),
            json!({"page_id": PAGE, "if_match": "\"v1\""}),
        ] {
            assert!(request("read_page", &arguments).is_err(), "{arguments}");
        }
        for arguments in [json!({"page_id": PAGE}), json!({"page_id": PAGE, "body": null})] {
            for name in ["patch_page", "replace_page", "add_link", "create_product_source", "order_links"] {
                let missing = ArgumentError::Missing("body".to_owned());
                assert_eq!(request(name, &arguments), Err(missing), "{name} {arguments}");
            }
        }
        for value in ["\"v1\"\r\ncf-connecting-ip: 192.0.2.1", "é", "a\tb"] {
            let arguments = json!({"page_id": PAGE, "if_match": value, "body": {}});
            assert!(request("patch_page", &arguments).is_err(), "{arguments}");
        }
    }

    #[test]
    fn tool_of_another_toolset_is_unknown() {
        assert!(request_at(None, "nothing", &json!({})).is_none());
        assert!(request_at(None, "list_webhooks", &json!({})).is_some());
        assert!(request_at(Some("toolsets=pages"), "list_webhooks", &json!({})).is_none());
        for name in ["export_account", "read_webhook_secret", "rotate_webhook_secret"] {
            assert!(request_at(None, name, &json!({})).is_none(), "{name}");
            assert!(request_at(Some("toolsets=account"), name, &json!({})).is_some(), "{name}");
        }
        assert!(request_at(Some("toolsets=account"), "erase_account", &json!({})).is_none());
    }
}
