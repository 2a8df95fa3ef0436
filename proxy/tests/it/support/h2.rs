//! A client that speaks HTTP/2.

use std::net::SocketAddr;

use bytes::Bytes;
use h2::client::{ResponseFuture, SendRequest};
use tokio::{net::TcpStream, task::JoinHandle, time::timeout};

use super::{Answer, PATIENCE, Request, client::Io, tls::Visitor};

/// One connection.
pub(crate) struct Http2 {
    pub(crate) send: SendRequest<Bytes>,
    connection: JoinHandle<Result<(), h2::Error>>,
}

impl Http2 {
    /// Without TLS, without asking.
    pub(crate) async fn plain(to: SocketAddr) -> Self {
        Self::over(TcpStream::connect(to).await.expect("a connection")).await
    }

    /// Agreed on in the handshake.
    pub(crate) async fn safe(visitor: Visitor, to: SocketAddr) -> Self {
        let stream = visitor.alpn("h2").stream(to).await.expect("a handshake");
        assert_eq!(stream.get_ref().1.alpn_protocol(), Some(&b"h2"[..]));
        Self::over(stream).await
    }

    async fn over(stream: impl Io + 'static) -> Self {
        let (send, connection) = h2::client::handshake(stream).await.expect("a greeting");
        Self { send, connection: tokio::spawn(connection) }
    }

    /// Sends a request with its body.
    pub(crate) async fn send(&self, request: &Request) -> Answer {
        self.try_send(request).await.expect("an answer")
    }

    pub(crate) async fn try_send(&self, request: &Request) -> Result<Answer, h2::Error> {
        let head = head(request).expect("a request that can be told in HTTP/2");
        let mut sender = self.send.clone().ready().await?;
        let (answer, mut body) = sender.send_request(head, request.body_bytes().is_empty())?;
        if !request.body_bytes().is_empty() {
            // The library keeps it until the other side takes it. It may have heard enough already.
            let _taken = body.send_data(Bytes::copy_from_slice(request.body_bytes()), true);
        }
        read(answer, request.method() == "HEAD").await
    }

    /// Sends a request whose body is still to come.
    pub(crate) async fn begin(&self, request: &Request) -> (ResponseFuture, h2::SendStream<Bytes>) {
        let mut sender = self.send.clone().ready().await.expect("a connection that lives");
        sender.send_request(head(request).expect("a request"), false).expect("to send")
    }

    /// How it ends.
    pub(crate) async fn ended(self) -> Result<(), h2::Error> {
        // While a request can be made the library does not let go.
        drop(self.send);
        timeout(PATIENCE, self.connection).await.expect("an end in time").expect("no panic")
    }

    /// Whether it has ended while requests could still be made.
    pub(crate) fn is_over(&self) -> bool {
        self.connection.is_finished()
    }
}

/// The head of a request; `None` for what cannot be told in HTTP/2.
pub(crate) fn head(request: &Request) -> Option<http::Request<()>> {
    let mut built = http::Request::builder().method(request.method());
    // A request has one from its beginning, which another one replaces.
    let authority =
        request.headers().iter().rfind(|(name, _)| name == "Host").map(|(_, value)| value.clone());
    for (name, value) in request.headers().iter().filter(|(name, _)| name != "Host") {
        if ["connection", "transfer-encoding"].contains(&name.to_ascii_lowercase().as_str()) {
            return None;
        } else {
            built = built.header(name, value);
        }
    }
    let target: http::uri::PathAndQuery = request.target().parse().ok()?;
    if target.as_str() != request.target() {
        return None;
    }
    let uri = http::Uri::builder().scheme("https").authority(authority?).path_and_query(target);
    built.uri(uri.build().ok()?).body(()).ok()
}

/// The answer with its body, as far as it came.
pub(crate) async fn read(answer: ResponseFuture, head_only: bool) -> Result<Answer, h2::Error> {
    let (parts, mut stream) = timeout(PATIENCE, answer).await.expect("an answer in time")?.into_parts();
    let mut head = format!("HTTP/2 {}\r\n", parts.status);
    for (name, value) in &parts.headers {
        head.push_str(&format!("{name}: {}\r\n", value.to_str().unwrap()));
    }
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
    Ok(Answer { status: parts.status.as_u16(), head, body, complete })
}
