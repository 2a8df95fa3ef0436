//! A connection to the edge, which is reused between requests.

use bytes::Bytes;
use http::{Request, StatusCode, header, request};

use crate::http_client::{self, ClientError};

/// A reusable connection to the edge.
#[derive(Default)]
pub(super) struct Connection(http_client::Connection);

/// An error of one request to the edge. No variant quotes the response, which may hold secrets.
#[derive(Debug, thiserror::Error)]
pub(super) enum EdgeError {
    #[error(transparent)]
    Client(#[from] ClientError),
    #[error("no response within 5 s")]
    TimedOut,
    #[error("unexpected status {0}, expected 200")]
    Status(u16),
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
        let uri = edge.parse().map_err(|_| ClientError::Address)?;
        let request =
            request.header(header::AUTHORIZATION, authorization).header(header::ACCEPT, "application/json");
        let response = self.0.send(&uri, request, body, limit).await?;
        match response.status() {
            StatusCode::OK => Ok(response.into_body()),
            status => Err(EdgeError::Status(status.as_u16())),
        }
    }
}
