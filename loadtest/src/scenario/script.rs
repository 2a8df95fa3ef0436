//! The script of a scenario: what happens while calls are made.

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use http_body_util::Full;
use hyper::header::{HOST, HeaderValue, InvalidHeaderValue};
use hyper::{Method, Request, StatusCode, Uri};
use serde_json::Value;
use shared::headers::API_KEY;
use shared::tool::Tool;
use thiserror::Error;
use tokio::sync::watch;

use super::{CallSpec, Outage, ScenarioEvent};
use crate::driver::{self, CallKind, CallResponse, CallTemplate, RequestError, StopFlag};
use crate::target::Target;

/// The event that a scenario causes.
#[derive(Debug)]
pub enum Script {
    /// No event.
    None,
    /// Stops a tool and starts it again.
    StopTool {
        /// The control API of the simulated tools.
        control: Target,
        /// The tool to stop.
        tool: Tool,
    },
    /// Rotates the key.
    RotateKey {
        /// The gateway.
        target: Target,
        /// The call that is made with either key.
        spec: CallSpec,
        /// The key to rotate.
        key: HeaderValue,
        /// The file to create for the new key. It must be kept, because the gateway shows it once
        /// and the old one expires.
        new_key_file: PathBuf,
    },
}

/// The reason why a script failed.
#[derive(Debug, Error)]
pub enum ScriptError {
    /// A request to the control API or the gateway failed.
    #[error(transparent)]
    Request(#[from] RequestError),
    /// The control API or the gateway refused a request.
    #[error("{method} {url} returned {status}, expected 200 or 201: {body}")]
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
    /// The response to a key rotation has no usable key. Its text is secret and not shown.
    #[error("the response to the key rotation has no `key` that is valid as a header value")]
    NoKey,
    /// The file for the new key could not be written.
    #[error("cannot write the new key to {}: {source}", path.display())]
    KeyFile {
        /// The path of the file.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
}

/// Runs a script within `duration` from `start`. A tool that it stopped is started again even if
/// `stop` is set.
///
/// # Errors
/// Returns an error if the control API or the gateway fails or refuses. Sets `stop` then.
pub async fn play(
    script: Script,
    start: Instant,
    duration: Duration,
    templates: watch::Sender<Arc<[CallTemplate]>>,
    stop: &StopFlag,
) -> Result<ScenarioEvent, ScriptError> {
    let result = match script {
        Script::None => Ok(ScenarioEvent::None),
        Script::StopTool { control, tool } => stop_tool(&control, tool, start, duration, stop).await,
        Script::RotateKey { target, spec, key, new_key_file } => {
            sleep_until(start + duration / 2, stop).await;
            rotate_key(&target, key.clone(), &new_key_file).await.map(|new_key| {
                let old = spec.template(&target, CallKind::Main, Some(&key));
                let new = spec.template(&target, CallKind::NewKey, Some(&new_key));
                templates.send_replace([old, new].into());
                ScenarioEvent::Rotation { at: start.elapsed() }
            })
        }
    };
    if result.is_err() {
        stop.set();
    }
    result
}

async fn stop_tool(
    control: &Target,
    tool: Tool,
    start: Instant,
    duration: Duration,
    stop: &StopFlag,
) -> Result<ScenarioEvent, ScriptError> {
    sleep_until(start + duration / 3, stop).await;
    let stopping = start.elapsed();
    post(control, &format!("/{tool}/stop"), None).await?;
    let stopped = start.elapsed();
    sleep_until(start + duration * 2 / 3, stop).await;
    let starting = start.elapsed();
    post(control, &format!("/{tool}/start"), None).await?;
    Ok(ScenarioEvent::Outage(Outage { stopping, stopped, starting, started: start.elapsed() }))
}

/// Rotates the key, writes the new one to a file that only its owner can read, and returns it.
async fn rotate_key(
    target: &Target,
    key: HeaderValue,
    new_key_file: &Path,
) -> Result<HeaderValue, ScriptError> {
    let response = post(target, "/v1/keys/me/rotate", Some(key)).await?;
    let body: Value = serde_json::from_slice(&response.body).unwrap_or_default();
    let key = body.get("key").and_then(Value::as_str).ok_or(ScriptError::NoKey)?;
    write_private(new_key_file, key)
        .map_err(|source| ScriptError::KeyFile { path: new_key_file.to_owned(), source })?;
    let mut value = HeaderValue::from_str(key).map_err(|_invalid: InvalidHeaderValue| ScriptError::NoKey)?;
    value.set_sensitive(true);
    Ok(value)
}

fn write_private(path: &Path, line: &str) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
    writeln!(file, "{line}")
}

/// Sends a POST without a body. Returns an error unless the status is 200 or 201.
async fn post(target: &Target, path: &str, key: Option<HeaderValue>) -> Result<CallResponse, ScriptError> {
    let mut request = Request::new(Full::new(Bytes::new()));
    *request.method_mut() = Method::POST;
    *request.uri_mut() = Uri::try_from(path).unwrap_or_default();
    if let Ok(host) = HeaderValue::from_str(target.authority()) {
        request.headers_mut().insert(HOST, host);
    }
    if let Some(key) = key {
        request.headers_mut().insert(API_KEY, key);
    }
    let response = driver::send_once(target, request).await?;
    if matches!(response.status, StatusCode::OK | StatusCode::CREATED) {
        return Ok(response);
    }
    Err(ScriptError::Refused {
        method: Method::POST,
        url: format!("{target}{path}"),
        status: response.status.as_u16(),
        body: String::from_utf8_lossy(&response.body).into_owned(),
    })
}

/// Sleeps until `moment` or until `stop` is set.
async fn sleep_until(moment: Instant, stop: &StopFlag) {
    const STOP_CHECK_INTERVAL: Duration = Duration::from_millis(50);
    while !stop.is_set() && Instant::now() < moment {
        let remaining = moment.saturating_duration_since(Instant::now());
        tokio::time::sleep(STOP_CHECK_INTERVAL.min(remaining)).await;
    }
}
