//! The tokio client.

use std::{io, net::SocketAddr};

use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt},
    net::TcpStream,
    time::timeout,
};

use super::{Request, Response};
use crate::wait::PATIENCE;

/// A byte stream, such as TCP or TLS.
pub trait Io: AsyncRead + AsyncWrite + Unpin + Send {}

impl<T: AsyncRead + AsyncWrite + Unpin + Send> Io for T {}

/// A connection that sends the bytes it is given and reads HTTP/1.1 responses.
pub struct Client {
    stream: Box<dyn Io>,
    unread: Vec<u8>,
}

impl Client {
    pub async fn connect(to: SocketAddr) -> Self {
        Self::try_connect(to).await.expect("a connection")
    }

    pub async fn try_connect(to: SocketAddr) -> io::Result<Self> {
        TcpStream::connect(to).await.map(Self::over)
    }

    /// Opens a connection that is reset when it is dropped.
    pub async fn connect_abortive(to: SocketAddr) -> Self {
        let stream = TcpStream::connect(to).await.expect("a connection");
        stream.set_zero_linger().expect("a socket");
        Self::over(stream)
    }

    pub fn over(stream: impl Io + 'static) -> Self {
        Self { stream: Box::new(stream), unread: Vec::new() }
    }

    /// Sends a request on a new connection. Returns `None` if the connection ends without a
    /// response.
    pub async fn send_once(to: SocketAddr, request: &Request) -> Option<Response> {
        let mut client = Self::try_connect(to).await.ok()?;
        client.try_write(&request.bytes()).await;
        client.response(&request.method).await
    }

    pub async fn write(&mut self, bytes: &[u8]) {
        self.stream.write_all(bytes).await.expect("to write");
    }

    /// Writes until everything is sent or the peer closes the connection. Returns true if
    /// everything was sent.
    ///
    /// # Panics
    /// If the peer stops reading.
    pub async fn try_write(&mut self, bytes: &[u8]) -> bool {
        timeout(PATIENCE, self.stream.write_all(bytes)).await.expect("the peer reads").is_ok()
    }

    /// Closes the sending half of the connection.
    pub async fn close_half(&mut self) {
        self.stream.shutdown().await.expect("to close one half");
    }

    /// Reads the next final response to a request with this method. Returns `None` if the
    /// connection ends first.
    pub async fn response(&mut self, method: &str) -> Option<Response> {
        timeout(PATIENCE, self.read_response(method)).await.expect("a response or an end in time")
    }

    async fn read_response(&mut self, method: &str) -> Option<Response> {
        loop {
            let mut response = Response::parse_head(&self.head().await?)?;
            if (100..200).contains(&response.status) {
                continue;
            }
            if method != "HEAD" && !matches!(response.status, 204 | 304) {
                (response.body, response.complete) = self.body(&response).await;
            }
            return Some(response);
        }
    }

    /// Reads the next head, which may be that of an interim response.
    pub async fn head(&mut self) -> Option<String> {
        let end = self.read_until(b"\r\n\r\n").await?;
        let head = self.unread.drain(..end).collect::<Vec<_>>();
        String::from_utf8(head).ok()
    }

    /// Reads a body. Returns it as far as it arrived, and whether it is complete.
    async fn body(&mut self, response: &Response) -> (Vec<u8>, bool) {
        if let Some(length) = response.header("content-length") {
            let length: usize = length.parse().expect("a length");
            let complete = self.read_at_least(length).await.is_some();
            let length = length.min(self.unread.len());
            return (self.unread.drain(..length).collect(), complete);
        }
        if response.header("transfer-encoding").is_some() {
            return self.chunks().await;
        }
        while self.read_more().await.is_some() {}
        (std::mem::take(&mut self.unread), true)
    }

    async fn chunks(&mut self) -> (Vec<u8>, bool) {
        let mut body = Vec::new();
        loop {
            match self.chunk().await {
                Some(chunk) if chunk.is_empty() => return (body, true),
                Some(chunk) => body.extend_from_slice(&chunk),
                None => return (body, false),
            }
        }
    }

    /// Reads the next chunk of a chunked body. The last one is empty. Returns `None` if the
    /// connection ends first.
    pub async fn chunk(&mut self) -> Option<Vec<u8>> {
        let start = self.read_until(b"\r\n").await?;
        let size = std::str::from_utf8(&self.unread[..start - 2]).unwrap();
        let end = start + usize::from_str_radix(size, 16).unwrap();
        self.read_at_least(end + 2).await?;
        let chunk = self.unread.drain(..end + 2).skip(start).take(end - start).collect();
        Some(chunk)
    }

    /// Waits for the end of the connection. Returns true if no byte arrives before it.
    pub async fn is_closed(&mut self) -> bool {
        timeout(PATIENCE, self.read_more()).await.expect("an end in time").is_none()
    }

    /// Reads until `end` has arrived. Returns the position behind it.
    async fn read_until(&mut self, end: &[u8]) -> Option<usize> {
        loop {
            if let Some(at) = self.unread.windows(end.len()).position(|window| window == end) {
                return Some(at + end.len());
            }
            self.read_more().await?;
        }
    }

    /// Reads until so many bytes are buffered.
    async fn read_at_least(&mut self, bytes: usize) -> Option<()> {
        while self.unread.len() < bytes {
            self.read_more().await?;
        }
        Some(())
    }

    async fn read_more(&mut self) -> Option<()> {
        let read = self.stream.read_buf(&mut self.unread).await.unwrap_or(0);
        (read > 0).then_some(())
    }
}
