//! Reads the OpenAPI description that a tool publishes.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::uri::Scheme;
use http::{Request, StatusCode, Uri, header};
use http_body_util::{BodyExt, Empty, Limited};
use hyper::client::conn::{http1, http2};
use hyper_util::rt::{TokioExecutor, TokioIo};
use shared::catalog::{DescriptionError, MAX_DESCRIPTION, ToolDescription};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::sync::Semaphore;
use tokio::task::spawn_blocking;
use tokio::time::timeout;

use super::AGENT;
use crate::description_store::{DescriptionStore, Published};
use crate::{Pool, Upstream};
use transport::clock::Monotonic;
use transport::tls;

/// Maximum time to read a description.
const TIMEOUT: Duration = Duration::from_secs(5);

/// The reason why a description could not be read.
#[derive(Debug, thiserror::Error)]
enum ReadError {
    #[error("the name has no known address")]
    Unresolved,
    #[error("no response within {} s", TIMEOUT.as_secs())]
    TimedOut,
    #[error("the connection failed: {0}")]
    Io(#[from] io::Error),
    #[error("the request failed: {0}")]
    Http(#[from] hyper::Error),
    #[error("the request cannot be built: {0}")]
    Request(#[from] http::Error),
    #[error("unexpected status {0}, expected 200")]
    Status(StatusCode),
    #[error("the body is incomplete or larger than {MAX_DESCRIPTION} bytes: {0}")]
    Body(String),
    #[error("it is not UTF-8")]
    Text,
    #[error("parsing it ended early")]
    NotParsed,
    #[error(transparent)]
    Description(#[from] DescriptionError),
}

/// Parses one description at a time: of the values of a hostile one, each byte takes a hundred of memory.
static PARSING: Semaphore = Semaphore::const_new(1);

/// Reads the description from an upstream, and records it. A new one is stored for the next process.
pub(super) async fn refresh(pool: Arc<Pool>, index: usize, store: Arc<DescriptionStore>) {
    let Some(upstream) = pool.upstreams.get(index) else { return };
    // The reading alone. The turn to parse may take longer, and is no fault of the server.
    let result = timeout(TIMEOUT, read(&pool, upstream)).await.unwrap_or(Err(ReadError::TimedOut));
    let result = match result {
        Ok(text) => parse(&pool, text).await,
        Err(error) => Err(error),
    };
    let (result, text) = match result {
        Ok((description, text)) => (Ok(description), text),
        Err(error) => (Err(error.to_string()), String::new()),
    };
    if pool.record_description(&upstream.name, result, Monotonic::now()) {
        let (tool, path) = (pool.config.tool, pool.config.settings.describe.clone());
        // On a thread that may wait for the disk. Nothing waits for it.
        drop(spawn_blocking(move || store.write(tool, &Published { path, text })));
    }
}

/// Parses a description on its own thread, so that it delays no call.
async fn parse(pool: &Pool, text: String) -> Result<(ToolDescription, String), ReadError> {
    let (tool, prefix) = (pool.config.tool, pool.config.settings.path.clone());
    let _turn = PARSING.acquire().await.map_err(|_| ReadError::NotParsed)?;
    let parsed = spawn_blocking(move || ToolDescription::parse(tool, &prefix, &text).map(|one| (one, text)));
    Ok(parsed.await.map_err(|_| ReadError::NotParsed)??)
}

async fn read(pool: &Pool, upstream: &Upstream) -> Result<String, ReadError> {
    let stream = TcpStream::connect(upstream.address.ok_or(ReadError::Unresolved)?).await?;
    let path = &pool.config.settings.describe;
    let body = match upstream.connector() {
        None => get(stream, upstream.uses_http2().then_some(Scheme::HTTP), upstream, path).await?,
        Some(connector) => {
            let stream = connector.secure(stream).await?;
            let http2 = tls::speaks_http2(stream.get_ref().1).then_some(Scheme::HTTPS);
            get(stream, http2, upstream, path).await?
        }
    };
    String::from_utf8(body.into()).map_err(|_| ReadError::Text)
}

/// Sends a GET, over HTTP/2 if `http2` is set. Returns the body of the response, which must be a 200.
async fn get(
    stream: impl AsyncRead + AsyncWrite + Send + Unpin + 'static,
    http2: Option<Scheme>,
    upstream: &Upstream,
    path: &str,
) -> Result<Bytes, ReadError> {
    let request =
        Request::get(path).header(header::USER_AGENT, AGENT).header(header::ACCEPT, "application/json");
    let response = match http2 {
        None => {
            let request = request.header(header::HOST, &upstream.authority).body(Empty::<Bytes>::new())?;
            let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
            // The task ends with the sender, which reports any error.
            tokio::spawn(connection);
            sender.send_request(request).await?
        }
        Some(scheme) => {
            let authority = upstream.authority.as_str();
            let uri = Uri::builder().scheme(scheme).authority(authority).path_and_query(path).build()?;
            let request = request.uri(uri).body(Empty::<Bytes>::new())?;
            let (mut sender, connection) =
                http2::handshake(TokioExecutor::new(), TokioIo::new(stream)).await?;
            tokio::spawn(connection);
            sender.send_request(request).await?
        }
    };
    if response.status() != StatusCode::OK {
        return Err(ReadError::Status(response.status()));
    }
    // By its length as it arrives. A declared one is the server's word.
    let body = Limited::new(response.into_body(), MAX_DESCRIPTION).collect().await;
    Ok(body.map_err(|error| ReadError::Body(error.to_string()))?.to_bytes())
}
