//! The default action: a description of the received request.

use http_body_util::BodyExt;
use hyper::body::Incoming;
use hyper::header::{HeaderMap, HeaderValue};
use hyper::{Request, StatusCode};
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};
use shared::tool::Tool;

use crate::tools::response::{ToolResponse, error, json};

/// The maximum size of a JSON body that the description contains.
const MAX_REPEATED_BYTES: usize = 16 * 1024;

/// Returns a description of the request as it reached the tool.
pub(super) async fn respond(tool: Tool, action: &str, request: Request<Incoming>) -> ToolResponse {
    let (head, body) = request.into_parts();
    let Ok(digest) = BodyDigest::read(body).await else {
        let message = "the connection was closed before the end of the body";
        return error(StatusCode::BAD_REQUEST, "body-incomplete", message);
    };
    let description = json!({
        "tool": tool.as_str(),
        "action": action,
        "method": head.method.as_str(),
        "path": head.uri.path(),
        "query": head.uri.query(),
        "headers": named_values(&head.headers),
        "body": digest.describe(),
    });
    json(StatusCode::OK, &description)
}

/// Returns the headers by lower-case name. A repeated header is a list.
fn named_values(headers: &HeaderMap) -> Map<String, Value> {
    let text = |value: &HeaderValue| Value::from(String::from_utf8_lossy(value.as_bytes()));
    headers
        .keys()
        .map(|name| {
            let mut values: Vec<Value> = headers.get_all(name).iter().map(text).collect();
            let value = if values.len() == 1 { values.remove(0) } else { values.into() };
            (name.as_str().to_owned(), value)
        })
        .collect()
}

/// The size and digest of a body, and the body itself while it is small.
#[derive(Default)]
struct BodyDigest {
    size: u64,
    sha256: Sha256,
    small: Option<Vec<u8>>,
}

impl BodyDigest {
    /// Reads a body to its end.
    async fn read(mut body: Incoming) -> Result<Self, hyper::Error> {
        let mut digest = Self { small: Some(Vec::new()), ..Self::default() };
        while let Some(frame) = body.frame().await {
            if let Ok(data) = frame?.into_data() {
                digest.add(&data);
            }
        }
        Ok(digest)
    }

    fn add(&mut self, data: &[u8]) {
        self.size += data.len() as u64;
        self.sha256.update(data);
        self.small = self.small.take().filter(|small| small.len() + data.len() <= MAX_REPEATED_BYTES).map(
            |mut small| {
                small.extend_from_slice(data);
                small
            },
        );
    }

    /// Returns size, SHA-256 and, if it is small JSON, the body itself.
    fn describe(self) -> Value {
        let sha256: String = self.sha256.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
        let json = self.small.and_then(|small| serde_json::from_slice::<Value>(&small).ok());
        json!({ "size": self.size, "sha256": sha256, "json": json })
    }
}
