//! An HTTP client with one connection per call and no pool or retries.

use std::net::SocketAddr;
use std::time::Duration;

use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::client::conn::http1::{self, SendRequest};
use hyper::{HeaderMap, Request, Response};
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::net::TcpStream;

pub(crate) type HttpError = Box<dyn std::error::Error + Send + Sync>;

#[derive(Debug)]
pub(crate) struct HttpResponse {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

impl HttpResponse {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|_| panic!("not JSON: {:?}", self.body))
    }

    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).unwrap_or_else(|| panic!("no {name} in {:?}", self.headers)).to_str().unwrap()
    }
}

pub(crate) fn request(method: &str, target: &str, body: impl Into<Bytes>) -> Request<Full<Bytes>> {
    Request::builder().method(method).uri(target).header("host", "tool").body(Full::new(body.into())).unwrap()
}

pub(crate) async fn connect(addr: SocketAddr) -> Result<SendRequest<Full<Bytes>>, HttpError> {
    let (sender, connection) = http1::handshake(TokioIo::new(TcpStream::connect(addr).await?)).await?;
    tokio::spawn(connection);
    Ok(sender)
}

pub(crate) async fn read(response: Response<Incoming>) -> Result<HttpResponse, HttpError> {
    let (head, body) = response.into_parts();
    let body = body.collect().await?.to_bytes();
    Ok(HttpResponse { status: head.status.as_u16(), headers: head.headers, body })
}

/// Sends a request on a new connection. Returns an error if the connection fails or the call takes
/// over 10 s.
pub(crate) async fn try_send(
    addr: SocketAddr,
    request: Request<Full<Bytes>>,
) -> Result<HttpResponse, HttpError> {
    let call = async { read(connect(addr).await?.send_request(request).await?).await };
    tokio::time::timeout(Duration::from_secs(10), call).await?
}

pub(crate) async fn send(addr: SocketAddr, request: Request<Full<Bytes>>) -> HttpResponse {
    try_send(addr, request).await.unwrap()
}

pub(crate) async fn get(addr: SocketAddr, target: &str) -> HttpResponse {
    send(addr, request("GET", target, "")).await
}

pub(crate) async fn post(addr: SocketAddr, target: &str, body: &Value) -> HttpResponse {
    send(addr, request("POST", target, body.to_string())).await
}
