//! A minimal HTTP/2 client. Several callers share a connection.

use std::io;
use std::net::SocketAddr;

use bytes::Bytes;
use h2::client::SendRequest;
use http::Request;
use memchr::memmem;
use tokio::net::TcpStream;
use tokio::task::spawn_local;

use crate::secure::Certificate;

/// A connection, of which each caller has a clone.
#[derive(Clone)]
pub(crate) struct Http2Connection(SendRequest<Bytes>);

impl Http2Connection {
    /// Opens a connection with TLS. Must be called within a `LocalSet`.
    ///
    /// # Errors
    /// Returns the error of the connection or its handshakes.
    pub(crate) async fn open(address: SocketAddr, certificate: &Certificate) -> io::Result<Self> {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        let stream = certificate.connect(stream, true).await?;
        let (send, connection) = h2::client::handshake(stream).await.map_err(io::Error::other)?;
        spawn_local(async move {
            // A call that fails reports it.
            let _ended = connection.await;
        });
        Ok(Self(send))
    }

    /// Sends a request, given as in HTTP/1.1. Reads the whole response and returns its status.
    ///
    /// # Errors
    /// Returns an error if the stream or the connection fails.
    pub(crate) async fn call(&mut self, request: &[u8]) -> io::Result<u16> {
        let end = memmem::find(request, b"\r\n\r\n").map_or(request.len(), |end| end + 4);
        let (head, body) = request.split_at(end);
        let request = parse(head)?;
        let mut send = self.0.clone().ready().await.map_err(io::Error::other)?;
        let (response, mut sent) = send.send_request(request, body.is_empty()).map_err(io::Error::other)?;
        if !body.is_empty() {
            sent.send_data(Bytes::copy_from_slice(body), true).map_err(io::Error::other)?;
        }
        let response = response.await.map_err(io::Error::other)?;
        let status = response.status().as_u16();
        let mut body = response.into_body();
        while let Some(data) = body.data().await {
            let length = data.map_err(io::Error::other)?.len();
            body.flow_control().release_capacity(length).map_err(io::Error::other)?;
        }
        Ok(status)
    }
}

/// Parses the head of a request.
fn parse(head: &[u8]) -> io::Result<Request<()>> {
    let malformed = || io::Error::from(io::ErrorKind::InvalidData);
    let head = std::str::from_utf8(head).map_err(io::Error::other)?;
    let mut lines = head.lines();
    let mut first = lines.next().unwrap_or_default().split(' ');
    let (method, target) = first.next().zip(first.next()).ok_or_else(malformed)?;
    let headers = lines.filter_map(|line| line.split_once(": "));
    let host = headers.clone().find(|(name, _)| *name == "Host").map_or("", |(_, host)| host);
    let mut request = Request::builder().method(method).uri(format!("https://{host}{target}"));
    for (name, value) in headers.filter(|(name, _)| *name != "Host") {
        request = request.header(name, value);
    }
    request.body(()).map_err(io::Error::other)
}
