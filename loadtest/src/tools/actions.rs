//! The actions of all simulated tools: some for load tests, and for any other name a description of
//! the request.

mod received;

use std::time::Duration;

use bytes::Bytes;
use hyper::body::Incoming;
use hyper::header::{CONTENT_ENCODING, CONTENT_TYPE, HeaderName, HeaderValue};
use hyper::{Request, Response, StatusCode};
use serde_json::json;
use shared::tool::Tool;

use super::qr;
use super::response::{EventStream, Filler, ToolBody, ToolResponse, error, json, with_body};
use crate::repr_digest;

/// The maximum of `bytes?n=`.
const MAX_BYTES: u64 = 1 << 30;
/// The maximum of `stream?chunks=`.
const MAX_CHUNKS: u64 = 100_000;
/// The maximum of `slow?ms=` and `stream?pause_ms=`.
const MAX_DELAY_MS: u64 = 600_000;

/// Runs an action. Returns its response, or 400 for an invalid query.
///
/// `body_bytes` is the size of the response to an action without its own meaning.
pub(super) async fn perform(
    tool: Tool,
    action: &str,
    request: Request<Incoming>,
    body_bytes: Option<u32>,
) -> ToolResponse {
    let response = match (tool, action) {
        (Tool::Qr, "generate") => return qr::respond(request).await,
        (_, "bytes") => bytes(&request),
        (_, "stream") => stream(&request),
        (_, "status") => status(&request),
        (_, "headers") => Ok(headers(&request)),
        (_, "echo") => return echo(request),
        (_, "slow") => match number(&request, "ms", 1000, MAX_DELAY_MS) {
            Ok(delay) => {
                tokio::time::sleep(Duration::from_millis(delay)).await;
                return received::respond(tool, action, request).await;
            }
            Err(invalid) => Err(invalid),
        },
        _ => match body_bytes {
            Some(size) => {
                let filler = ToolBody::Filler(Filler::new(size.into()));
                Ok(with_body(StatusCode::OK, "application/octet-stream", filler))
            }
            None => return received::respond(tool, action, request).await,
        },
    };
    response.unwrap_or_else(|invalid| *invalid)
}

/// `bytes?n=`: returns `n` bytes with a `Content-Length`, and with `digest=1` their `Repr-Digest`.
fn bytes(request: &Request<Incoming>) -> Result<ToolResponse, Box<ToolResponse>> {
    let length = number(request, "n", 1024, MAX_BYTES)?;
    let filler = Filler::new(length);
    let digest = (number(request, "digest", 0, 1)? == 1).then(|| repr_digest::value(filler.clone()));
    let mut response = with_body(StatusCode::OK, "application/octet-stream", ToolBody::Filler(filler));
    if let Some(digest) = digest.and_then(|digest| HeaderValue::try_from(digest).ok()) {
        response.headers_mut().insert(repr_digest::NAME, digest);
    }
    Ok(response)
}

/// `stream?chunks=&pause_ms=`: returns server-sent events with a pause between them.
fn stream(request: &Request<Incoming>) -> Result<ToolResponse, Box<ToolResponse>> {
    let count = number(request, "chunks", 5, MAX_CHUNKS)?;
    let pause = number(request, "pause_ms", 100, MAX_DELAY_MS)?;
    let events = EventStream::new(count, Duration::from_millis(pause));
    Ok(with_body(StatusCode::OK, "text/event-stream", ToolBody::Events(events)))
}

/// `status?code=`: returns this status.
fn status(request: &Request<Incoming>) -> Result<ToolResponse, Box<ToolResponse>> {
    let code = number(request, "code", 200, 599)?;
    let status = u16::try_from(code).ok().and_then(|code| StatusCode::from_u16(code).ok());
    match status.filter(|status| !status.is_informational()) {
        Some(status @ (StatusCode::NO_CONTENT | StatusCode::NOT_MODIFIED)) => {
            let mut response = Response::new(ToolBody::Full(Bytes::new()));
            *response.status_mut() = status;
            Ok(response)
        }
        Some(status) => Ok(json(status, &json!({ "status": code }))),
        None => Err(invalid_query("code", &code.to_string(), "a status from 200 to 599")),
    }
}

/// `headers?name=value&…`: returns these headers, in this order.
fn headers(request: &Request<Incoming>) -> ToolResponse {
    let mut response = json(StatusCode::OK, &json!({ "status": 200 }));
    for (name, value) in form_urlencoded::parse(request.uri().query().unwrap_or_default().as_bytes()) {
        let parsed = (HeaderName::try_from(&*name), HeaderValue::from_str(&value));
        let (Ok(name), Ok(value)) = parsed else {
            let message = format!("invalid header `{name}: {value}`");
            return error(StatusCode::BAD_REQUEST, "header-invalid", &message);
        };
        response.headers_mut().append(name, value);
    }
    response
}

/// `echo`: streams the request body back, with its type and encoding.
fn echo(request: Request<Incoming>) -> ToolResponse {
    let (head, body) = request.into_parts();
    let mut response = Response::new(ToolBody::Echo(body));
    for name in [CONTENT_TYPE, CONTENT_ENCODING] {
        if let Some(value) = head.headers.get(&name) {
            response.headers_mut().insert(name, value.clone());
        }
    }
    response
}

/// Returns a number of the query, or `default` if it is absent.
///
/// # Errors
/// Returns 400 unless it is an integer from 0 to `maximum`.
fn number(
    request: &Request<Incoming>,
    name: &'static str,
    default: u64,
    maximum: u64,
) -> Result<u64, Box<ToolResponse>> {
    let query = request.uri().query().unwrap_or_default();
    let Some((_, text)) = form_urlencoded::parse(query.as_bytes()).find(|(key, _)| key == name) else {
        return Ok(default);
    };
    let number = text.parse().ok().filter(|&number| number <= maximum);
    number.ok_or_else(|| invalid_query(name, &text, &format!("an integer from 0 to {maximum}")))
}

fn invalid_query(name: &str, value: &str, expected: &str) -> Box<ToolResponse> {
    let message = format!("invalid `{name}` `{value}`: expected {expected}");
    Box::new(error(StatusCode::BAD_REQUEST, "query-invalid", &message))
}
