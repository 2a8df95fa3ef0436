//! JSON-RPC messages of a client, and the responses to them.

use serde_json::{Value, json};

use crate::{openapi, response::Response};

/// The newest revision that is served.
pub const PROTOCOL_VERSION: &str = "2025-11-25";
/// Every revision that is served. Earlier ones have batches.
const SUPPORTED: [&str; 2] = [PROTOCOL_VERSION, "2025-06-18"];
const INSTRUCTIONS: &str = "call_tool reaches every tool of the gateway. The others read and change bio-link pages, links, product sources and webhooks, read the event log, and report analytics and usage. An error is a problem with a stable `code`; wait `retry-after` seconds after quota-exceeded. To keep a change of another client, pass the `etag` of the read as `if_match`.";

/// A message of a client.
#[derive(Clone, Debug, PartialEq)]
pub enum Message {
    /// A request, which has a response.
    Request {
        /// A string or a number, which the response repeats.
        id: Value,
        /// The method of the request.
        method: Method,
    },
    /// A notification, or a response to a request that was never sent. It has no response.
    Notification,
}

/// A method with its parameters.
#[derive(Clone, Debug, PartialEq)]
pub enum Method {
    /// `initialize`, with the revision that the client wants.
    Initialize(String),
    /// `ping`
    Ping,
    /// `tools/list`
    ListTools,
    /// `tools/call`
    CallTool {
        /// The name of the tool.
        name: String,
        /// Its arguments: an object.
        arguments: Value,
    },
}

/// A JSON-RPC error.
#[derive(Clone, Debug, PartialEq)]
pub struct RpcError {
    id: Value,
    code: i64,
    message: String,
}

impl Message {
    /// Reads a message.
    ///
    /// # Errors
    /// Returns the error that the client gets: not JSON, no JSON-RPC 2.0 request, a batch, a method
    /// that is not served, or wrong parameters.
    pub fn parse(text: &[u8]) -> Result<Self, RpcError> {
        let error = |code, message: &str| RpcError::new(Value::Null, code, message);
        let message: Value = serde_json::from_slice(text)
            .map_err(|fault| error(-32_700, &format!("the message is not JSON: {fault}")))?;
        if message.is_array() {
            return Err(error(
                -32_600,
                "a batch is not a message since revision 2025-06-18; send one message",
            ));
        }
        if message.get("jsonrpc") != Some(&json!("2.0")) {
            return Err(error(-32_600, "the message must be an object with `jsonrpc` \"2.0\""));
        }
        let id = match message.get("id") {
            None => return Ok(Self::Notification),
            Some(id @ (Value::String(_) | Value::Number(_))) => id.clone(),
            Some(_) => return Err(error(-32_600, "`id` must be a string or a number")),
        };
        let Some(name) = message.get("method").and_then(Value::as_str) else {
            return Ok(Self::Notification);
        };
        let parameters = message.get("params").unwrap_or(&Value::Null);
        let method = Method::parse(name, parameters).map_err(|(code, message)| RpcError {
            id: id.clone(),
            code,
            message,
        })?;
        Ok(Self::Request { id, method })
    }
}

impl Method {
    fn parse(name: &str, parameters: &Value) -> Result<Self, (i64, String)> {
        let text = |member: &str| parameters.get(member).and_then(Value::as_str).map(str::to_owned);
        match name {
            "initialize" => text("protocolVersion")
                .map(Self::Initialize)
                .ok_or_else(|| (-32_602, "`params.protocolVersion` is missing".to_owned())),
            "ping" => Ok(Self::Ping),
            "tools/list" => Ok(Self::ListTools),
            "tools/call" => {
                let name = text("name").ok_or_else(|| (-32_602, "`params.name` is missing".to_owned()))?;
                match parameters.get("arguments") {
                    None | Some(Value::Null) => Ok(Self::CallTool { name, arguments: json!({}) }),
                    Some(arguments @ Value::Object(_)) => {
                        Ok(Self::CallTool { name, arguments: arguments.clone() })
                    }
                    Some(_) => Err((-32_602, "`params.arguments` must be an object".to_owned())),
                }
            }
            _ => Err((
                -32_601,
                format!("`{name}` is not served; served are initialize, ping, tools/list and tools/call"),
            )),
        }
    }
}

impl RpcError {
    /// Returns an error in response to the request `id`, or to none if that is `null`.
    #[must_use]
    pub fn new(id: Value, code: i64, message: &str) -> Self {
        Self { id, code, message: message.to_owned() }
    }

    /// Returns the error for a tool that there is not.
    #[must_use]
    pub fn unknown_tool(id: Value, name: &str) -> Self {
        Self::new(id, -32_602, &format!("unknown tool `{name}`; tools/list has all"))
    }

    /// Returns the response. What is no request at all is 400, because there is nothing to respond to.
    #[must_use]
    pub fn response(&self) -> Response {
        let error = json!({ "code": self.code, "message": self.message });
        let body = json!({ "jsonrpc": "2.0", "id": self.id, "error": error }).to_string();
        let status = if self.id.is_null() { 400 } else { 200 };
        Response { status, ..Response::json(body) }
    }
}

/// Checks the revision that a request names in its header, if it does.
///
/// # Errors
/// Returns the error, with status 400, for one that is not served.
pub fn check_version(header: Option<&str>) -> Result<(), RpcError> {
    match header {
        Some(version) if !SUPPORTED.contains(&version) => {
            let served = SUPPORTED.join(" and ");
            let message = format!("MCP-Protocol-Version is `{version}`; served are {served}");
            Err(RpcError::new(Value::Null, -32_600, &message))
        }
        _ => Ok(()),
    }
}

/// Returns the result of `initialize`: the revision that the client wants if it is served, and the
/// newest otherwise.
#[must_use]
pub fn initialized(wanted: &str) -> Value {
    let version = SUPPORTED.into_iter().find(|version| *version == wanted).unwrap_or(PROTOCOL_VERSION);
    json!({
        "protocolVersion": version,
        "capabilities": { "tools": { "listChanged": false } },
        "serverInfo": { "name": "unified-tool-gateway", "title": "Unified Tool Gateway", "version": openapi::VERSION },
        "instructions": INSTRUCTIONS,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(message: &Value) -> Result<Message, RpcError> {
        Message::parse(message.to_string().as_bytes())
    }

    fn code(message: &Value) -> i64 {
        parse(message).unwrap_err().code
    }

    #[test]
    fn request_is_read_with_its_parameters() {
        let call = json!({"jsonrpc": "2.0", "id": 7, "method": "tools/call",
            "params": {"name": "read_page", "arguments": {"page_id": "pg"}}});
        let method = Method::CallTool { name: "read_page".into(), arguments: json!({"page_id": "pg"}) };
        assert_eq!(parse(&call), Ok(Message::Request { id: json!(7), method }));
        let listed = json!({"jsonrpc": "2.0", "id": "a", "method": "tools/list"});
        assert_eq!(parse(&listed), Ok(Message::Request { id: json!("a"), method: Method::ListTools }));
    }

    #[test]
    fn notification_and_response_have_no_response() {
        for message in [
            json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
            json!({"jsonrpc": "2.0", "id": 1, "result": {}}),
        ] {
            assert_eq!(parse(&message), Ok(Message::Notification), "{message}");
        }
    }

    #[test]
    fn message_that_is_no_request_is_an_error_of_json_rpc() {
        assert_eq!(Message::parse(b"{").unwrap_err().code, -32_700);
        assert_eq!(code(&json!([{"jsonrpc": "2.0", "id": 1, "method": "ping"}])), -32_600, "a batch");
        assert_eq!(code(&json!({"id": 1, "method": "ping"})), -32_600);
        assert_eq!(code(&json!({"jsonrpc": "2.0", "id": null, "method": "ping"})), -32_600);
        assert_eq!(code(&json!({"jsonrpc": "2.0", "id": 1, "method": "resources/list"})), -32_601);
        assert_eq!(code(&json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call"})), -32_602);
        let arguments = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "a", "arguments": 1}});
        assert_eq!(code(&arguments), -32_602);
    }

    #[test]
    fn error_is_400_only_without_a_request() {
        assert_eq!(Message::parse(b"[]").unwrap_err().response().status, 400);
        let unknown = parse(&json!({"jsonrpc": "2.0", "id": 3, "method": "nothing"})).unwrap_err().response();
        let body: Value = serde_json::from_str(&unknown.body).unwrap();
        assert_eq!((unknown.status, &body["id"], &body["error"]["code"]), (200, &json!(3), &json!(-32_601)));
    }

    #[test]
    fn revision_is_negotiated() {
        assert_eq!(initialized("2025-06-18")["protocolVersion"], "2025-06-18");
        assert_eq!(initialized("2024-11-05")["protocolVersion"], PROTOCOL_VERSION);
        assert!(check_version(None).is_ok() && check_version(Some(PROTOCOL_VERSION)).is_ok());
        assert_eq!(check_version(Some("2024-11-05")).unwrap_err().response().status, 400);
    }
}
