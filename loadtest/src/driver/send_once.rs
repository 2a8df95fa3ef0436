//! Requests outside of the load, each on its own connection.

use std::io;
use std::time::{Duration, Instant};

use bytes::Bytes;
use http_body_util::Full;
use hyper::Request;
use thiserror::Error;
use tokio::time::timeout;

use super::response::CallResponse;
use super::sender::Sender;
use super::tls::TlsOptions;
use crate::plan::Wanted;
use crate::record::CallError;
use crate::target::Target;

/// The maximum size of a body that is kept.
const MAX_BODY_BYTES: usize = 4 << 20;
/// The timeout of a request.
const TIMEOUT: Duration = Duration::from_secs(10);

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
