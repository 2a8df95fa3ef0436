//! JSON-RPC messages of a client.

use std::borrow::Cow;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value};

use super::list_cursor::ListCursor;
use super::responder::Responder;
use super::revision::{Era, MODERN, is_legacy};
use super::rpc_error::RpcError;

/// The members of `_meta` that each request of the modern era has.
const REVISION: &str = "io.modelcontextprotocol/protocolVersion";
const CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";

/// The headers that repeat a part of the message for intermediaries.
#[derive(Clone, Copy, Debug, Default)]
pub struct MessageHeaders<'a> {
    /// `MCP-Protocol-Version`
    pub revision: Option<&'a str>,
    /// `Mcp-Method`
    pub method: Option<&'a str>,
    /// `Mcp-Name`
    pub name: Option<&'a str>,
}

/// A message of a client.
#[derive(Clone, Debug, PartialEq)]
pub enum Message {
    /// A request, which has a response.
    Request(Responder, Method),
    /// A notification, or a response to a request that was never sent. It has no response.
    Notification,
}

/// A method with its parameters.
#[derive(Clone, Debug, PartialEq)]
pub enum Method {
    /// `initialize`, with the revision that the client wants.
    Initialize(String),
    /// `server/discover`
    Discover,
    /// `ping`
    Ping,
    /// `tools/list`, from a cursor or the first tool on.
    ListTools(Option<ListCursor>),
    /// `tools/call`
    CallTool {
        /// The name of the tool.
        name: String,
        /// Its arguments: an object.
        arguments: Value,
    },
}

impl Message {
    /// Reads a message.
    ///
    /// # Errors
    /// Returns the error that the client gets: not JSON, no JSON-RPC 2.0 message, a batch, a
    /// revision or a method that is not served, wrong parameters, or headers that say something
    /// else.
    pub fn parse(text: &[u8], headers: &MessageHeaders<'_>) -> Result<Self, RpcError> {
        let message = match serde_json::from_slice(text) {
            Ok(Value::Object(message)) => message,
            Ok(Value::Array(_)) => {
                let reason = "a batch is not a message since revision 2025-06-18; send one message";
                return Err(RpcError::invalid_request(reason));
            }
            Ok(_) => return Err(RpcError::invalid_request("the message must be an object")),
            Err(fault) => return Err(RpcError::not_json(&fault)),
        };
        if is_response(&message) {
            return match headers.revision {
                // Earlier revisions let a server send requests, so a client may respond to one that
                // it remembers.
                Some(MODERN) => Err(RpcError::invalid_request("a client sends no responses")),
                _ => Ok(Self::Notification),
            };
        }
        let id = match message.get("id") {
            Some(id) if !is_id(id) => {
                return Err(RpcError::invalid_request("`id` must be a string or an integer"));
            }
            id => id.cloned(),
        };
        let parsed = Self::parse_call(&message, id.clone(), headers);
        // The error has the request's id, or the client cannot tell which call failed (JSON-RPC
        // 2.0, section 5).
        parsed.map_err(|error| error.of(id.unwrap_or_default()))
    }

    /// Reads a request or a notification.
    fn parse_call(
        message: &Map<String, Value>,
        id: Option<Value>,
        headers: &MessageHeaders<'_>,
    ) -> Result<Self, RpcError> {
        if message.get("jsonrpc").and_then(Value::as_str) != Some("2.0") {
            return Err(RpcError::invalid_request("`jsonrpc` must be \"2.0\""));
        }
        let Some(name) = message.get("method").and_then(Value::as_str) else {
            return Err(RpcError::invalid_request("`method` must be a string"));
        };
        // A notification gets no response, not even an error (JSON-RPC 2.0, section 4.1).
        let Some(id) = id else {
            return match headers.revision {
                Some(other) if other != MODERN && !is_legacy(other) => {
                    Err(RpcError::unsupported_revision(other))
                }
                _ => Ok(Self::Notification),
            };
        };
        let none = Map::new();
        let parameters = match message.get("params") {
            None => &none,
            Some(Value::Object(parameters)) => parameters,
            Some(_) => return Err(RpcError::invalid_params("`params` must be an object")),
        };
        let era = headers.era(name, parameters)?;
        let method = Method::parse(name, parameters, era)?;
        Ok(Self::Request(Responder::new(id, era), method))
    }
}

/// Returns true for a response. It has a result or an error, and no method.
fn is_response(message: &Map<String, Value>) -> bool {
    let has = |member| message.contains_key(member);
    message.get("jsonrpc").and_then(Value::as_str) == Some("2.0")
        && !has("method")
        && has("id")
        // Both or neither is no response, and gets an error as the broken request that it is.
        && has("result") != has("error")
}

/// The largest whole number up to which a floating-point number has every one: 2^53.
const MAX_FLOAT_ID: f64 = 9_007_199_254_740_992.0;

fn is_id(id: &Value) -> bool {
    match id {
        Value::String(_) => true,
        // A larger number would come back as another one.
        Value::Number(number) if number.is_f64() => {
            number.as_f64().is_some_and(|number| number.fract() == 0.0 && number.abs() <= MAX_FLOAT_ID)
        }
        Value::Number(_) => true,
        _ => false,
    }
}

impl MessageHeaders<'_> {
    /// Returns the era of a request: a request with its revision in `_meta` is modern. Checks that
    /// the headers say what the message says.
    fn era(&self, method: &str, parameters: &Map<String, Value>) -> Result<Era, RpcError> {
        let meta = parameters.get("_meta");
        let revision = match (meta.and_then(|meta| meta.get(REVISION)), self.revision) {
            (Some(Value::String(revision)), _) => revision,
            (Some(_), _) => return Err(RpcError::incomplete(&format!("`{REVISION}` must be a string"))),
            (None, Some(MODERN)) => {
                return Err(RpcError::incomplete(&format!("`params._meta` must have `{REVISION}`")));
            }
            (None, Some(other)) if !is_legacy(other) => return Err(RpcError::unsupported_revision(other)),
            (None, _) => return Ok(Era::Legacy),
        };
        // A gateway in between routes by the header, and the server acts on the message. They must
        // agree.
        if self.revision != Some(revision) {
            return Err(RpcError::header_mismatch("MCP-Protocol-Version", revision));
        }
        if is_legacy(revision) {
            return Ok(Era::Legacy);
        }
        if revision != MODERN {
            return Err(RpcError::unsupported_revision(revision));
        }
        if !meta.and_then(|meta| meta.get(CAPABILITIES)).is_some_and(Value::is_object) {
            let reason = format!("`params._meta` must have `{CAPABILITIES}`, an object");
            return Err(RpcError::incomplete(&reason));
        }
        // The same for the method and the name: a filter of headers must not be passed by another
        // body.
        if self.method != Some(method) {
            return Err(RpcError::header_mismatch("Mcp-Method", method));
        }
        match parameters.get("name").and_then(Value::as_str).filter(|_| method == "tools/call") {
            Some(name) if self.name.and_then(decoded).as_deref() != Some(name) => {
                Err(RpcError::header_mismatch("Mcp-Name", name))
            }
            _ => Ok(Era::Modern),
        }
    }
}

/// Returns the value of a header, which is in base64 if it begins and ends with the marks for that.
fn decoded(value: &str) -> Option<Cow<'_, str>> {
    match value.strip_prefix("=?base64?").and_then(|rest| rest.strip_suffix("?=")) {
        Some(encoded) => String::from_utf8(STANDARD.decode(encoded).ok()?).ok().map(Cow::Owned),
        None => Some(Cow::Borrowed(value)),
    }
}

impl Method {
    fn parse(name: &str, parameters: &Map<String, Value>, era: Era) -> Result<Self, RpcError> {
        let text = |member: &str| match parameters.get(member) {
            Some(Value::String(text)) => Ok(text.clone()),
            _ => Err(RpcError::invalid_params(&format!("`params.{member}` must be a string"))),
        };
        match (name, era) {
            ("initialize", Era::Legacy) => text("protocolVersion").map(Self::Initialize),
            ("ping", Era::Legacy) => Ok(Self::Ping),
            ("server/discover", Era::Modern) => Ok(Self::Discover),
            ("tools/list", _) => match parameters.get("cursor") {
                None | Some(Value::Null) => Ok(Self::ListTools(None)),
                Some(cursor) => match cursor.as_str().and_then(ListCursor::parse) {
                    Some(cursor) => Ok(Self::ListTools(Some(cursor))),
                    None => Err(RpcError::invalid_params(
                        "`params.cursor` was never given: it must be `nextCursor` of the page before",
                    )),
                },
            },
            ("tools/call", _) => {
                let arguments = match parameters.get("arguments") {
                    // Null as if it was not given: clients serialize what is unset.
                    None | Some(Value::Null) => Value::Object(Map::new()),
                    Some(arguments @ Value::Object(_)) => arguments.clone(),
                    Some(_) => {
                        return Err(RpcError::invalid_params("`params.arguments` must be an object"));
                    }
                };
                Ok(Self::CallTool { name: text("name")?, arguments })
            }
            _ => Err(RpcError::unknown_method(name, era)),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn parse_with(message: &Value, headers: &MessageHeaders<'_>) -> Result<Message, RpcError> {
        Message::parse(message.to_string().as_bytes(), headers)
    }

    fn parse(message: &Value) -> Result<Message, RpcError> {
        parse_with(message, &MessageHeaders::default())
    }

    fn method(message: &Value) -> Method {
        match parse(message).unwrap() {
            Message::Request(_, method) => method,
            Message::Notification => panic!("{message}"),
        }
    }

    #[test]
    fn request_is_read_with_its_parameters() {
        let call = json!({"jsonrpc": "2.0", "id": 7, "method": "tools/call",
            "params": {"name": "read_page", "arguments": {"page_id": "pg"}}});
        let arguments = json!({"page_id": "pg"});
        assert_eq!(method(&call), Method::CallTool { name: "read_page".into(), arguments });
        assert_eq!(
            method(&json!({"jsonrpc": "2.0", "id": "a", "method": "tools/list"})),
            Method::ListTools(None)
        );
        let next = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"cursor": "qr_a"}});
        assert_eq!(method(&next), Method::ListTools(ListCursor::parse("qr_a")));
        assert_eq!(method(&json!({"jsonrpc": "2.0", "id": 1.0, "method": "ping"})), Method::Ping);
    }

    #[test]
    fn notification_and_response_have_no_response() {
        for message in [
            json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
            json!({"jsonrpc": "2.0", "method": "tools/call", "params": {"name": "list_pages"}}),
            json!({"jsonrpc": "2.0", "id": 1, "result": {}}),
            json!({"jsonrpc": "2.0", "id": null, "error": {"code": -32700, "message": "?"}}),
        ] {
            assert_eq!(parse(&message), Ok(Message::Notification), "{message}");
        }
    }

    #[test]
    fn message_that_is_no_request_is_refused_with_its_id() {
        for (message, id) in [
            (json!({"jsonrpc": "2.0", "id": 5}), json!(5)),
            (json!({"jsonrpc": "2.0", "id": "a", "method": 1}), json!("a")),
            (json!({"jsonrpc": "2.0", "id": "a", "method": null, "params": {}}), json!("a")),
            (json!({"jsonrpc": "2.0", "id": 5, "method": 1, "result": {}}), json!(5)),
            (json!({"jsonrpc": "2.0", "id": 5, "result": {}, "error": {}}), json!(5)),
            (json!({"id": 5, "method": "ping"}), json!(5)),
            (json!({"jsonrpc": "1.0", "id": 5, "method": "ping"}), json!(5)),
            (json!({"id": 5, "result": {}}), json!(5)),
            (json!({"jsonrpc": "2.0"}), Value::Null),
            (json!({"jsonrpc": "2.0", "method": ["ping"]}), Value::Null),
            (json!({"jsonrpc": "2.0", "id": null, "method": "ping"}), Value::Null),
            (json!({"jsonrpc": "2.0", "id": 1.5, "method": "ping"}), Value::Null),
            (json!({"jsonrpc": "2.0", "id": 18_446_744_073_709_551_616.0, "method": "ping"}), Value::Null),
            (json!({"jsonrpc": "2.0", "id": {}, "method": "ping"}), Value::Null),
            (json!([{"jsonrpc": "2.0", "id": 1, "method": "ping"}]), Value::Null),
            (json!([]), Value::Null),
            (json!("ping"), Value::Null),
        ] {
            assert_eq!(parse(&message).unwrap_err().parts(), (400, -32_600, &id), "{message}");
        }
        let broken = Message::parse(b"{", &MessageHeaders::default()).unwrap_err();
        assert_eq!(broken.parts(), (400, -32_700, &Value::Null));
    }

    #[test]
    fn unknown_method_and_wrong_parameters_are_errors_of_the_request() {
        let of = |method: &str, params: Value| json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        for (message, code) in [
            (of("resources/list", json!({})), -32_601),
            (of("server/discover", json!({})), -32_601),
            (of("initialize", json!({})), -32_602),
            (of("ping", json!([])), -32_602),
            (of("ping", Value::Null), -32_602),
            (of("tools/call", json!({})), -32_602),
            (of("tools/call", json!({"name": 1})), -32_602),
            (of("tools/call", json!({"name": "a", "arguments": 1})), -32_602),
            (of("tools/list", json!({"cursor": "x"})), -32_602),
            (of("tools/list", json!({"cursor": "hologram_x"})), -32_602),
            (of("tools/list", json!({"cursor": 1})), -32_602),
        ] {
            assert_eq!(parse(&message).unwrap_err().parts(), (200, code, &json!(1)), "{message}");
        }
    }

    fn modern(method: &str, name: Option<&str>) -> Value {
        let mut params = json!({ "_meta": { REVISION: MODERN, CAPABILITIES: {} } });
        if let Some(name) = name {
            params["name"] = name.into();
        }
        json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
    }

    fn headers<'a>(method: &'a str, name: Option<&'a str>) -> MessageHeaders<'a> {
        MessageHeaders { revision: Some(MODERN), method: Some(method), name }
    }

    #[test]
    fn modern_request_is_read_with_headers_that_repeat_it() {
        for (method, name, header) in [
            ("server/discover", None, None),
            ("tools/list", None, None),
            ("tools/call", Some("read_page"), Some("read_page")),
            ("tools/call", Some("read_page"), Some("=?base64?cmVhZF9wYWdl?=")),
        ] {
            let read = parse_with(&modern(method, name), &headers(method, header)).unwrap();
            let Message::Request(responder, _) = read else { panic!("{method}") };
            assert_eq!(responder, Responder::new(json!(1), Era::Modern));
        }
    }

    #[test]
    fn modern_request_with_other_headers_is_a_mismatch() {
        let call = modern("tools/call", Some("read_page"));
        for wrong in [
            MessageHeaders { revision: None, ..headers("tools/call", Some("read_page")) },
            MessageHeaders { revision: Some("2025-11-25"), ..headers("tools/call", Some("read_page")) },
            MessageHeaders { method: None, ..headers("tools/call", Some("read_page")) },
            headers("tools/list", Some("read_page")),
            headers("tools/call", None),
            headers("tools/call", Some("delete_page")),
            headers("tools/call", Some("=?base64?!?=")),
        ] {
            assert_eq!(
                parse_with(&call, &wrong).unwrap_err().parts(),
                (400, -32_020, &json!(1)),
                "{wrong:?}"
            );
        }
    }

    #[test]
    fn modern_request_without_its_meta_is_refused() {
        let list = headers("tools/list", None);
        for params in [
            json!({}),
            json!({"_meta": {}}),
            json!({"_meta": {REVISION: MODERN}}),
            json!({"_meta": {REVISION: MODERN, CAPABILITIES: []}}),
            json!({"_meta": {REVISION: 1, CAPABILITIES: {}}}),
        ] {
            let message = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": params});
            assert_eq!(
                parse_with(&message, &list).unwrap_err().parts(),
                (400, -32_602, &json!(1)),
                "{message}"
            );
        }
    }

    #[test]
    fn modern_request_has_no_method_of_the_legacy_era() {
        for method in ["initialize", "ping", "subscriptions/listen", "resources/list"] {
            let refused = parse_with(&modern(method, None), &headers(method, None)).unwrap_err();
            assert_eq!(refused.parts(), (404, -32_601, &json!(1)), "{method}");
        }
    }

    #[test]
    fn revision_that_is_not_served_is_refused_with_those_that_are() {
        let ping = json!({"jsonrpc": "2.0", "id": 1, "method": "ping"});
        let of = |revision| MessageHeaders { revision: Some(revision), ..MessageHeaders::default() };
        let refused = parse_with(&ping, &of("1900-01-01")).unwrap_err();
        assert_eq!(refused.parts(), (400, -32_022, &json!(1)));
        let supported = json!(["2026-07-28", "2025-11-25", "2025-06-18"]);
        let data = json!({"supported": supported, "requested": "1900-01-01"});
        assert_eq!(refused.data(), Some(&data));
        let mut later = modern("tools/list", None);
        later["params"]["_meta"][REVISION] = "2030-01-01".into();
        let headers = MessageHeaders { revision: Some("2030-01-01"), ..headers("tools/list", None) };
        assert_eq!(parse_with(&later, &headers).unwrap_err().parts(), (400, -32_022, &json!(1)));
        for served in ["2025-11-25", "2025-06-18"] {
            assert!(parse_with(&ping, &of(served)).is_ok(), "{served}");
        }
        let notification = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        assert_eq!(parse_with(&notification, &of("1900-01-01")).unwrap_err().parts().1, -32_022);
    }

    #[test]
    fn modern_client_sends_no_response() {
        let response = json!({"jsonrpc": "2.0", "id": 1, "result": {}});
        let refused = parse_with(&response, &headers("tools/list", None)).unwrap_err();
        assert_eq!(refused.parts().1, -32_600);
    }
}
