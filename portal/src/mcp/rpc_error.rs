//! Errors of JSON-RPC.

use serde_json::{Value, json};
use shared::response::Response;

use super::revision::{Era, SUPPORTED};

/// A JSON-RPC error.
#[derive(Clone, Debug, PartialEq)]
pub struct RpcError {
    status: u16,
    code: i64,
    message: String,
    data: Option<Value>,
    id: Value,
}

impl RpcError {
    /// Returns the error for a text that is not JSON.
    pub(super) fn not_json(fault: &serde_json::Error) -> Self {
        Self::new(400, -32_700, format!("the message is not JSON: {fault}"))
    }

    /// Returns the error for JSON that is no request.
    pub(super) fn invalid_request(reason: &str) -> Self {
        Self::new(400, -32_600, reason.to_owned())
    }

    /// Returns the error for a method that is not served.
    pub(super) fn unknown_method(name: &str, era: Era) -> Self {
        let (status, first) = match era {
            Era::Legacy => (200, "initialize, ping"),
            Era::Modern => (404, "server/discover"),
        };
        let message = format!("`{name}` is not served; served are {first}, tools/list and tools/call");
        Self::new(status, -32_601, message)
    }

    /// Returns the error for wrong parameters.
    pub(super) fn invalid_params(reason: &str) -> Self {
        Self::new(200, -32_602, reason.to_owned())
    }

    /// Returns the error for a request of the modern era that does not say what each must.
    pub(super) fn incomplete(reason: &str) -> Self {
        Self { status: 400, ..Self::invalid_params(reason) }
    }

    /// Returns the error for a header that is missing or says something other than the message.
    pub(super) fn header_mismatch(header: &str, expected: &str) -> Self {
        let message = format!("the header {header} must be `{expected}`, as the message says");
        Self::new(400, -32_020, message)
    }

    /// Returns the error for a revision that is not served, with those that are.
    pub(super) fn unsupported_revision(requested: &str) -> Self {
        let message = format!("revision `{requested}` is not served; served are {}", SUPPORTED.join(", "));
        let data = json!({ "supported": SUPPORTED, "requested": requested });
        Self { data: Some(data), ..Self::new(400, -32_022, message) }
    }

    /// Returns the error for a page of another origin, which a private host does not serve.
    pub(super) fn foreign_origin(origin: &str, host: &str) -> Self {
        let message =
            format!("the origin `{origin}` may not call `{host}`: a private host takes its own pages");
        Self::new(403, -32_000, message)
    }

    fn new(status: u16, code: i64, message: String) -> Self {
        Self { status, code, message, data: None, id: Value::Null }
    }

    /// Returns the same error in response to the request `id`.
    pub(super) fn of(self, id: Value) -> Self {
        Self { id, ..self }
    }

    /// Returns the response.
    pub fn response(&self) -> Response {
        let mut error = json!({ "code": self.code, "message": self.message });
        if let (Some(data), Some(members)) = (&self.data, error.as_object_mut()) {
            members.insert("data".to_owned(), data.clone());
        }
        let body = json!({ "jsonrpc": "2.0", "id": self.id, "error": error }).to_string();
        Response { status: self.status, ..Response::json(body) }
    }

    #[cfg(test)]
    pub(super) fn parts(&self) -> (u16, i64, &Value) {
        (self.status, self.code, &self.id)
    }

    #[cfg(test)]
    pub(super) fn data(&self) -> Option<&Value> {
        self.data.as_ref()
    }
}
