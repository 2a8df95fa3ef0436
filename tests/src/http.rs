//! An HTTP/1.1 client that sends exactly the given bytes.

use std::{
    io::{Read, Write},
    net::{SocketAddr, TcpStream},
    time::Duration,
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
}

/// Read timeout, longer than any response of the gateway takes.
const PATIENCE: Duration = Duration::from_secs(60);

impl Request {
    pub fn new(method: &str, target: &str) -> Self {
        Self { method: method.to_owned(), target: target.to_owned(), ..Self::default() }
    }

    pub fn get(target: &str) -> Self {
        Self::new("GET", target)
    }

    /// Returns a POST of JSON with its length and type.
    pub fn post(target: &str, body: &serde_json::Value) -> Self {
        Self::new("POST", target).header("Content-Type", "application/json").body(body.to_string())
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

    /// Sends the request on a new connection. Returns the whole response.
    pub fn send(&self, to: SocketAddr) -> Response {
        self.try_send(to).unwrap_or_else(|fault| panic!("{} {}: {fault}", self.method, self.target))
    }

    pub fn try_send(&self, to: SocketAddr) -> std::io::Result<Response> {
        exchange(to, &self.bytes(to), self.method == "HEAD")
    }

    fn bytes(&self, to: SocketAddr) -> Vec<u8> {
        let mut head = format!("{} {} HTTP/1.1\r\nConnection: close\r\n", self.method, self.target);
        if !self.headers.iter().any(|(name, _)| name == "Host") {
            head.push_str(&format!("Host: {to}\r\n"));
        }
        for (name, value) in &self.headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        head.push_str("\r\n");
        let mut bytes = head.into_bytes();
        bytes.extend_from_slice(&self.body);
        bytes
    }
}

/// Sends `bytes` on a new connection. Returns the response.
fn exchange(to: SocketAddr, bytes: &[u8], without_body: bool) -> std::io::Result<Response> {
    let mut stream = TcpStream::connect(to)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.write_all(bytes)?;
    let mut response = Vec::new();
    // A server that refuses a body may reset the connection after its response. What arrived before counts.
    let read = read_response(&mut stream, &mut response, without_body);
    Response::parse(&response).ok_or_else(|| {
        let why = read.err().map(|fault| fault.to_string()).unwrap_or_default();
        std::io::Error::other(format!("no response: {why} {:?}", String::from_utf8_lossy(&response)))
    })
}

/// Reads to the end of the response by its framing, or to the end of the connection. workerd keeps a
/// connection open for five seconds despite `Connection: close`.
fn read_response(stream: &mut TcpStream, response: &mut Vec<u8>, without_body: bool) -> std::io::Result<()> {
    let mut piece = [0; 65_536];
    while !Response::is_complete(response, without_body) {
        match stream.read(&mut piece)? {
            0 => break,
            n => response.extend_from_slice(&piece[..n]),
        }
    }
    Ok(())
}

impl Response {
    /// Sends exactly these bytes. Returns the response.
    pub fn of_exchange(to: SocketAddr, bytes: &[u8]) -> Self {
        exchange(to, bytes, false).unwrap()
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(own, _)| own.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
    }

    /// Returns the body as JSON, or `null` if it is not JSON.
    pub fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }

    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// Returns the `code` of a problem, or an empty string if the response is not one.
    pub fn code(&self) -> String {
        self.json()["code"].as_str().unwrap_or_default().to_owned()
    }

    /// Returns true if `bytes` hold a whole response. One without framing ends with its connection.
    fn is_complete(bytes: &[u8], without_body: bool) -> bool {
        let mut lines = [httparse::EMPTY_HEADER; 128];
        let mut head = httparse::Response::new(&mut lines);
        let Ok(httparse::Status::Complete(length)) = head.parse(bytes) else { return false };
        let status = head.code.unwrap_or_default();
        let value = |name: &str| {
            let line = head.headers.iter().find(|line| line.name.eq_ignore_ascii_case(name))?;
            std::str::from_utf8(line.value).ok()
        };
        let (body, stated) = (&bytes[length..], value("content-length").and_then(|text| text.parse().ok()));
        match status {
            100..200 => Self::is_complete(body, without_body),
            204 | 304 => true,
            _ if without_body => true,
            _ if value("transfer-encoding").is_some() => dechunk(body).1,
            _ => stated.is_some_and(|stated: usize| body.len() >= stated),
        }
    }

    /// Reads and returns the next response on a connection that stays open.
    pub fn read_from(stream: &mut TcpStream) -> std::io::Result<Self> {
        let mut response = Vec::new();
        read_response(stream, &mut response, false)?;
        Self::parse(&response).ok_or_else(|| std::io::Error::other("closed"))
    }

    /// Returns the response as far as it has arrived, or `None` before its head is complete.
    pub fn so_far(bytes: &[u8]) -> Option<Self> {
        Self::parse(bytes)
    }

    fn parse(bytes: &[u8]) -> Option<Self> {
        let mut lines = [httparse::EMPTY_HEADER; 128];
        let mut head = httparse::Response::new(&mut lines);
        let httparse::Status::Complete(length) = head.parse(bytes).ok()? else { return None };
        let status = head.code?;
        if (100..200).contains(&status) {
            return Self::parse(&bytes[length..]);
        }
        let headers: Vec<(String, String)> = head
            .headers
            .iter()
            .map(|line| (line.name.to_owned(), String::from_utf8_lossy(line.value).into_owned()))
            .collect();
        let mut response = Self { status, headers, body: bytes[length..].to_vec() };
        if response.header("transfer-encoding").is_some_and(|coding| coding.eq_ignore_ascii_case("chunked")) {
            response.body = dechunk(&response.body).0;
        }
        Some(response)
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
