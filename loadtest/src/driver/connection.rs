//! A connection to the target that reconnects when it is closed.

use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::header::CONTENT_TYPE;
use hyper::{Request, Response};
use shared::problem;
use tokio::time::timeout;

use super::options::DriverOptions;
use crate::http::{CallResponse, RequestError, SendError, Sender, Wanted};
use crate::record::CallError;

/// The maximum number of bytes kept of a problem's body. Other bodies are counted and dropped.
const MAX_PROBLEM_BYTES: usize = 64 * 1024;

/// A connection, or a stream of an HTTP/2 connection, that carries one call at a time.
pub(super) struct Connection {
    options: Arc<DriverOptions>,
    sender: Option<Sender>,
}

impl Connection {
    /// Opens a connection.
    ///
    /// # Errors
    /// Returns an error if that fails or takes longer than `within`.
    pub(super) async fn open(options: &DriverOptions, within: Duration) -> Result<Self, RequestError> {
        let open = Sender::open(&options.target, &options.tls, options.http2);
        let opened = timeout(within, open).await;
        let sender = opened.unwrap_or_else(|_elapsed| Err(io::ErrorKind::TimedOut.into()));
        let sender =
            sender.map_err(|source| RequestError::Connect { target: options.target.to_string(), source })?;
        Ok(Self { options: Arc::new(options.clone()), sender: Some(sender) })
    }

    /// Returns another stream of an HTTP/2 connection. It has its own connection once this one
    /// was closed.
    pub(super) fn another_stream(&self) -> Option<Self> {
        let sender = self.sender.as_ref()?.another_stream()?;
        Some(Self { options: Arc::clone(&self.options), sender: Some(sender) })
    }

    /// Gives up the call in flight. An HTTP/2 connection stays open for other calls.
    pub(super) fn abandon(&mut self) {
        // In HTTP/2 the dropped response resets only its own stream (RFC 9113, section 5.4.2). The
        // others continue.
        if !self.options.http2 {
            self.sender = None;
        }
    }

    /// Sends a request and reads the response to its end.
    ///
    /// Replaces a connection that was closed while idle. A request is never resent once any part of
    /// it was sent.
    ///
    /// # Errors
    /// Returns an error if there is no complete response.
    pub(super) async fn call(
        &mut self,
        request: Request<Full<Bytes>>,
        wanted: Wanted,
    ) -> Result<CallResponse, CallError> {
        let sent = Instant::now();
        let response = self.send(request).await?;
        // A problem is read whole even if the request wants no body: its code decides how the call
        // is counted.
        let is_problem = response.headers().get(CONTENT_TYPE).is_some_and(|kind| kind == problem::MEDIA_TYPE);
        let wanted = if is_problem { Wanted { body: MAX_PROBLEM_BYTES, hash: false } } else { wanted };
        let response = CallResponse::read(response, wanted, sent).await;
        // The rest of a body that was given up would be taken for the head of the next response.
        if response.is_err() {
            self.abandon();
        }
        response
    }

    async fn send(&mut self, request: Request<Full<Bytes>>) -> Result<Response<Incoming>, CallError> {
        let unsent = match &mut self.sender {
            Some(sender) => match sender.send(request).await {
                Ok(response) => return Ok(response),
                Err(SendError::Unsent(request)) => Ok(*request),
                // The server may have acted on it. Sent again, one call of the schedule could count
                // twice there.
                Err(SendError::Sent) => Err(CallError::NoResponse),
            },
            None => Ok(request),
        };
        self.sender = None;
        let request = unsent?;
        let DriverOptions { target, tls, http2, .. } = &*self.options;
        let opened = Sender::open(target, tls, *http2).await;
        let mut sender = opened.map_err(|_refused| CallError::Connect)?;
        let response = sender.send_first(request).await?;
        // Only a connection that has responded is kept: one that was closed at once would be tried
        // in vain.
        self.sender = Some(sender);
        Ok(response)
    }
}
