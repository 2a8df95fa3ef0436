//! One connection to the target, opened again when it is gone.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::client::conn::http1::{self, SendRequest};
use hyper::header::{CONTENT_TYPE, HeaderMap, RETRY_AFTER};
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use serde_json::Value;
use shared::problem::{self, Code};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::ServerName;
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

use super::record::{Failure, Outcome};
use crate::target::Target;

/// Bodies of problems are kept up to this size; all others are counted and dropped.
const KEPT: usize = 64 * 1024;

type Sender = SendRequest<Full<Bytes>>;

/// A connection that carries one call at a time.
pub(super) struct Connection {
    sender: Option<Sender>,
}

/// An answer: its head, its length, and its body if that is a problem or was asked for.
#[derive(Debug)]
pub struct Reply {
    /// The status.
    pub status: StatusCode,
    /// The headers.
    pub headers: HeaderMap,
    /// The body's beginning, if it was kept.
    pub body: Vec<u8>,
    bytes: u64,
}

impl Connection {
    pub(super) async fn open(target: &Target, within: Duration) -> io::Result<Self> {
        let opened = tokio::time::timeout(within, open(target)).await;
        let sender = opened.unwrap_or_else(|_elapsed| Err(io::ErrorKind::TimedOut.into()))?;
        Ok(Self { sender: Some(sender) })
    }

    /// Forgets the connection; the next call opens another.
    pub(super) fn close(&mut self) {
        self.sender = None;
    }

    /// Sends a request and reads its answer to the end. A connection that was closed while it was idle is
    /// replaced; a request of which anything was sent is never sent again.
    pub(super) async fn call(
        &mut self,
        target: &Target,
        request: Request<Full<Bytes>>,
    ) -> Result<Reply, Failure> {
        let response = self.send(target, request).await?;
        let keep = response.headers().get(CONTENT_TYPE).is_some_and(|kind| kind == problem::MEDIA_TYPE);
        let reply = read(response, if keep { KEPT } else { 0 }).await;
        if reply.is_err() {
            self.close();
        }
        reply
    }

    async fn send(
        &mut self,
        target: &Target,
        request: Request<Full<Bytes>>,
    ) -> Result<Response<Incoming>, Failure> {
        let unsent = match &mut self.sender {
            Some(sender) => match sender.try_send_request(request).await {
                Ok(response) => return Ok(response),
                Err(mut fault) => fault.take_message().ok_or(Failure::NoAnswer),
            },
            None => Ok(request),
        };
        self.sender = None;
        let request = unsent?;
        let mut sender = open(target).await.map_err(|_refused| Failure::Connect)?;
        let response = sender.send_request(request).await.map_err(|_ended| Failure::NoAnswer)?;
        self.sender = Some(sender);
        Ok(response)
    }
}

impl Reply {
    pub(super) fn outcome(&self) -> Outcome {
        Outcome::Answered {
            status: self.status.as_u16(),
            code: self.problem_code(),
            retry_after: self.headers.contains_key(RETRY_AFTER),
            bytes: self.bytes,
        }
    }

    fn problem_code(&self) -> Option<Code> {
        let problem: Value = serde_json::from_slice(&self.body).ok()?;
        Code::parse(problem.get("code")?.as_str()?)
    }

    /// The calls in 60 seconds that `RateLimit-Policy` allows.
    pub(super) fn minute_quota(&self) -> Option<u32> {
        let policy = self.headers.get("ratelimit-policy")?.to_str().ok()?;
        let minute = policy.split(',').find(|item| item.split(';').any(|part| part.trim() == "w=60"))?;
        minute.split(';').find_map(|part| part.trim().strip_prefix("q="))?.parse().ok()
    }
}

/// Makes one request on a connection of its own, within 10 seconds; its answer's body is kept.
///
/// # Errors
/// When there is no whole answer.
pub async fn once(target: &Target, request: Request<Full<Bytes>>) -> io::Result<Reply> {
    let call = async {
        let response = open(target).await?.send_request(request).await.map_err(io::Error::other)?;
        read(response, KEPT).await.map_err(|failure| io::Error::other(failure.as_str()))
    };
    tokio::time::timeout(Duration::from_secs(10), call).await?
}

async fn read(response: Response<Incoming>, keep: usize) -> Result<Reply, Failure> {
    let (head, mut incoming) = response.into_parts();
    let mut reply = Reply { status: head.status, headers: head.headers, body: Vec::new(), bytes: 0 };
    while let Some(frame) = incoming.frame().await {
        let Ok(data) = frame.map_err(|_ended| Failure::CutOff)?.into_data() else { continue };
        reply.bytes += data.len() as u64;
        let room = keep.saturating_sub(reply.body.len()).min(data.len());
        reply.body.extend_from_slice(data.get(..room).unwrap_or_default());
    }
    Ok(reply)
}

async fn open(target: &Target) -> io::Result<Sender> {
    let stream = TcpStream::connect(target.addr).await?;
    stream.set_nodelay(true)?;
    if target.tls { handshake(encrypt(target, stream).await?).await } else { handshake(stream).await }
}

async fn encrypt(target: &Target, stream: TcpStream) -> io::Result<TlsStream<TcpStream>> {
    let roots = RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.to_vec() };
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(io::Error::other)?
        .with_root_certificates(roots)
        .with_no_client_auth();
    let name = ServerName::try_from(target.host().to_owned()).map_err(io::Error::other)?;
    TlsConnector::from(Arc::new(config)).connect(name, stream).await
}

async fn handshake(stream: impl AsyncRead + AsyncWrite + Send + Unpin + 'static) -> io::Result<Sender> {
    let (sender, connection) = http1::handshake(TokioIo::new(stream)).await.map_err(io::Error::other)?;
    tokio::spawn(connection);
    Ok(sender)
}
