//! An HTTP/1.1 connection to the target that reconnects when it is closed.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::client::conn::http1::{self, SendRequest};
use hyper::header::CONTENT_TYPE;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use shared::problem;
use thiserror::Error;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::ServerName;
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

use super::record::CallError;
use super::response::CallResponse;
use crate::target::Target;

/// The maximum number of bytes kept of a problem's body. Other bodies are counted and dropped.
const MAX_KEPT_BYTES: usize = 64 * 1024;
/// The timeout of a request that is sent on its own connection.
const SEND_ONCE_TIMEOUT: Duration = Duration::from_secs(10);

type Sender = SendRequest<Full<Bytes>>;

/// A failed request to a control API or gateway, outside of the measured calls.
#[derive(Debug, Error)]
pub enum RequestError {
    /// No connection could be opened.
    #[error("cannot connect to {target}: {source}")]
    Connect {
        /// The URL of the server.
        target: String,
        /// The cause.
        source: io::Error,
    },
    /// The connection failed before the response head.
    #[error("request to {target} failed: {source}")]
    Http {
        /// The URL of the server.
        target: String,
        /// The cause.
        source: hyper::Error,
    },
    /// The connection failed within the response body.
    #[error("response from {target}: {source}")]
    Response {
        /// The URL of the server.
        target: String,
        /// The cause.
        source: CallError,
    },
    /// The response was not complete in time.
    #[error("no complete response from {target} within {}", seconds(.timeout))]
    TimedOut {
        /// The URL of the server.
        target: String,
        /// The timeout.
        timeout: Duration,
    },
}

fn seconds(duration: &Duration) -> String {
    format!("{} s", duration.as_secs())
}

/// A connection that carries one call at a time.
pub(super) struct Connection {
    sender: Option<Sender>,
}

impl Connection {
    /// Opens a connection.
    ///
    /// # Errors
    /// Returns an error if that fails or takes longer than `within`.
    pub(super) async fn open(target: &Target, within: Duration) -> Result<Self, RequestError> {
        let opened = timeout(within, open(target)).await;
        let sender = opened.unwrap_or_else(|_elapsed| Err(io::ErrorKind::TimedOut.into()));
        let sender = sender.map_err(|source| RequestError::Connect { target: target.to_string(), source })?;
        Ok(Self { sender: Some(sender) })
    }

    /// Closes the connection. The next call opens a new one.
    pub(super) fn close(&mut self) {
        self.sender = None;
    }

    /// Sends a request and reads the response to its end.
    ///
    /// Replaces a connection that was closed while idle. A request is never resent once any part of
    /// it was sent.
    ///
    /// # Errors
    /// Returns an error if there is no complete response.
    pub(super) async fn call(
        &mut self,
        target: &Target,
        request: Request<Full<Bytes>>,
    ) -> Result<CallResponse, CallError> {
        let response = self.send(target, request).await?;
        let is_problem = response.headers().get(CONTENT_TYPE).is_some_and(|kind| kind == problem::MEDIA_TYPE);
        let response = CallResponse::read(response, if is_problem { MAX_KEPT_BYTES } else { 0 }).await;
        if response.is_err() {
            self.close();
        }
        response
    }

    async fn send(
        &mut self,
        target: &Target,
        request: Request<Full<Bytes>>,
    ) -> Result<Response<Incoming>, CallError> {
        let unsent = match &mut self.sender {
            Some(sender) => match sender.try_send_request(request).await {
                Ok(response) => return Ok(response),
                Err(mut error) => error.take_message().ok_or(CallError::NoResponse),
            },
            None => Ok(request),
        };
        self.sender = None;
        let request = unsent?;
        let mut sender = open(target).await.map_err(|_refused| CallError::Connect)?;
        let response = sender.send_request(request).await.map_err(|_ended| CallError::NoResponse)?;
        self.sender = Some(sender);
        Ok(response)
    }
}

/// Sends one request on its own connection and returns the response with the beginning of its body.
///
/// # Errors
/// Returns an error if the response is not complete within 10 seconds.
pub async fn send_once(target: &Target, request: Request<Full<Bytes>>) -> Result<CallResponse, RequestError> {
    let name = || target.to_string();
    let call = async {
        let connected = open(target).await;
        let mut sender = connected.map_err(|source| RequestError::Connect { target: name(), source })?;
        let sent = sender.send_request(request).await;
        let response = sent.map_err(|source| RequestError::Http { target: name(), source })?;
        let read = CallResponse::read(response, MAX_KEPT_BYTES).await;
        read.map_err(|source| RequestError::Response { target: name(), source })
    };
    let timed_out = |_elapsed| Err(RequestError::TimedOut { target: name(), timeout: SEND_ONCE_TIMEOUT });
    timeout(SEND_ONCE_TIMEOUT, call).await.unwrap_or_else(timed_out)
}

async fn open(target: &Target) -> io::Result<Sender> {
    let stream = TcpStream::connect(target.addr).await?;
    stream.set_nodelay(true)?;
    if target.tls {
        http_handshake(tls_handshake(target, stream).await?).await
    } else {
        http_handshake(stream).await
    }
}

async fn tls_handshake(target: &Target, stream: TcpStream) -> io::Result<TlsStream<TcpStream>> {
    let roots = RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.to_vec() };
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(io::Error::other)?
        .with_root_certificates(roots)
        .with_no_client_auth();
    let name = ServerName::try_from(target.host().to_owned()).map_err(io::Error::other)?;
    TlsConnector::from(Arc::new(config)).connect(name, stream).await
}

async fn http_handshake(stream: impl AsyncRead + AsyncWrite + Send + Unpin + 'static) -> io::Result<Sender> {
    let (sender, connection) = http1::handshake(TokioIo::new(stream)).await.map_err(io::Error::other)?;
    tokio::spawn(connection);
    Ok(sender)
}
