//! A client for requests outside of the load: key API, control API, metrics.

use bytes::Bytes;
use http_body_util::Full;
use hyper::header::{CONTENT_TYPE, HOST, HeaderName, HeaderValue};
use hyper::{Method, Request, Uri};
use serde_json::Value;
use thiserror::Error;

use crate::driver::{CallResponse, RequestError, TlsOptions, send_once};
use crate::target::Target;

/// The header of requests that a local edge must not count as calls (`scripts/edge/counters.mjs`).
const OUTSIDE_OF_LOAD: (&str, &str) = ("load-test", "outside");

/// A client of one server. Each request has its own connection.
#[derive(Clone, Debug)]
pub(crate) struct HttpClient {
    target: Target,
    tls: TlsOptions,
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
