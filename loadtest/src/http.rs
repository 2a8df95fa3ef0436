//! Requests and responses over HTTP/1.1 and HTTP/2, and a client for requests outside of the load: key API,
//! control API, metrics.

mod event_clock;
mod response;
mod sender;
mod tls;

use std::io;
use std::time::{Duration, Instant};

use bytes::Bytes;
use http_body_util::Full;
use hyper::header::{CONTENT_TYPE, HOST, HeaderName, HeaderValue};
use hyper::{Method, Request, Uri};
use serde_json::Value;
use thiserror::Error;
use tokio::time::timeout;

pub(crate) use response::{CallResponse, Observed, Wanted};
pub(crate) use sender::{SendError, Sender};
pub(crate) use tls::{TlsError, TlsOptions};

use crate::record::CallError;
use crate::target::Target;

/// The header of requests that a local edge must not count as calls (`scripts/edge/counters.mjs`).
const OUTSIDE_OF_LOAD: (&str, &str) = ("load-test", "outside");

/// The maximum size of a body that is kept.
const MAX_BODY_BYTES: usize = 4 << 20;
/// The timeout of a request.
const TIMEOUT: Duration = Duration::from_secs(10);

/// A client of one server. Each request has its own connection.
#[derive(Clone, Debug)]
pub(crate) struct HttpClient {
    target: Target,
    tls: TlsOptions,
}

/// A failed request to a control API or gateway, outside of the measured calls.
#[derive(Debug, Error)]
pub(crate) enum RequestError {
    /// No connection could be opened.
    #[error("cannot connect to {target}: {source}")]
    Connect {
        /// The URL of the server.
        target: String,
        /// The cause.
        source: io::Error,
    },
    /// There was no complete response.
    #[error("request to {target} failed: {reason}")]
    Failed {
        /// The URL of the server.
        target: String,
        /// The cause.
        reason: String,
    },
    /// The response was not complete in time.
    #[error("no complete response from {target} within {} s", timeout.as_secs())]
    TimedOut {
        /// The URL of the server.
        target: String,
        /// The timeout.
        timeout: Duration,
    },
}

/// A request that failed or was refused. Credentials are not shown.
#[derive(Debug, Error)]
pub(crate) enum HttpError {
    /// There was no response.
    #[error(transparent)]
    Request(#[from] RequestError),
    /// The status was not 2xx.
    #[error("{method} {url} returned {status}, expected 2xx: {body}")]
    Refused {
        /// The request method.
        method: Method,
        /// The request URL.
        url: String,
        /// The response status.
        status: u16,
        /// The response body.
        body: String,
    },
}

impl HttpClient {
    pub(crate) const fn new(target: Target, tls: TlsOptions) -> Self {
        Self { target, tls }
    }

    /// Sends a request and returns the JSON of the response, or null if it has none.
    pub(crate) async fn send(
        &self,
        method: Method,
        path: &str,
        body: Option<&Value>,
        headers: &[(&str, &str)],
    ) -> Result<Value, HttpError> {
        let response = self.response(method, path, body, headers).await?;
        Ok(serde_json::from_slice(&response.body).unwrap_or_default())
    }

    /// Sends a GET and returns the text of the response.
    pub(crate) async fn text(&self, path: &str) -> Result<String, HttpError> {
        let response = self.response(Method::GET, path, None, &[]).await?;
        Ok(String::from_utf8_lossy(&response.body).into_owned())
    }

    async fn response(
        &self,
        method: Method,
        path: &str,
        body: Option<&Value>,
        headers: &[(&str, &str)],
    ) -> Result<CallResponse, HttpError> {
        let bytes = body.map_or_else(Bytes::new, |body| body.to_string().into());
        let mut request = Request::new(Full::new(bytes));
        *request.method_mut() = method.clone();
        *request.uri_mut() = Uri::try_from(path).unwrap_or_default();
        let json = body.map(|_| (CONTENT_TYPE.as_str(), "application/json"));
        let usual = [(HOST.as_str(), self.target.authority()), OUTSIDE_OF_LOAD];
        for (name, value) in usual.into_iter().chain(json).chain(headers.iter().copied()) {
            if let (Ok(name), Ok(value)) = (HeaderName::try_from(name), HeaderValue::from_str(value)) {
                request.headers_mut().insert(name, value);
            }
        }
        let response = send_once(&self.target, &self.tls, request).await?;
        if response.status.is_success() {
            return Ok(response);
        }
        Err(HttpError::Refused {
            method,
            url: format!("{}{path}", self.target),
            status: response.status.as_u16(),
            body: String::from_utf8_lossy(&response.body).into_owned(),
        })
    }
}

/// Sends one HTTP/1.1 request on its own connection and returns the response with the beginning of
/// its body.
///
/// # Errors
/// Returns an error if the response is not complete within 10 seconds.
pub(crate) async fn send_once(
    target: &Target,
    tls: &TlsOptions,
    request: Request<Full<Bytes>>,
) -> Result<CallResponse, RequestError> {
    let name = || target.to_string();
    let failed = |error: CallError| RequestError::Failed { target: name(), reason: error.to_string() };
    let call = async {
        let connected = Sender::open(target, tls, false).await;
        let mut sender = connected.map_err(|source| RequestError::Connect { target: name(), source })?;
        let sent = Instant::now();
        let response = sender.send_first(request).await.map_err(failed)?;
        CallResponse::read(response, Wanted { body: MAX_BODY_BYTES, hash: false }, sent).await.map_err(failed)
    };
    let timed_out = |_elapsed| Err(RequestError::TimedOut { target: name(), timeout: TIMEOUT });
    timeout(TIMEOUT, call).await.unwrap_or_else(timed_out)
}
