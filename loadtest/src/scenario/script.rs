//! What is done while calls are made.

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use http_body_util::Full;
use hyper::header::{HOST, HeaderValue};
use hyper::{Method, Request, StatusCode, Uri};
use serde_json::Value;
use shared::headers::API_KEY;
use shared::tool::Tool;
use tokio::sync::watch;

use super::{Ask, Moments, Outage};
use crate::driver::{self, Reply, Stop, Stream, Template};
use crate::target::Target;

/// A scenario's part beside the calls.
#[derive(Debug)]
pub enum Script {
    /// None.
    Nothing,
    /// Stop a tool, later start it again.
    KillTool {
        /// The control API of the simulated tools.
        control: Target,
        /// Which one.
        tool: Tool,
    },
    /// Replace the key.
    Rotate {
        /// The gateway.
        target: Target,
        /// What is called with either key.
        ask: Ask,
        /// The key to be replaced.
        key: HeaderValue,
        /// Where the new key goes: it is shown once, and the old one will end.
        new_key_file: PathBuf,
    },
}

/// Plays a script within `length` from `start`. A tool that was stopped is started again whatever happens.
///
/// # Errors
/// When the control API or the gateway does not do as told; no further call is made then.
pub async fn play(
    script: Script,
    start: Instant,
    length: Duration,
    templates: watch::Sender<Arc<[Template]>>,
    stop: &Stop,
) -> io::Result<Moments> {
    let played = match script {
        Script::Nothing => Ok(Moments::Quiet),
        Script::KillTool { control, tool } => kill_tool(&control, tool, start, length, stop).await,
        Script::Rotate { target, ask, key, new_key_file } => {
            until(start + length / 2, stop).await;
            let rotated = rotate(&target, key.clone(), new_key_file).await;
            rotated.map(|new_key| {
                let old = ask.template(&target, Stream::Main, Some(&key));
                let new = ask.template(&target, Stream::NewKey, Some(&new_key));
                templates.send_replace([old, new].into());
                Moments::Rotation { at: start.elapsed() }
            })
        }
    };
    if played.is_err() {
        stop.now();
    }
    played
}

async fn kill_tool(
    control: &Target,
    tool: Tool,
    start: Instant,
    length: Duration,
    stop: &Stop,
) -> io::Result<Moments> {
    until(start + length / 3, stop).await;
    let stopping = start.elapsed();
    order(control, tool, "stop").await?;
    let stopped = start.elapsed();
    until(start + length * 2 / 3, stop).await;
    let starting = start.elapsed();
    order(control, tool, "start").await?;
    Ok(Moments::Outage(Outage { stopping, stopped, starting, started: start.elapsed() }))
}

async fn order(control: &Target, tool: Tool, order: &str) -> io::Result<()> {
    let request = post(control, &format!("/{tool}/{order}"));
    let reply = driver::once(control, request).await.map_err(|cause| {
        io::Error::new(cause.kind(), format!("the control API of the tools at {control}: {cause}"))
    })?;
    expect(&reply, &format!("{control} refused to {order} {tool}"))
}

async fn rotate(target: &Target, key: HeaderValue, new_key_file: PathBuf) -> io::Result<HeaderValue> {
    let mut request = post(target, "/v1/keys/me/rotate");
    request.headers_mut().insert(API_KEY, key);
    let reply = driver::once(target, request).await?;
    expect(&reply, "the gateway refused to replace the key")?;
    let body: Value = serde_json::from_slice(&reply.body)?;
    let key = body.get("key").and_then(Value::as_str);
    let key = key.ok_or_else(|| io::Error::other("the gateway's answer to a rotation holds no key"))?;
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(new_key_file)?;
    writeln!(file, "{key}")?;
    let mut value = HeaderValue::from_str(key).map_err(io::Error::other)?;
    value.set_sensitive(true);
    Ok(value)
}

fn post(target: &Target, path: &str) -> Request<Full<Bytes>> {
    let mut request = Request::new(Full::new(Bytes::new()));
    *request.method_mut() = Method::POST;
    *request.uri_mut() = Uri::try_from(path).unwrap_or_default();
    if let Ok(host) = HeaderValue::from_str(target.authority()) {
        request.headers_mut().insert(HOST, host);
    }
    request
}

fn expect(reply: &Reply, otherwise: &str) -> io::Result<()> {
    if matches!(reply.status, StatusCode::OK | StatusCode::CREATED) {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&reply.body);
    Err(io::Error::other(format!("{otherwise}: {} {said}", reply.status.as_u16())))
}

/// Waits until `moment`, or until the run is stopped.
async fn until(moment: Instant, stop: &Stop) {
    const STOP_CHECK: Duration = Duration::from_millis(50);
    while !stop.is_set() && Instant::now() < moment {
        tokio::time::sleep(STOP_CHECK.min(moment.saturating_duration_since(Instant::now()))).await;
    }
}
