//! The result of a call of a tool.

use base64::{Engine, engine::general_purpose::STANDARD};
use serde_json::{Map, Value, json};

use crate::response::Response;

/// The response of the API to a call.
#[derive(Clone, Copy, Debug)]
pub struct ToolOutcome<'a> {
    /// The status.
    pub status: u16,
    /// The media type, empty if there is none.
    pub media_type: &'a str,
    /// The body.
    pub body: &'a [u8],
    /// Headers that a client needs, by their names.
    pub headers: &'a [(&'a str, &'a str)],
}

/// The headers that a result repeats.
const REPEATED: [&str; 6] =
    ["etag", "location", "ratelimit", "retry-after", "x-gateway-problem", "x-request-id"];

impl ToolOutcome<'_> {
    /// Returns the response to the request `id`: JSON also as structured content, images and audio as
    /// such, other bytes as a resource in base64.
    #[must_use]
    pub fn response(&self, id: &Value) -> Response {
        let essence = self.media_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
        let (content, structured) = self.content(&essence);
        let headers = self.headers.iter().filter(|(name, _)| REPEATED.contains(name));
        let mut meta: Map<_, _> = headers.map(|(name, value)| ((*name).to_owned(), json!(value))).collect();
        meta.insert("status".to_owned(), self.status.into());
        let mut result = json!({ "content": [content], "isError": self.status >= 400, "_meta": meta });
        if let (Some(value), Some(members)) = (structured, result.as_object_mut()) {
            members.insert("structuredContent".to_owned(), value);
        }
        respond(id, &result)
    }

    fn content(&self, essence: &str) -> (Value, Option<Value>) {
        let is_json = essence == "application/json" || essence.ends_with("+json");
        let structured =
            is_json.then(|| serde_json::from_slice(self.body).ok()).flatten().filter(Value::is_object);
        let kind = essence.split('/').next().unwrap_or_default();
        let is_text = is_json || kind == "text" || essence == "application/x-ndjson";
        let text = std::str::from_utf8(self.body).ok().filter(|_| is_text || self.body.is_empty());
        let content = match (kind, text) {
            (_, Some("")) => json!({ "type": "text", "text": format!("status {}", self.status) }),
            (_, Some(text)) => json!({ "type": "text", "text": text }),
            ("image" | "audio", None) => {
                json!({ "type": kind, "mimeType": essence, "data": STANDARD.encode(self.body) })
            }
            (_, None) => {
                let media_type = if essence.is_empty() { "application/octet-stream" } else { essence };
                let resource = json!({ "uri": "response:body", "mimeType": media_type, "blob": STANDARD.encode(self.body) });
                json!({ "type": "resource", "resource": resource })
            }
        };
        (content, structured)
    }
}

/// Returns the response of a call that made no request, with the reason.
#[must_use]
pub fn failed(id: &Value, reason: &str) -> Response {
    respond(id, &json!({ "content": [{ "type": "text", "text": reason }], "isError": true }))
}

/// Returns the response with the text of a result: [`tools`](super::tools).
#[must_use]
pub fn listed(id: &Value, result: &str) -> Response {
    Response::json(format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#))
}

fn respond(id: &Value, result: &Value) -> Response {
    listed(id, &result.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn result(status: u16, media_type: &str, body: &[u8]) -> Value {
        let headers = [("etag", "\"v1\""), ("x-secret", "no")];
        let response = ToolOutcome { status, media_type, body, headers: &headers }.response(&json!(1));
        let message: Value = serde_json::from_str(&response.body).unwrap();
        assert_eq!((response.status, &message["id"]), (200, &json!(1)));
        assert_eq!(message["result"]["_meta"], json!({"status": status, "etag": "\"v1\""}));
        message["result"].clone()
    }

    #[test]
    fn json_is_text_and_structured_content() {
        let page = result(200, "application/json", b"{\"id\":\"a\"}");
        assert_eq!(page["content"], json!([{"type": "text", "text": "{\"id\":\"a\"}"}]));
        assert_eq!((&page["structuredContent"], &page["isError"]), (&json!({"id": "a"}), &json!(false)));
        assert!(
            result(200, "application/json", b"[1]").get("structuredContent").is_none(),
            "it must be an object"
        );
    }

    #[test]
    fn lines_of_json_are_text() {
        let export = result(200, "application/x-ndjson", b"{}\n{}\n");
        assert_eq!(export["content"], json!([{"type": "text", "text": "{}\n{}\n"}]));
        assert!(export.get("structuredContent").is_none());
    }

    #[test]
    fn problem_is_an_error_with_its_members() {
        let problem = result(429, "application/problem+json", b"{\"code\":\"quota-exceeded\"}");
        assert_eq!(
            (&problem["isError"], &problem["structuredContent"]["code"]),
            (&json!(true), &json!("quota-exceeded"))
        );
    }

    #[test]
    fn bytes_are_an_image_or_a_resource() {
        let image = result(200, "image/png", &[137, 80]);
        assert_eq!(image["content"], json!([{"type": "image", "mimeType": "image/png", "data": "iVA="}]));
        let pdf = result(200, "application/pdf; a=b", b"%PDF");
        assert_eq!(pdf["content"][0]["resource"]["blob"], "JVBERg==");
        assert_eq!(result(204, "", b"")["content"][0]["text"], "status 204");
    }
}
