//! Event streams of tools. The runtime ends a broken body as a complete one, so a stream that is
//! cut off gets an event that says so.
//!
//! Why: docs/decisions/edge.md, "An event stream of unknown length is followed line by line".
//!
//! Why: docs/decisions/edge.md, "Other responses of unknown length are passed on as they are".

use std::cell::Cell;

use serde::{Deserialize, Serialize};
use shared::headers;
use shared::json;
use shared::key::{SecretId, VerifiedKey};
use shared::lease_cache::Charge;
use shared::meter::LoggedCall;
use shared::problem::{codes, response_aborted};
use shared::request_id::RequestId;
use shared::route::ToolCall;
use shared::time::UnixMillis;
use shared::tool::Tool;
use wasm_bindgen::prelude::Closure;
use wasm_bindgen::{JsCast, JsValue};
use worker::{Context, worker_sys};

use crate::bindings::Bindings;
use crate::context::RequestContext;
use crate::gateway::meter_client;
use crate::runtime::streamed_response::StreamedResponse;
use crate::runtime::{calls, log};

thread_local! {
    static IS_LISTENING: Cell<bool> = const { Cell::new(false) };
}

/// A call whose event stream is in flight. It waits as a text beside the stream, so that nothing is left
/// of it if the runtime drops both.
#[derive(Serialize, Deserialize)]
struct StreamedCall {
    request: RequestId,
    key: VerifiedKey,
    secret_id: Option<SecretId>,
    tool: Tool,
    action: String,
    status: u16,
    charge: Charge,
    origin: Option<String>,
}

/// Returns the response of a call. An event stream of unknown length is followed to its end: if the
/// origin breaks it off, it gets an event `error`, and the call is refunded.
// Rarely more than a look at two headers, and large: it would double what handles a call.
#[inline(never)]
pub(crate) fn follow(
    context: &RequestContext<'_>,
    call: &ToolCall<'_>,
    (key, secret_id): (&VerifiedKey, Option<SecretId>),
    charge: Charge,
    origin: Option<String>,
    response: StreamedResponse,
) -> StreamedResponse {
    if !is_followed(&response) {
        return response;
    }
    // Once for each isolate: each callback that is registered stays for its life.
    if !IS_LISTENING.replace(true) {
        listen();
    }
    let streamed = StreamedCall {
        request: context.request.id,
        key: *key,
        secret_id,
        tool: call.tool,
        action: call.action.as_str().to_owned(),
        status: response.status,
        charge,
        origin,
    };
    let event = response_aborted().render_event(&context.request.id);
    let followed =
        json::to_string(&streamed).map_err(|error| JsValue::from(error.to_string())).and_then(|text| {
            let (client, execution) = (&context.request.raw, context.execution.as_ref());
            calls::follow(client, &response.raw, &event, &text, execution)
        });
    match followed {
        Ok(raw) => response.with_raw(raw),
        Err(error) => {
            let error = worker::Error::from(error);
            log::error(log::Event("stream not followed"), Some(context.request.id), &[("error", &error)]);
            response
        }
    }
}

/// Returns true for an event stream whose end the client cannot tell from a break. The runtime would
/// decode an encoded one, and an encoding has its own end.
fn is_followed(response: &StreamedResponse) -> bool {
    let is_event_stream = response.header("content-type").is_some_and(headers::is_event_stream);
    is_event_stream
        // With a length, the client sees by itself that bytes are missing.
        && response.header("content-length").is_none()
        && response.header("content-encoding").is_none()
        && response.raw.body().is_some()
}

/// Lets the runtime report streams that were cut off.
fn listen() {
    let callback: Closure<dyn Fn(String, JsValue)> =
        Closure::new(|call: String, execution: JsValue| record_aborted(&call, execution));
    calls::set_record_aborted(callback.as_ref().unchecked_ref());
    // It is needed for as long as the isolate lives.
    callback.forget();
}

fn record_aborted(call: &str, execution: JsValue) {
    let (Ok(call), Some(bindings)) = (json::from_str::<StreamedCall>(call), Bindings::known()) else {
        return;
    };
    let StreamedCall { request, key, secret_id, tool, action, status, charge, origin } = call;
    let origin = origin.unwrap_or_default();
    let fields: [log::Field<'_>; 5] = [
        ("by", &"upstream"),
        ("code", &codes::RESPONSE_ABORTED.as_str()),
        ("tool", &tool),
        ("key_id", &key.id),
        ("origin", &origin),
    ];
    log::error(log::Event("response aborted"), Some(request), &fields);
    let execution = Context::new(execution.unchecked_into::<worker_sys::Context>());
    let broken = LoggedCall {
        tool: Some(tool.as_str().to_owned()),
        action: Some(action),
        code: Some(codes::RESPONSE_ABORTED.as_str().to_owned()),
        secret_id,
        ..LoggedCall::new(request, UnixMillis::default(), codes::RESPONSE_ABORTED.status())
    };
    meter_client::record_aborted(&bindings.meter, &execution, &key, tool, status, charge, broken);
}
