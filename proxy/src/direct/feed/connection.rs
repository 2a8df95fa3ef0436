//! One connection to the edge, which is kept between questions.

use std::sync::Arc;

use bytes::Bytes;
use http::{Request, StatusCode, Uri, header};
use http_body_util::{BodyExt, Empty, Limited};
use hyper::client::conn::http1::{self, SendRequest};
use hyper_util::rt::TokioIo;
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::TcpStream,
};
use tokio_rustls::{
    TlsConnector,
    rustls::{ClientConfig, RootCertStore, crypto::ring, pki_types::ServerName},
};

/// The connection, if there is one.
#[derive(Default)]
pub(super) struct Connection(Option<SendRequest<Empty<Bytes>>>);

impl Connection {
    /// What the edge answers to a GET, which must be a 200 of at most so many bytes.
    ///
    /// # Errors
    /// Why there is no such answer. Never quotes it.
    pub(super) async fn get(
        &mut self,
        edge: &str,
        target: &str,
        authorization: &str,
        most: usize,
    ) -> Result<Bytes, String> {
        let uri: Uri = edge.parse().map_err(|_| "its address cannot be read".to_owned())?;
        let authority = uri.authority().ok_or("its address has no host")?;
        let request = Request::get(target)
            .header(header::HOST, authority.as_str())
            .header(header::AUTHORIZATION, authorization)
            .header(header::ACCEPT, "application/json")
            .header(header::USER_AGENT, "unified-tool-gateway-proxy")
            .body(Empty::new())
            .map_err(|error| error.to_string())?;
        let mut sender = match self.0.take().filter(|sender| !sender.is_closed()) {
            Some(sender) => sender,
            None => connect(&uri).await?,
        };
        let answer =
            sender.send_request(request).await.map_err(|error| format!("the connection broke: {error}"))?;
        if answer.status() != StatusCode::OK {
            return Err(format!("it answers {}", answer.status().as_u16()));
        }
        let body = Limited::new(answer.into_body(), most).collect().await;
        let body = body.map_err(|error| format!("its answer cannot be read to its end: {error}"))?;
        self.0 = Some(sender);
        Ok(body.to_bytes())
    }
}

async fn connect(uri: &Uri) -> Result<SendRequest<Empty<Bytes>>, String> {
    let host = uri.host().unwrap_or_default().trim_matches(['[', ']']);
    let secure = uri.scheme_str() == Some("https");
    let port = uri.port_u16().unwrap_or(if secure { 443 } else { 80 });
    let stream = TcpStream::connect((host, port)).await;
    let stream = stream.map_err(|error| format!("it cannot be reached: {error}"))?;
    if !secure {
        return speak(stream).await;
    }
    let name = ServerName::try_from(host.to_owned()).map_err(|_| "its name is none for TLS".to_owned())?;
    let stream = TlsConnector::from(tls()?).connect(name, stream).await;
    speak(stream.map_err(|error| format!("no safe connection can be made: {error}"))?).await
}

/// With the roots of public authorities, which edges have their certificates from.
fn tls() -> Result<Arc<ClientConfig>, String> {
    let roots = RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.to_vec() };
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?;
    Ok(Arc::new(config.with_root_certificates(roots).with_no_client_auth()))
}

async fn speak(
    stream: impl AsyncRead + AsyncWrite + Send + Unpin + 'static,
) -> Result<SendRequest<Empty<Bytes>>, String> {
    let (sender, connection) =
        http1::handshake(TokioIo::new(stream)).await.map_err(|error| error.to_string())?;
    // It ends with the sender. What went wrong with it, the sender says.
    tokio::spawn(async move {
        let _ended = connection.await;
    });
    Ok(sender)
}
