//! A call of a tool as a request of the API.

use serde_json::{Map, Value};

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

use crate::headers::Header;

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

/// The header arguments that tools have.
const HEADERS: [(&str, &str); 3] =
    [("if_match", "if-match"), ("if_none_match", "if-none-match"), ("idempotency_key", "idempotency-key")];

impl ToolRequest {
    /// Returns the request for a call. `requests` is the text of [`requests`](super::requests).
    /// Returns `None` if there is no tool of this name.
    ///
    /// # Errors
    /// Returns the message for the client if an argument of the path is missing or unknown.
    pub fn new(requests: &str, name: &str, arguments: &Value) -> Option<Result<Self, String>> {
        let table: Value = serde_json::from_str(requests).ok()?;
        let row = table.get(name)?;
        let empty = Map::new();
        Some(Self::of(row, arguments.as_object().unwrap_or(&empty)))
    }

    fn of(row: &Value, arguments: &Map<String, Value>) -> Result<Self, String> {
        let text = |member: &str| row.get(member).and_then(Value::as_str).unwrap_or_default();
        let names = |member: &str| {
            let list = row.get(member).and_then(Value::as_array).into_iter().flatten();
            list.filter_map(Value::as_str).collect::<Vec<_>>()
        };
        let (in_path, in_query) = (names("path_parameters"), names("query"));
        let mut path = text("path").to_owned();
        for name in &in_path {
            let value = arguments.get(*name).and_then(Value::as_str).filter(|value| is_segment(value));
            let value = value.ok_or_else(|| format!("`{name}` is required: letters, digits and -._~"))?;
            path = path.replace(&format!("{{{name}}}"), value);
        }
        let body = arguments.get("body").filter(|body| !body.is_null());
        let mut query: Vec<(String, String)> = Vec::new();
        let mut headers: Vec<Header> = Vec::new();
        for (name, value) in arguments.iter().filter(|(name, _)| !in_path.contains(&name.as_str())) {
            match (name.as_str(), HEADERS.iter().find(|(argument, _)| argument == name)) {
                ("body", _) => {}
                ("query", _) if in_query.contains(&"*") => {
                    let members = value.as_object().ok_or("`query` must be an object of texts")?;
                    query.extend(members.iter().map(|(name, value)| (name.clone(), plain(value))));
                }
                (argument, Some((_, header))) => {
                    let text = plain(value);
                    if !text.bytes().all(|byte| byte == b' ' || byte.is_ascii_graphic()) {
                        return Err(format!(
                            "`{argument}` is the value of a header: visible ASCII and spaces"
                        ));
                    }
                    headers.push((*header, text.into()));
                }
                (argument, None) if in_query.contains(&argument) => {
                    query.push((argument.to_owned(), plain(value)))
                }
                _ => return Err(format!("unknown argument `{name}`; the tool's inputSchema has all")),
            }
        }
        let target = if query.is_empty() { path } else { format!("{path}?{}", encoded(&query)) };
        let method = match text("method") {
            // A call of a tool of the gateway: the body decides.
            "*" if body.is_some() => "POST",
            "*" => "GET",
            method => method,
        };
        Ok(Self { method: method.to_owned(), target, headers, body: body.map(Value::to_string) })
    }
}

/// Returns true for what can be a segment of a path.
fn is_segment(text: &str) -> bool {
    !text.is_empty()
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'.' | b'_' | b'~'))
}

/// Returns a value of a query: lists are separated by commas.
fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(items) => items.iter().map(plain).collect::<Vec<_>>().join(","),
        other => other.to_string(),
    }
}

fn encoded(query: &[(String, String)]) -> String {
    let part = |text: &str| utf8_percent_encode(text, RESERVED).to_string();
    query.iter().map(|(name, value)| format!("{}={}", part(name), part(value))).collect::<Vec<_>>().join("&")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::mcp::requests;

    fn request(name: &str, arguments: &Value) -> Result<ToolRequest, String> {
        ToolRequest::new(&requests(), name, arguments).unwrap()
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
    fn arguments_go_to_path_query_and_headers() {
        let arguments = json!({"page_id": "pg_0123456789abcdefg", "dry_run": true, "if_match": "\"v1\"", "body": {"title": "A"}});
        let change = request("patch_page", &arguments).unwrap();
        assert_eq!(
            (change.method.as_str(), change.target.as_str()),
            ("PATCH", "/pages/pg_0123456789abcdefg?dry_run=true")
        );
        assert_eq!(change.headers, [("if-match", "\"v1\"".into())]);
        let report = request("read_analytics", &json!({"metrics": ["views", "clicks"]})).unwrap();
        assert_eq!(report.target, "/analytics?metrics=views%2Cclicks");
    }

    #[test]
    fn wrong_argument_is_refused_and_cannot_leave_the_path() {
        for arguments in [
            json!({}),
            json!({"page_id": "a/../b"}),
            json!({"page_id": 1}),
            json!({"page_id": "a", "pagee": 1}),
        ] {
            assert!(request("read_page", &arguments).is_err(), "{arguments}");
        }
        for value in ["\"v1\"\r\ncf-connecting-ip: 192.0.2.1", "é", "a\tb"] {
            let arguments = json!({"page_id": "a", "if_match": value, "body": {}});
            assert!(request("patch_page", &arguments).is_err(), "{arguments}");
        }
        assert!(ToolRequest::new(&requests(), "nothing", &json!({})).is_none());
    }
}
