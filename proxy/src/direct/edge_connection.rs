//! A connection to the edge, which is reused between requests.

use std::sync::Arc;

use bytes::Bytes;
use http::{Request, StatusCode, Uri, header, request};
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
pub(super) struct Connection(Option<SendRequest<Full<Bytes>>>);

/// An error of one request to the edge. No variant quotes the response, which may hold secrets.
#[derive(Debug, thiserror::Error)]
pub(super) enum EdgeError {
    #[error("invalid edge address")]
    Address,
    #[error("cannot connect: {0}")]
    Connect(std::io::Error),
    #[error("TLS handshake failed: {0}")]
    Tls(std::io::Error),
    #[error("TLS is not available: {0}")]
    TlsConfig(#[from] tokio_rustls::rustls::Error),
    #[error("the connection failed: {0}")]
    Connection(#[from] hyper::Error),
    #[error("no response within 5 s")]
    TimedOut,
    #[error("unexpected status {0}, expected 200")]
    Status(u16),
    #[error("the response body is incomplete or too large: {0}")]
    Body(String),
    #[error("invalid response: it {0}")]
    Invalid(String),
}

impl Connection {
    /// Sends a GET and returns the body of the response.
    ///
    /// # Errors
    /// As [`Self::send`].
    pub(super) async fn get(
        &mut self,
        edge: &str,
        target: &str,
        authorization: &str,
        limit: usize,
    ) -> Result<Bytes, EdgeError> {
        self.send(edge, Request::get(target), authorization, Bytes::new(), limit).await
    }

    /// Sends a POST with a body of JSON and returns the body of the response.
    ///
    /// # Errors
    /// As [`Self::send`].
    pub(super) async fn post(
        &mut self,
        edge: &str,
        target: &str,
        authorization: &str,
        body: String,
        limit: usize,
    ) -> Result<Bytes, EdgeError> {
        let request = Request::post(target).header(header::CONTENT_TYPE, "application/json");
        self.send(edge, request, authorization, body.into(), limit).await
    }

    /// Sends a request and returns the body of the response, which must be a 200 of at most `limit`
    /// bytes.
    ///
    /// # Errors
    /// If there is no such response. The error never quotes it.
    async fn send(
        &mut self,
        edge: &str,
        request: request::Builder,
        authorization: &str,
        body: Bytes,
        limit: usize,
    ) -> Result<Bytes, EdgeError> {
        let uri: Uri = edge.parse().map_err(|_| EdgeError::Address)?;
        let authority = uri.authority().ok_or(EdgeError::Address)?;
        let request = request
            .header(header::HOST, authority.as_str())
            .header(header::AUTHORIZATION, authorization)
            .header(header::ACCEPT, "application/json")
            .header(header::USER_AGENT, "unified-tool-gateway-proxy")
            .body(Full::new(body))
            .map_err(|_| EdgeError::Address)?;
        let mut sender = match self.0.take().filter(|sender| !sender.is_closed()) {
            Some(sender) => sender,
            None => connect(&uri).await?,
        };
        let response = sender.send_request(request).await?;
        if response.status() != StatusCode::OK {
            return Err(EdgeError::Status(response.status().as_u16()));
        }
        let body = Limited::new(response.into_body(), limit).collect().await;
        let body = body.map_err(|error| EdgeError::Body(error.to_string()))?;
        self.0 = Some(sender);
        Ok(body.to_bytes())
    }
}

async fn connect(uri: &Uri) -> Result<SendRequest<Full<Bytes>>, EdgeError> {
    let host = uri.host().unwrap_or_default().trim_matches(['[', ']']);
    let secure = uri.scheme_str() == Some("https");
    let port = uri.port_u16().unwrap_or(if secure { 443 } else { 80 });
    let stream = TcpStream::connect((host, port)).await;
    let stream = stream.map_err(EdgeError::Connect)?;
    if !secure {
        return handshake(stream).await;
    }
    let name = ServerName::try_from(host.to_owned()).map_err(|_| EdgeError::Address)?;
    let stream = TlsConnector::from(tls()?).connect(name, stream).await;
    handshake(stream.map_err(EdgeError::Tls)?).await
}

/// Returns a TLS configuration that trusts the public certificate authorities.
fn tls() -> Result<Arc<ClientConfig>, EdgeError> {
    let roots = RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.to_vec() };
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()?;
    Ok(Arc::new(config.with_root_certificates(roots).with_no_client_auth()))
}

async fn handshake(
    stream: impl AsyncRead + AsyncWrite + Send + Unpin + 'static,
) -> Result<SendRequest<Full<Bytes>>, EdgeError> {
    let (sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
    // The task ends with the sender, which reports any error.
    tokio::spawn(async move {
        let _ended = connection.await;
    });
    Ok(sender)
}
