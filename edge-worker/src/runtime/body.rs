//! Request bodies: read, buffered or drained.

use shared::lease_cache::STALL_MS;
use shared::problem::{Problem, codes, response_aborted};
use shared::request::{BODY_IDLE_TIMEOUT_MS, Head, late, stalled, too_large};
use wasm_bindgen::JsCast;
use worker::{js_sys, web_sys};

use crate::runtime::client_request::ClientRequest;
use crate::runtime::{calls, log, promise};

/// Timeout for draining the body of a refused request, in milliseconds.
const DRAIN_MS: u64 = 10_000;

/// Reads a JSON body of at most `limit` bytes, in a `PATCH` a merge patch. Returns all of it.
///
/// # Errors
/// As [`read_as`].
pub(crate) async fn read(request: &ClientRequest, head: &Head<'_>, limit: usize) -> Result<Vec<u8>, Problem> {
    read_as(request, head, &[], limit).await
}

/// Reads a body of at most `limit` bytes, of one of these types or JSON. Returns all of it.
///
/// # Errors
/// `media-type-unsupported`, `body-too-large` by declared or actual length, `request-timeout`, or
/// `body-malformed` if the body ends too early.
pub(crate) async fn read_as(
    request: &ClientRequest,
    head: &Head<'_>,
    types: &[&str],
    limit: usize,
) -> Result<Vec<u8>, Problem> {
    let limit_bytes = u64::try_from(limit).unwrap_or(u64::MAX);
    head.check_own_body(&request.method, types)?;
    // Before the first byte: a client that waits for `100 Continue` need not send any.
    head.check_length(limit_bytes)?;
    let mut bytes = Vec::new();
    let Some(stream) = request.raw.body() else {
        return Ok(bytes);
    };
    let reader: web_sys::ReadableStreamDefaultReader = stream.get_reader().unchecked_into();
    while let Some(chunk) = next_chunk(&reader, request).await? {
        if bytes.len().saturating_add(chunk.byte_length() as usize) > limit {
            // So that `drain` can take the rest. A locked stream would reset the connection before
            // the 413 is read.
            reader.release_lock();
            return Err(too_large(limit_bytes));
        }
        bytes.extend(chunk.to_vec());
    }
    Ok(bytes)
}

/// Buffers the whole body in the runtime's own memory. Must be called for small declared lengths
/// only.
///
/// # Errors
/// `request-timeout` if it is incomplete after a minute, `body-malformed` if it is cut off.
pub(crate) async fn receive(request: &ClientRequest) -> Result<js_sys::ArrayBuffer, Problem> {
    request.is_body_taken.set(true);
    // One call for reading, the timer and the wait: each would be one of its own, of every POST.
    let [ms, stall_ms] = [BODY_IDLE_TIMEOUT_MS, STALL_MS].map(|ms| u32::try_from(ms).unwrap_or(u32::MAX));
    let received = promise::settled_by(|slot| calls::receive_body(&request.raw, ms, stall_ms, slot));
    let bytes = received.await.map_err(|error| broken_off(request, &error))?;
    if bytes.is_undefined() { Err(late()) } else { Ok(bytes.unchecked_into()) }
}

/// Reads the body of a response. Returns `None` if it has more than `limit` bytes.
///
/// # Errors
/// `response-aborted` if it stalls or is cut off.
pub(crate) async fn of_response(
    response: &web_sys::Response,
    request: &ClientRequest,
    limit: usize,
) -> Result<Option<Vec<u8>>, Problem> {
    let mut bytes = Vec::new();
    let Some(stream) = response.body() else { return Ok(Some(bytes)) };
    let reader: web_sys::ReadableStreamDefaultReader = stream.get_reader().unchecked_into();
    while let Some(chunk) = next_chunk(&reader, request).await.map_err(|_| response_aborted())? {
        if bytes.len().saturating_add(chunk.byte_length() as usize) > limit {
            promise::detach(reader.cancel());
            return Ok(None);
        }
        bytes.extend(chunk.to_vec());
    }
    Ok(Some(bytes))
}

/// Returns the body that was not read yet, if there is one.
pub(crate) fn unread(request: &ClientRequest) -> Option<web_sys::ReadableStream> {
    let is_taken = request.is_body_taken.get();
    (!is_taken).then(|| request.raw.body()).flatten().filter(|stream| !stream.locked())
}

/// Drains the body that a refusal left unread (lingering close). Otherwise the runtime resets the
/// connection once the response ends, and a client that sends everything before it reads never sees the
/// response.
///
/// Reads at most twice `max_body` bytes, so that a body slightly over the limit gets its 413, for
/// at most [`DRAIN_MS`]. Does not read a body that declares more than that, nor one whose client
/// waits for `100 Continue`.
pub(crate) async fn drain(request: &ClientRequest, stream: web_sys::ReadableStream, max_body: u64) {
    let declared = request.header("content-length").map(|text| text.parse().unwrap_or(u64::MAX));
    let max = max_body.saturating_mul(2);
    if declared.is_some_and(|length| length > max) || request.header("expect").is_some() {
        return;
    }
    let reader: web_sys::ReadableStreamDefaultReader = stream.get_reader().unchecked_into();
    let dropped = async {
        let mut read = 0u64;
        while let Ok(Some(chunk)) = next_chunk(&reader, request).await {
            read = read.saturating_add(chunk.byte_length().into());
            if read > max {
                break;
            }
        }
    };
    if promise::timeout(DRAIN_MS, dropped).await.is_none() {
        promise::detach(reader.cancel());
    }
}

/// Reads the next chunk of a body. Returns `None` at its end.
///
/// # Errors
/// `request-timeout` if no data arrives for a minute, `body-malformed` if the body is cut off.
async fn next_chunk(
    reader: &web_sys::ReadableStreamDefaultReader,
    request: &ClientRequest,
) -> Result<Option<js_sys::Uint8Array>, Problem> {
    let Some(read) = promise::timeout(BODY_IDLE_TIMEOUT_MS, promise::settled(reader.read())).await else {
        return Err(stalled());
    };
    let result = read.map_err(|error| broken_off(request, &error))?;
    let member = |name: &str| js_sys::Reflect::get(&result, &name.into()).unwrap_or_default();
    if member("done").is_truthy() {
        return Ok(None);
    }
    member("value").dyn_into().map(Some).map_err(|error| broken_off(request, &error))
}

fn broken_off(request: &ClientRequest, error: &wasm_bindgen::JsValue) -> Problem {
    log::error(log::Event("body read failed"), Some(request.id), &[("error", &format_args!("{error:?}"))]);
    incomplete()
}

/// Returns the problem for a body that the client cut off.
pub(crate) fn incomplete() -> Problem {
    Problem::new(codes::BODY_MALFORMED, "the body ends too early or its framing is wrong")
}
