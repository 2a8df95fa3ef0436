//! An HTTP/2 client on the library `h2`.

pub mod frames;

use std::net::SocketAddr;

use bytes::Bytes;
use h2::client::{ResponseFuture, SendRequest};
use tokio::{net::TcpStream, task::JoinHandle, time::timeout};

use crate::{PATIENCE, Request, Response, http::Io, tls::TlsClient};

/// An HTTP/2 connection.
pub struct Http2Client {
    pub send: SendRequest<Bytes>,
    connection: JoinHandle<Result<(), h2::Error>>,
}

impl Http2Client {
    /// Connects without TLS and with prior knowledge (RFC 9113, section 3.3).
    pub async fn prior_knowledge(to: SocketAddr) -> Self {
        Self::handshake(TcpStream::connect(to).await.expect("a connection")).await
    }

    /// Connects over TLS and agrees on HTTP/2 by ALPN.
    pub async fn over_tls(client: TlsClient, to: SocketAddr) -> Self {
        let stream = client.alpn("h2").stream(to).await.expect("a handshake");
        assert_eq!(stream.get_ref().1.alpn_protocol(), Some(&b"h2"[..]));
        Self::handshake(stream).await
    }

    async fn handshake(stream: impl Io + 'static) -> Self {
        let (send, connection) = h2::client::handshake(stream).await.expect("a handshake");
        Self { send, connection: tokio::spawn(connection) }
    }

    /// Sends a request with its body.
    pub async fn send(&self, request: &Request) -> Response {
        self.try_send(request).await.expect("a response")
    }

    /// Sends a request with its body. Returns an error if the peer resets the stream or closes the
    /// connection.
    pub async fn try_send(&self, request: &Request) -> Result<Response, h2::Error> {
        let head = head(request).expect("a request that HTTP/2 can express");
        let mut sender = self.send.clone().ready().await?;
        let (response, mut body) = sender.send_request(head, request.body.is_empty())?;
        if !request.body.is_empty() {
            // The library buffers the body. Sending fails if the peer has already refused it.
            let _sent = body.send_data(Bytes::copy_from_slice(&request.body), true);
        }
        read(response, request.method == "HEAD").await
    }

    /// Sends the head of a request. The caller sends the body.
    pub async fn begin(&self, request: &Request) -> (ResponseFuture, h2::SendStream<Bytes>) {
        let mut sender = self.send.clone().ready().await.expect("an open connection");
        sender.send_request(head(request).expect("a request"), false).expect("to send")
    }

    /// Waits for the end of the connection. Returns an error unless the peer closed it gracefully.
    pub async fn closed(self) -> Result<(), h2::Error> {
        // The library keeps the connection open while a request can be sent.
        drop(self.send);
        timeout(PATIENCE, self.connection).await.expect("an end in time").expect("no panic")
    }

    /// Returns true if the connection has ended.
    pub fn is_closed(&self) -> bool {
        self.connection.is_finished()
    }
}

/// Returns the head of a request, or `None` if HTTP/2 cannot express it.
pub fn head(request: &Request) -> Option<http::Request<()>> {
    let mut built = http::Request::builder().method(request.method.as_str());
    let (hosts, headers): (Vec<_>, Vec<_>) = request.headers.iter().partition(|(name, _)| name == "Host");
    for (name, value) in headers {
        if ["connection", "transfer-encoding"].contains(&name.to_ascii_lowercase().as_str()) {
            return None;
        }
        built = built.header(name, value);
    }
    let target: http::uri::PathAndQuery = request.target.parse().ok()?;
    if hosts.len() > 1 || target.as_str() != request.target {
        return None;
    }
    let uri = http::Uri::builder().scheme("https").authority(request.authority()).path_and_query(target);
    built.uri(uri.build().ok()?).body(()).ok()
}

/// Reads a response with its body, as far as it arrives.
pub async fn read(response: ResponseFuture, head_only: bool) -> Result<Response, h2::Error> {
    let (parts, mut stream) = timeout(PATIENCE, response).await.expect("a response in time")?.into_parts();
    let header = |(name, value): (&http::HeaderName, &http::HeaderValue)| {
        (name.as_str().to_owned(), value.to_str().unwrap().to_owned())
    };
    let headers = parts.headers.iter().map(header).collect();
    let (mut body, mut complete) = (Vec::new(), true);
    while let Some(data) = timeout(PATIENCE, stream.data()).await.expect("more in time") {
        let Ok(data) = data else {
            complete = false;
            break;
        };
        stream.flow_control().release_capacity(data.len()).unwrap();
        body.extend_from_slice(&data);
    }
    assert!(!head_only || body.is_empty());
    Ok(Response { status: parts.status.as_u16(), headers, body, complete })
}
