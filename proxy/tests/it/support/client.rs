//! An HTTP/1.1 client without opinions: it sends the bytes it is given.

use std::net::SocketAddr;

use serde_json::Value;
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt},
    net::TcpStream,
    time::timeout,
};

use super::PATIENCE;

/// What a connection is made of.
pub(crate) trait Io: AsyncRead + AsyncWrite + Unpin + Send {}

impl<T: AsyncRead + AsyncWrite + Unpin + Send> Io for T {}

/// One connection.
pub(crate) struct Client {
    stream: Box<dyn Io>,
    unread: Vec<u8>,
}

/// A request to be written out.
#[derive(Clone)]
pub(crate) struct Request {
    method: String,
    target: String,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
}

/// What came back.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: Vec<u8>,
    /// Whether the body ended where its framing said it would.
    pub(crate) complete: bool,
}

impl Request {
    pub(crate) fn new(method: &str, target: &str) -> Self {
        Self {
            method: method.to_owned(),
            target: target.to_owned(),
            headers: vec![("Host".to_owned(), "gateway.test".to_owned())],
            body: Vec::new(),
        }
    }

    pub(crate) fn method(&self) -> &str {
        &self.method
    }

    pub(crate) fn target(&self) -> &str {
        &self.target
    }

    pub(crate) fn headers(&self) -> &[(String, String)] {
        &self.headers
    }

    /// A body of which nothing is said.
    pub(crate) fn bytes_of_body(self, body: &[u8]) -> Self {
        Self { body: body.to_vec(), ..self }
    }

    pub(crate) fn body_bytes(&self) -> &[u8] {
        &self.body
    }

    pub(crate) fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// A body with its length and a type.
    pub(crate) fn body(mut self, media_type: &str, body: &[u8]) -> Self {
        self.body = body.to_vec();
        self.header("Content-Type", media_type).header("Content-Length", &body.len().to_string())
    }

    pub(crate) fn json(self, body: &str) -> Self {
        self.body("application/json", body.as_bytes())
    }

    pub(crate) fn bytes(&self) -> Vec<u8> {
        let mut text = format!("{} {} HTTP/1.1\r\n", self.method, self.target);
        for (name, value) in &self.headers {
            text.push_str(&format!("{name}: {value}\r\n"));
        }
        text.push_str("\r\n");
        [text.as_bytes(), &self.body].concat()
    }

    /// Sends this alone over a connection of its own.
    pub(crate) async fn send(&self, to: SocketAddr) -> Answer {
        self.try_send(to).await.expect("an answer")
    }

    /// The same; `None` when the connection ends without an answer.
    pub(crate) async fn try_send(&self, to: SocketAddr) -> Option<Answer> {
        let mut client = Client::connect(to).await;
        client.write(&self.bytes()).await;
        client.answer(&self.method).await
    }
}

impl Client {
    pub(crate) async fn connect(to: SocketAddr) -> Self {
        Self::try_connect(to).await.expect("a connection")
    }

    pub(crate) async fn try_connect(to: SocketAddr) -> std::io::Result<Self> {
        TcpStream::connect(to).await.map(Self::over)
    }

    /// A connection that is reset when it is dropped.
    pub(crate) async fn connect_abortive(to: SocketAddr) -> Self {
        let stream = TcpStream::connect(to).await.expect("a connection");
        stream.set_zero_linger().expect("a socket");
        Self::over(stream)
    }

    pub(crate) fn over(stream: impl Io + 'static) -> Self {
        Self { stream: Box::new(stream), unread: Vec::new() }
    }

    pub(crate) async fn write(&mut self, bytes: &[u8]) {
        self.stream.write_all(bytes).await.expect("to write");
    }

    /// Writes as much as the other side takes; it may close in the middle.
    pub(crate) async fn write_some(&mut self, bytes: &[u8]) -> bool {
        self.stream.write_all(bytes).await.is_ok()
    }

    /// Closes the sending half of the connection.
    pub(crate) async fn close_half(&mut self) {
        self.stream.shutdown().await.expect("to close one half");
    }

    /// The next final answer; `None` when the connection ends without one.
    pub(crate) async fn answer(&mut self, method: &str) -> Option<Answer> {
        timeout(PATIENCE, self.read_answer(method)).await.expect("an answer or an end in time")
    }

    async fn read_answer(&mut self, method: &str) -> Option<Answer> {
        loop {
            let head = self.head().await?;
            let status: u16 = head.get(9..12)?.parse().ok()?;
            if (100..200).contains(&status) {
                continue;
            }
            let none = method == "HEAD" || matches!(status, 204 | 304);
            let (body, complete) = if none { (Vec::new(), true) } else { self.body(&head).await };
            return Some(Answer { status, head, body, complete });
        }
    }

    /// The next head, interim ones too.
    pub(crate) async fn head(&mut self) -> Option<String> {
        loop {
            if let Some(end) = find(&self.unread, b"\r\n\r\n") {
                let head = self.unread.drain(..end + 4).collect::<Vec<_>>();
                return String::from_utf8(head).ok();
            }
            self.read_more().await?;
        }
    }

    async fn body(&mut self, head: &str) -> (Vec<u8>, bool) {
        if let Some(length) = value(head, "content-length") {
            let length: usize = length.parse().expect("a length");
            while self.unread.len() < length {
                if self.read_more().await.is_none() {
                    return (std::mem::take(&mut self.unread), false);
                }
            }
            return (self.unread.drain(..length).collect(), true);
        }
        if value(head, "transfer-encoding").is_some() {
            return self.chunks().await;
        }
        while self.read_more().await.is_some() {}
        (std::mem::take(&mut self.unread), true)
    }

    async fn chunks(&mut self) -> (Vec<u8>, bool) {
        let mut body = Vec::new();
        loop {
            while find(&self.unread, b"\r\n").is_none() {
                if self.read_more().await.is_none() {
                    return (body, false);
                }
            }
            let end = find(&self.unread, b"\r\n").unwrap();
            let size = usize::from_str_radix(std::str::from_utf8(&self.unread[..end]).unwrap(), 16).unwrap();
            while self.unread.len() < end + 2 + size + 2 {
                if self.read_more().await.is_none() {
                    return (body, false);
                }
            }
            body.extend_from_slice(&self.unread[end + 2..end + 2 + size]);
            self.unread.drain(..end + 2 + size + 2);
            if size == 0 {
                return (body, true);
            }
        }
    }

    /// Whether the other side has closed the connection, without another byte.
    pub(crate) async fn is_closed(&mut self) -> bool {
        timeout(PATIENCE, self.read_more()).await.expect("an end in time").is_none()
    }

    async fn read_more(&mut self) -> Option<()> {
        let read = self.stream.read_buf(&mut self.unread).await.unwrap_or(0);
        (read > 0).then_some(())
    }
}

impl Answer {
    pub(crate) fn headers(&self) -> Vec<(String, String)> {
        let lines = self.head.split("\r\n").skip(1).filter_map(|line| line.split_once(": "));
        lines.map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        value(&self.head, name)
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|_| panic!("no JSON: {self:?}"))
    }

    /// The problem's code, after checking that the answer is a proper problem.
    pub(crate) fn problem(&self) -> String {
        assert_eq!(self.header("content-type"), Some("application/problem+json"), "{self:?}");
        let body = self.json();
        assert_eq!(body["status"], self.status);
        assert_eq!(body["request_id"].as_str(), self.header("x-request-id"));
        let code = body["code"].as_str().expect("a code").to_owned();
        assert_eq!(self.header("x-gateway-problem"), Some(code.as_str()), "the edge charges nothing for it");
        code
    }
}

fn value<'a>(head: &'a str, name: &str) -> Option<&'a str> {
    let lines = head.split("\r\n").skip(1).filter_map(|line| line.split_once(": "));
    lines.into_iter().find(|(other, _)| other.eq_ignore_ascii_case(name)).map(|(_, value)| value)
}

fn find(bytes: &[u8], wanted: &[u8]) -> Option<usize> {
    bytes.windows(wanted.len()).position(|window| window == wanted)
}
