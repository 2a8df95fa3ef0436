//! Documents that are the same for every client, but for the server's address: rendered when the service
//! is built, and served by a proxy in direct mode, which has none of the code that renders them.

use serde::{Deserialize, Serialize};

use crate::response::Response;
use crate::sorted_map::SortedMap;

/// Stands for the server's address, such as `https://api.example.com`, in a rendered text.
pub const SERVER: &str = "https://server.invalid";

const CACHE_CONTROL: &str = "cache-control";
/// The headers that a document may have beside those of every cacheable response.
const HEADERS: [&str; 5] =
    [CACHE_CONTROL, "content-security-policy", "referrer-policy", "link", "x-robots-tag"];

/// A rendered document.
///
/// ```
/// use shared::{
///     document::{Document, SERVER},
///     response::Response,
/// };
///
/// let text = format!("Call {SERVER}/v1/qr/generate.");
/// let document = Document::of("/llms.txt", Response::public("text/plain", text).into_bytes());
/// let response = document.respond("https://api.example.com");
/// assert_eq!(response.body, b"Call https://api.example.com/v1/qr/generate.");
/// assert_eq!(response.header("content-type"), Some("text/plain"));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Document {
    /// The path at which clients get it.
    pub path: String,
    media_type: String,
    headers: SortedMap<String, String>,
    content: Content,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
enum Content {
    Text(String),
    /// A file that is no text, such as a font.
    Bytes(Vec<u8>),
}

impl Document {
    /// Returns the document of a path with what a response has. Its text has [`SERVER`] in place of the
    /// server's address.
    pub fn of(path: impl Into<String>, response: Response<Vec<u8>>) -> Self {
        let named = |name: &str| response.header(name).map(|value| (name.to_owned(), value.to_owned()));
        Self {
            path: path.into(),
            media_type: response.header("content-type").unwrap_or_default().to_owned(),
            headers: HEADERS.into_iter().filter_map(named).collect(),
            content: String::from_utf8(response.body)
                .map_or_else(|error| Content::Bytes(error.into_bytes()), Content::Text),
        }
    }

    /// Returns the response with the document. `server` must have no character that HTML or JSON
    /// escapes. Without one, paths are relative.
    pub fn respond(&self, server: &str) -> Response<Vec<u8>> {
        let body = match &self.content {
            Content::Text(text) => text.replace(SERVER, server).into_bytes(),
            Content::Bytes(bytes) => bytes.clone(),
        };
        let mut response = Response::public(self.media_type.clone(), body);
        if self.headers.contains_key(CACHE_CONTROL) {
            response.headers.retain(|(name, _)| name != CACHE_CONTROL);
        }
        response.with_headers(
            HEADERS.into_iter().filter_map(|name| Some((name, self.headers.get(name)?.clone()))),
        )
    }
}
