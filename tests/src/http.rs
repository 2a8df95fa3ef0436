//! HTTP/1.1 messages, and clients that send exactly the given bytes.

mod blocking;
mod client;

use std::net::SocketAddr;

pub use self::{
    blocking::Connection,
    client::{Client, Io},
};

/// A request as sent over the wire.
#[derive(Clone, Debug, Default)]
pub struct Request {
    pub method: String,
    pub target: String,
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

/// A response as received.
#[derive(Clone, Debug)]
pub struct Response {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
    /// Whether the body ended as its framing says.
    pub complete: bool,
}

/// The `Host` of a request that names none.
const HOST: &str = "gateway.test";

impl Request {
    pub fn new(method: &str, target: &str) -> Self {
        Self { method: method.to_owned(), target: target.to_owned(), ..Self::default() }
    }

    pub fn get(target: &str) -> Self {
        Self::new("GET", target)
    }

    /// Returns a POST of JSON with its length and type.
    pub fn post(target: &str, body: &serde_json::Value) -> Self {
        Self::new("POST", target).json(&body.to_string())
    }

    #[must_use]
    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    #[must_use]
    pub fn key(self, key: &str) -> Self {
        self.header("X-API-Key", key)
    }

    /// Sets the body and its `Content-Length`.
    #[must_use]
    pub fn body(mut self, body: impl Into<Vec<u8>>) -> Self {
        self.body = body.into();
        let length = self.body.len().to_string();
        self.header("Content-Length", &length)
    }

    /// Sets the body with its length and the type of JSON.
    #[must_use]
    pub fn json(self, body: &str) -> Self {
        self.header("Content-Type", "application/json").body(body)
    }

    /// Returns the value of the first header line with this exact name.
    fn own_header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(own, _)| own == name).map(|(_, value)| value.as_str())
    }

    /// Returns the bytes of the request. A request without a `Host` gets one as its first header.
    pub fn bytes(&self) -> Vec<u8> {
        let mut text = format!("{} {} HTTP/1.1\r\n", self.method, self.target);
        if self.own_header("Host").is_none() {
            text.push_str(&format!("Host: {HOST}\r\n"));
        }
        for (name, value) in &self.headers {
            text.push_str(&format!("{name}: {value}\r\n"));
        }
        text.push_str("\r\n");
        [text.as_bytes(), &self.body].concat()
    }

    /// Returns the authority that the request names, or the default one.
    pub fn authority(&self) -> &str {
        self.own_header("Host").unwrap_or(HOST)
    }

    /// Sends the request on a new connection, which it asks to close, with `to` as its `Host`
    /// unless it has one. Blocks until the whole response has arrived.
    ///
    /// # Panics
    /// If the connection ends without a response.
    pub fn send(&self, to: SocketAddr) -> Response {
        self.try_send(to).unwrap_or_else(|| panic!("no response: {} {}", self.method, self.target))
    }

    /// Does the same. Returns `None` if nothing listens or the connection ends without a response.
    pub fn try_send(&self, to: SocketAddr) -> Option<Response> {
        let mut request = self.clone();
        if self.own_header("Host").is_none() {
            request.headers.insert(0, ("Host".to_owned(), to.to_string()));
        }
        request.headers.insert(0, ("Connection".to_owned(), "close".to_owned()));
        let mut connection = Connection::try_connect(to).ok()?;
        connection.write(&request.bytes());
        connection.response(&self.method)
    }
}

impl Response {
    /// Returns the value of the first header with this name, in any case.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(own, _)| own.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
    }

    /// Returns the values of all headers with this name, in any case.
    pub fn header_values(&self, name: &str) -> Vec<&str> {
        let own = self.headers.iter().filter(|(own, _)| own.eq_ignore_ascii_case(name));
        own.map(|(_, value)| value.as_str()).collect()
    }

    /// Returns the body as JSON.
    ///
    /// # Panics
    /// If it is not JSON.
    pub fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|_| panic!("not JSON: {self:?}"))
    }

    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// Returns the `code` of a problem, or an empty string if the response is not one.
    pub fn code(&self) -> String {
        let body = serde_json::from_slice::<serde_json::Value>(&self.body).unwrap_or_default();
        body["code"].as_str().unwrap_or_default().to_owned()
    }

    /// Asserts that the response is a well-formed problem, which says whether to retry as the table of codes does.
    /// Returns its code.
    pub fn problem(&self) -> String {
        assert_eq!(self.header("content-type"), Some("application/problem+json"), "{self:?}");
        let body = self.json();
        assert_eq!(body["status"], self.status);
        assert_eq!(body["request_id"].as_str(), self.header("x-request-id"));
        let code = body["code"].as_str().expect("a code").to_owned();
        let retry = body["retry"].as_str().expect("whether to retry");
        match shared::problem::codes::parse(&code) {
            Some(known) => assert_eq!(retry, known.retry().as_str(), "{code}"),
            // Those of bio-link, whose table has its own test.
            None => assert!(["never", "later", "after_read"].contains(&retry), "{code}"),
        }
        assert_eq!(self.header("x-gateway-problem"), Some(code.as_str()), "the edge charges nothing for it");
        code
    }

    /// Reads a head, from its status line to its empty line. Returns a response without its body.
    pub(crate) fn parse_head(head: &str) -> Option<Self> {
        let mut lines = head.split("\r\n");
        let status = lines.next()?.get(9..12)?.parse().ok()?;
        let headers = lines.filter_map(|line| line.split_once(':'));
        let headers = headers.map(|(name, value)| (name.to_owned(), value.trim().to_owned())).collect();
        Some(Self { status, headers, body: Vec::new(), complete: true })
    }
}

/// Returns the content of a chunked body as far as it has arrived, and whether it is complete.
pub(crate) fn dechunk(mut rest: &[u8]) -> (Vec<u8>, bool) {
    let mut body = Vec::new();
    while let Ok(httparse::Status::Complete((start, size))) = httparse::parse_chunk_size(rest) {
        let end = start + usize::try_from(size).unwrap_or(usize::MAX);
        if size == 0 {
            return (body, rest[start..].ends_with(b"\r\n"));
        }
        if end > rest.len() {
            break;
        }
        body.extend_from_slice(&rest[start..end]);
        rest = rest.get(end + 2..).unwrap_or_default();
    }
    (body, false)
}
