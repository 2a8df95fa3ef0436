//! The result of a call of a tool.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value, json};
use shared::response::Response;

use super::responder::Responder;

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
/// The audio that models take.
const AUDIO: [&str; 8] = [
    "audio/aac",
    "audio/flac",
    "audio/mp3",
    "audio/mpeg",
    "audio/ogg",
    "audio/wav",
    "audio/wave",
    "audio/x-wav",
];
/// Other types whose bytes are text, beside `text/*` and JSON.
const TEXT: [&str; 5] = [
    "application/javascript",
    "application/x-ndjson",
    "application/x-yaml",
    "application/xml",
    "application/yaml",
];

impl ToolOutcome<'_> {
    /// Returns the response to a request. JSON is text and structured content, other text is text,
    /// and SVG too. An image or audio that models take is such. Other bytes are a resource in
    /// base64.
    pub fn response(&self, responder: &Responder) -> Response {
        let essence = self.media_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
        let headers = self.headers.iter().filter(|(name, _)| REPEATED.contains(name));
        let mut meta: Map<_, _> = headers.map(|(name, value)| ((*name).to_owned(), json!(value))).collect();
        meta.insert("status".to_owned(), self.status.into());
        let mut result = json!({ "content": [self.content(&essence)], "isError": self.status >= 400 });
        let structured = is_json(&essence).then(|| serde_json::from_slice::<Value>(self.body).ok()).flatten();
        // In the earlier revisions, `structuredContent` is an object.
        let structured = structured.filter(|value| responder.takes_any_json() || value.is_object());
        if let (Some(value), Some(members)) = (structured, result.as_object_mut()) {
            members.insert("structuredContent".to_owned(), value);
        }
        responder.send(meta, &result)
    }

    fn content(&self, essence: &str) -> Value {
        if self.body.is_empty() {
            return json!({ "type": "text", "text": format!("status {}", self.status) });
        }
        if let Some(text) = std::str::from_utf8(self.body).ok().filter(|_| is_text(essence)) {
            return json!({ "type": "text", "text": text });
        }
        let data = STANDARD.encode(self.body);
        if let Some(image) = image_type(self.body).filter(|_| essence.starts_with("image/")) {
            return json!({ "type": "image", "mimeType": image, "data": data });
        }
        if AUDIO.contains(&essence) {
            return json!({ "type": "audio", "mimeType": essence, "data": data });
        }
        let media_type = if essence.is_empty() { "application/octet-stream" } else { essence };
        let resource = json!({ "uri": "response:body", "mimeType": media_type, "blob": data });
        json!({ "type": "resource", "resource": resource })
    }
}

fn is_json(essence: &str) -> bool {
    essence == "application/json" || essence.ends_with("+json")
}

fn is_text(essence: &str) -> bool {
    is_json(essence) || essence.starts_with("text/") || essence.ends_with("+xml") || TEXT.contains(&essence)
}

/// Returns the type of an image by its first bytes, if it is one that models take. They refuse an
/// image that is not what it is said to be, and the conversation with it.
fn image_type(bytes: &[u8]) -> Option<&'static str> {
    match bytes {
        [0x89, b'P', b'N', b'G', b'\r', b'\n', 0x1a, b'\n', ..] => Some("image/png"),
        [0xff, 0xd8, 0xff, ..] => Some("image/jpeg"),
        [b'G', b'I', b'F', b'8', b'7' | b'9', b'a', ..] => Some("image/gif"),
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => Some("image/webp"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mcp::revision::Era;

    const PNG: &[u8] = b"\x89PNG\r\n\x1a\n";

    fn result_in(era: Era, status: u16, media_type: &str, body: &[u8]) -> Value {
        let headers = [("etag", "\"v1\""), ("x-secret", "no")];
        let outcome = ToolOutcome { status, media_type, body, headers: &headers };
        let response = outcome.response(&Responder::new(json!(1), era));
        let message: Value = serde_json::from_str(&response.body).unwrap();
        assert_eq!((response.status, &message["id"]), (200, &json!(1)));
        message["result"].clone()
    }

    fn result(status: u16, media_type: &str, body: &[u8]) -> Value {
        let result = result_in(Era::Legacy, status, media_type, body);
        assert_eq!(result["_meta"], json!({"status": status, "etag": "\"v1\""}));
        result
    }

    fn content(media_type: &str, body: &[u8]) -> Value {
        result(200, media_type, body)["content"][0].clone()
    }

    #[test]
    fn json_is_text_and_structured_content() {
        let page = result(200, "application/json", b"{\"id\":\"a\"}");
        assert_eq!(page["content"], json!([{"type": "text", "text": "{\"id\":\"a\"}"}]));
        assert_eq!((&page["structuredContent"], &page["isError"]), (&json!({"id": "a"}), &json!(false)));
    }

    #[test]
    fn structured_content_is_an_object_before_the_modern_era() {
        assert!(result(200, "application/json", b"[1]").get("structuredContent").is_none());
        let modern = result_in(Era::Modern, 200, "application/json", b"[1]");
        assert_eq!((&modern["structuredContent"], &modern["resultType"]), (&json!([1]), &json!("complete")));
        assert_eq!(modern["_meta"]["status"], 200);
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
    fn text_and_svg_are_text() {
        let svg: &[u8] = b"<svg xmlns=\"http://www.w3.org/2000/svg\"/>";
        for (media_type, body) in [
            ("application/x-ndjson", &b"{}\n{}\n"[..]),
            ("text/csv; charset=utf-8", b"a,b\n"),
            ("text/event-stream", b"data: 1\n\n"),
            ("image/svg+xml", svg),
            ("IMAGE/SVG+XML; charset=utf-8", svg),
            ("application/xml", b"<a/>"),
        ] {
            let text = std::str::from_utf8(body).unwrap();
            assert_eq!(content(media_type, body), json!({"type": "text", "text": text}), "{media_type}");
        }
        assert_eq!(result(204, "", b"")["content"][0]["text"], "status 204");
        assert_eq!(content("image/png", b"")["type"], "text");
    }

    #[test]
    fn image_that_models_take_is_an_image_of_its_real_type() {
        for (media_type, body, real) in [
            ("image/png", PNG, "image/png"),
            ("image/png", b"\xff\xd8\xff\xe0", "image/jpeg"),
            ("image/gif", b"GIF89a", "image/gif"),
            ("image/webp", b"RIFF\0\0\0\0WEBP", "image/webp"),
        ] {
            let data = STANDARD.encode(body);
            assert_eq!(content(media_type, body), json!({"type": "image", "mimeType": real, "data": data}));
        }
    }

    #[test]
    fn other_bytes_are_a_resource() {
        for (media_type, body) in [
            ("application/pdf; a=b", &b"%PDF"[..]),
            ("image/svg+xml", b"<svg>\xff</svg>"),
            ("image/png", b"<svg/>"),
            ("image/avif", b"\0\0\0\x1cftypavif"),
            ("image/tiff", b"II*\0"),
            ("audio/midi", b"MThd"),
            ("video/mp4", b"\0\0\0\x18ftyp"),
            ("text/plain", b"\xff\xfe"),
            ("application/octet-stream", PNG),
        ] {
            let resource = content(media_type, body);
            assert_eq!(resource["type"], "resource", "{media_type}");
            assert_eq!(resource["resource"]["blob"], STANDARD.encode(body), "{media_type}");
        }
        assert_eq!(content("", b"\0")["resource"]["mimeType"], "application/octet-stream");
    }

    #[test]
    fn audio_that_models_take_is_audio() {
        let wav = content("audio/wav", b"RIFF\0\0\0\0WAVE");
        assert_eq!((&wav["type"], &wav["mimeType"]), (&json!("audio"), &json!("audio/wav")));
    }
}
