//! Reading the small bodies that the gateway itself understands.

use shared::{
    problem::{Code, Problem},
    request::{BODY_PAUSE_MS, Head, stalled, too_large},
};
use wasm_bindgen::JsCast;
use worker::{js_sys, web_sys};

use crate::{incoming::Incoming, log, promise};

/// The whole body, which may have at most `limit` bytes.
///
/// # Errors
/// `media-type-unsupported`, `body-too-large`, stated or counted, `request-timeout`, or `body-malformed` when it
/// ends too early.
pub(crate) async fn read(incoming: &Incoming, head: &Head<'_>, limit: usize) -> Result<Vec<u8>, Problem> {
    let limit_bytes = u64::try_from(limit).unwrap_or(u64::MAX);
    head.check_media_type(&[])?;
    head.check_length(limit_bytes)?;
    let mut bytes = Vec::new();
    let Some(stream) = incoming.request.body() else {
        return Ok(bytes);
    };
    let reader: web_sys::ReadableStreamDefaultReader = stream.get_reader().unchecked_into();
    while let Some(chunk) = next_chunk(&reader, incoming).await? {
        if bytes.len().saturating_add(chunk.byte_length() as usize) > limit {
            promise::let_go(reader.cancel());
            return Err(too_large(limit_bytes));
        }
        bytes.extend(chunk.to_vec());
    }
    Ok(bytes)
}

/// Reads what nobody has read of a small body and drops it: the runtime resets a connection on which the body of
/// an answered request is left, and the client may lose the very answer that tells it to slow down.
///
/// A client that waits to be asked for its body is not asked.
pub(crate) async fn drain(incoming: &Incoming) {
    const MOST: u32 = 65_536;
    const WITHIN_MS: u64 = 1_000;
    let stated = incoming.header("content-length").and_then(|text| text.parse::<u32>().ok());
    let Some(stream) = incoming.request.body().filter(|stream| !stream.locked()) else { return };
    let large = stated.is_some_and(|length| length > MOST);
    if large || incoming.header("expect").is_some() {
        return;
    }
    let reader: web_sys::ReadableStreamDefaultReader = stream.get_reader().unchecked_into();
    let dropped = async {
        let mut read = 0u32;
        while let Ok(Some(chunk)) = next_chunk(&reader, incoming).await {
            read = read.saturating_add(chunk.byte_length());
            if read > MOST {
                break;
            }
        }
    };
    if promise::within(WITHIN_MS, dropped).await.is_none() {
        promise::let_go(reader.cancel());
    }
}

/// The next piece of a body; `None` at its end.
///
/// # Errors
/// `request-timeout` when nothing comes for a minute, `body-malformed` when the body breaks off.
pub(crate) async fn next_chunk(
    reader: &web_sys::ReadableStreamDefaultReader,
    incoming: &Incoming,
) -> Result<Option<js_sys::Uint8Array>, Problem> {
    let Some(read) = promise::within(BODY_PAUSE_MS, promise::settled(reader.read())).await else {
        return Err(stalled());
    };
    let result = read.map_err(|fault| broken_off(incoming, &fault))?;
    let member = |name: &str| js_sys::Reflect::get(&result, &name.into()).unwrap_or_default();
    if member("done").is_truthy() {
        return Ok(None);
    }
    member("value").dyn_into().map(Some).map_err(|fault| broken_off(incoming, &fault))
}

fn broken_off(incoming: &Incoming, fault: &wasm_bindgen::JsValue) -> Problem {
    log::cause("reading a body", Some(incoming), format!("{fault:?}"));
    Problem::new(Code::BodyMalformed, "the body ends too early or its framing is wrong")
}
