//! Documents that are the same for every client, but for the server's address: rendered when the service
//! is built, and served by a proxy in direct mode, which has none of the code that renders them.

use serde::{Deserialize, Serialize};

use crate::response::Response;
use crate::sorted_map::SortedMap;

/// Stands for the server's address, such as `https://api.example.com`, in a rendered text.
pub const SERVER: &str = "https://server.invalid";

/// The headers that a document may have beside those of every cacheable response.
const HEADERS: [&str; 3] = ["content-security-policy", "referrer-policy", "link"];

/// A rendered document.
///
/// ```
/// use shared::{
///     document::{Document, SERVER},
///     response::Response,
/// };
///
/// let text = format!("Call {SERVER}/v1/qr/generate.");
/// let document = Document::of("/llms.txt", Response::public("text/plain", text));
/// let response = document.respond("https://api.example.com");
/// assert_eq!(response.body, "Call https://api.example.com/v1/qr/generate.");
/// assert_eq!(response.header("content-type"), Some("text/plain"));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Document {
    /// The path at which clients get it.
    pub path: String,
    media_type: String,
    headers: SortedMap<String, String>,
    text: String,
}

impl Document {
    /// Returns the document of a path with what a response has. Its text has [`SERVER`] in place of the
    /// server's address.
    pub fn of(path: impl Into<String>, response: Response) -> Self {
        let named = |name: &str| response.header(name).map(|value| (name.to_owned(), value.to_owned()));
        Self {
            path: path.into(),
            media_type: response.header("content-type").unwrap_or_default().to_owned(),
            headers: HEADERS.into_iter().filter_map(named).collect(),
            text: response.body,
        }
    }

    /// Returns the response with the document. `server` must have no character that HTML or JSON
    /// escapes. Without one, paths are relative.
    pub fn respond(&self, server: &str) -> Response {
        let text = self.text.replace(SERVER, server);
        let headers = HEADERS.into_iter().filter_map(|name| Some((name, self.headers.get(name)?.clone())));
        Response::public(self.media_type.clone(), text).with_headers(headers)
    }
}
