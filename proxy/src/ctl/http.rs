//! The way to a proxy on another machine: `POST /changes` of its admin port.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response, StatusCode, Uri, header};
use serde::Deserialize;
use tokio::runtime;
use tokio::time::timeout;

use config::changes::{ControlRequest, ControlResponse};
use direct::http_client::{ClientError, Connection};

/// An error of a request over HTTP.
#[derive(Debug, thiserror::Error)]
pub enum HttpError {
    /// The file of the token cannot be read, or has none.
    #[error("{}: cannot be read: {error}", file.display())]
    Token {
        /// The file.
        file: PathBuf,
        /// The error of the operating system.
        error: io::Error,
    },
    /// No proxy responds.
    #[error("{url} does not respond: {error}")]
    Unreachable {
        /// The URL.
        url: Uri,
        /// The error of the client.
        error: String,
    },
    /// The response is not that of a proxy.
    #[error("{url} is not the admin port of a proxy: its response has the status {status}")]
    Unexpected {
        /// The URL.
        url: Uri,
        /// The status of the response.
        status: StatusCode,
    },
}

/// Maximum length of a response.
const MAX_RESPONSE: usize = 1 << 20;

/// The body of a response that is not about the change itself.
#[derive(Deserialize)]
struct Refusal {
    error: String,
}

/// Parses the URL of an admin port.
pub(super) fn parse_url(text: &str) -> Result<Uri, String> {
    let url = text.parse::<Uri>().ok();
    let is_http = |url: &Uri| matches!(url.scheme_str(), Some("http" | "https")) && url.query().is_none();
    url.filter(is_http).ok_or_else(|| "expected a URL such as http://10.0.0.2:9090".to_owned())
}

/// Sends a request with the token of a file.
///
/// # Errors
/// Returns an error if there is no token, or no proxy responds.
pub(super) fn exchange(
    url: &Uri,
    token_file: &Path,
    request: &ControlRequest,
    patience: Duration,
) -> Result<ControlResponse, HttpError> {
    let token = read_token(token_file)?;
    let unreachable = |error: String| HttpError::Unreachable { url: url.clone(), error };
    let runtime = runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| unreachable(error.to_string()))?;
    let response = runtime
        .block_on(async { timeout(patience, post(url, &token, request)).await })
        .map_err(|_| unreachable(format!("no response within {} s", patience.as_secs())))?
        .map_err(|error| unreachable(error.to_string()))?;
    read(&response).ok_or_else(|| HttpError::Unexpected { url: url.clone(), status: response.status() })
}

fn read_token(file: &Path) -> Result<String, HttpError> {
    let unusable = |error| HttpError::Token { file: file.to_owned(), error };
    let text = std::fs::read_to_string(file).map_err(unusable)?;
    match text.trim() {
        "" => Err(unusable(io::Error::new(io::ErrorKind::InvalidData, "it is empty"))),
        token => Ok(token.to_owned()),
    }
}

async fn post(url: &Uri, token: &str, request: &ControlRequest) -> Result<Response<Bytes>, ClientError> {
    let body = serde_json::to_vec(request).map_err(|error| ClientError::Body(error.to_string()))?;
    let post = Request::post(format!("{}/changes", url.path().trim_end_matches('/')))
        .header(header::AUTHORIZATION, format!("Bearer {token}"))
        .header(header::CONTENT_TYPE, "application/json");
    Connection::default().send(url, post, Bytes::from(body), MAX_RESPONSE).await
}

/// Reads the response to a change. Returns `None` if it is not that of a proxy.
fn read(response: &Response<Bytes>) -> Option<ControlResponse> {
    let body = response.body();
    let refused = || Some(ControlResponse::Refused(serde_json::from_slice::<Refusal>(body).ok()?.error));
    serde_json::from_slice(body).ok().or_else(refused)
}
