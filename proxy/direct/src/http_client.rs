//! A client of other services over HTTP/1.1, whose connection is reused between requests.

use std::sync::Arc;

use bytes::Bytes;
use http::{Response, Uri, header, request};
use http_body_util::{BodyExt, Full, Limited};
use hyper::client::conn::http1::{self, SendRequest};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::ServerName;
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

/// A reusable HTTP/1.1 connection.
#[derive(Default)]
pub struct Connection(Option<SendRequest<Full<Bytes>>>);

/// An error of one request. No variant quotes the response, which may hold secrets.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    #[error("invalid address")]
    Address,
    #[error("cannot connect: {0}")]
    Connect(std::io::Error),
    #[error("TLS handshake failed: {0}")]
    Tls(std::io::Error),
    #[error("TLS is not available: {0}")]
    TlsConfig(#[from] tokio_rustls::rustls::Error),
    #[error("the connection failed: {0}")]
    Connection(#[from] hyper::Error),
    #[error("the response body is incomplete or too large: {0}")]
    Body(String),
}

impl Connection {
    /// Sends a request to the server of `base`. Returns the response, whose body must be at most
    /// `limit` bytes. The connection is closed if the future is dropped.
    ///
    /// # Errors
    /// If there is no such response. The error never quotes it.
    pub async fn send(
        &mut self,
        base: &Uri,
        request: request::Builder,
        body: Bytes,
        limit: usize,
    ) -> Result<Response<Bytes>, ClientError> {
        let authority = base.authority().ok_or(ClientError::Address)?;
        let request = request
            .header(header::HOST, authority.as_str())
            .header(header::USER_AGENT, "unified-tool-gateway-proxy")
            .body(Full::new(body))
            .map_err(|_| ClientError::Address)?;
        let mut sender = match self.0.take().filter(|sender| !sender.is_closed()) {
            Some(sender) => sender,
            None => connect(base).await?,
        };
        let (head, body) = sender.send_request(request).await?.into_parts();
        let body = Limited::new(body, limit).collect().await;
        let body = body.map_err(|error| ClientError::Body(error.to_string()))?;
        // Only after the whole body. Kept earlier, the next request would meet the rest of this
        // response.
        self.0 = Some(sender);
        Ok(Response::from_parts(head, body.to_bytes()))
    }
}

/// Connects to the server of a URI.
///
/// # Errors
/// If it cannot be reached.
pub async fn connect(uri: &Uri) -> Result<SendRequest<Full<Bytes>>, ClientError> {
    let host = uri.host().unwrap_or_default().trim_matches(['[', ']']);
    let secure = uri.scheme_str() == Some("https");
    let port = uri.port_u16().unwrap_or(if secure { 443 } else { 80 });
    let stream = TcpStream::connect((host, port)).await;
    let stream = stream.map_err(ClientError::Connect)?;
    if !secure {
        return handshake(stream).await;
    }
    let name = ServerName::try_from(host.to_owned()).map_err(|_| ClientError::Address)?;
    let stream = TlsConnector::from(tls()?).connect(name, stream).await;
    handshake(stream.map_err(ClientError::Tls)?).await
}

/// Returns a TLS configuration that trusts the public certificate authorities.
fn tls() -> Result<Arc<ClientConfig>, ClientError> {
    let roots = RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.to_vec() };
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()?;
    Ok(Arc::new(config.with_root_certificates(roots).with_no_client_auth()))
}

async fn handshake(
    stream: impl AsyncRead + AsyncWrite + Send + Unpin + 'static,
) -> Result<SendRequest<Full<Bytes>>, ClientError> {
    let (sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
    // The task ends with the sender, which reports any error.
    tokio::spawn(async move {
        let _ended = connection.await;
    });
    Ok(sender)
}
