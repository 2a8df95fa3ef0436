//! The endpoint that Prometheus scrapes while a run is under way.

use std::convert::Infallible;
use std::io::{self, Write as _};
use std::net::SocketAddr;

use bytes::Bytes;
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::header::{CONTENT_TYPE, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;
use tokio::task::AbortHandle;

use super::error::RunError;
use crate::live_metrics::LiveMetrics;

/// A running endpoint. It ends with its value.
pub(super) struct Endpoint(AbortHandle);

impl Drop for Endpoint {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Endpoint {
    /// Starts the endpoint, and says where it is: the port may be 0.
    ///
    /// # Errors
    /// Returns an error if the address cannot be listened on.
    pub(super) async fn start(addr: SocketAddr, metrics: LiveMetrics) -> Result<Self, RunError> {
        let listener = TcpListener::bind(addr).await.map_err(|source| RunError::Listen { addr, source })?;
        let addr = listener.local_addr().map_err(|source| RunError::Listen { addr, source })?;
        // Nobody may read standard error any more.
        let _written = writeln!(io::stderr(), "loadtest: metrics at http://{addr}/metrics");
        let serving = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let metrics = metrics.clone();
                let service = service_fn(move |request: Request<Incoming>| {
                    let response = respond(&request, &metrics);
                    async { Ok::<_, Infallible>(response) }
                });
                // It fails if the client closes the connection within a request.
                tokio::spawn(http1::Builder::new().serve_connection(TokioIo::new(stream), service));
            }
        });
        Ok(Self(serving.abort_handle()))
    }
}

fn respond(request: &Request<Incoming>, metrics: &LiveMetrics) -> Response<Full<Bytes>> {
    if request.method() != Method::GET || request.uri().path() != "/metrics" {
        let mut response = Response::new(Full::from("expected GET /metrics\n"));
        *response.status_mut() = StatusCode::NOT_FOUND;
        return response;
    }
    let mut response = Response::new(Full::from(metrics.text()));
    let kind = HeaderValue::from_static("text/plain; version=0.0.4; charset=utf-8");
    response.headers_mut().insert(CONTENT_TYPE, kind);
    response
}
