//! The HTTP service of a simulated tool: health checks, calls, injected latency, errors and faults.

use std::sync::Arc;

use http_body_util::{BodyExt, Limited};
use hyper::body::Incoming;
use hyper::{Method, Request, StatusCode};
use serde_json::json;

use super::actions;
use super::description;
use super::fault::{Fault, FaultKind, InjectFaultError};
use super::response::{ToolResponse, error, json, method_not_allowed};
use super::settings::Settings;
use super::state::ToolState;

/// The distance between the sequences that select errors and hangs.
const HANG_OFFSET: u64 = 1 << 20;
/// The maximum size of a webhook.
const MAX_WEBHOOK_BYTES: usize = 1 << 20;

/// Returns the response that the current settings call for.
///
/// # Errors
/// Returns the fault to inject in place of a response.
pub(super) async fn respond(
    request: Request<Incoming>,
    state: Arc<ToolState>,
) -> Result<ToolResponse, InjectFaultError> {
    let settings = *state.settings();
    if request.uri().path() == "/healthz" {
        state.counters().probes += 1;
        return probe(request, &state, &settings).await;
    }
    if request.uri().path() == description::PATH
        && request.method() == Method::GET
        && settings.fault.is_none()
    {
        return Ok(json(StatusCode::OK, &description::description(state.tool)));
    }
    let nth = state.count_call();
    if let Some(fault) = settings.fault {
        state.counters().errors += 1;
        return Err(consume(fault, request).await);
    }
    let latency = settings.latency(nth);
    if !latency.is_zero() {
        tokio::time::sleep(latency).await;
    }
    // Another start of the sequence, so that errors and hangs do not select the same calls.
    if settings.hang_rate.selects(nth + HANG_OFFSET) {
        state.counters().errors += 1;
        return Err(consume(Fault { kind: FaultKind::Hang, probes: false }, request).await);
    }
    let response = if settings.error_rate.selects(nth) {
        state.counters().errors += 1;
        error(StatusCode::INTERNAL_SERVER_ERROR, "simulated", "simulated error, set by error_rate")
    } else {
        call(request, &state, settings.body_bytes).await
    };
    state.count_response(response.status());
    Ok(response)
}

/// Returns the response to a health check.
async fn probe(
    request: Request<Incoming>,
    state: &ToolState,
    settings: &Settings,
) -> Result<ToolResponse, InjectFaultError> {
    if let Some(fault) = settings.fault.filter(|fault| fault.probes) {
        return Err(consume(fault, request).await);
    }
    let (status, text) =
        if settings.healthy { (StatusCode::OK, "ok") } else { (StatusCode::SERVICE_UNAVAILABLE, "sick") };
    Ok(json(status, &json!({ "status": text, "tool": state.tool.as_str() })))
}

/// Reads the request body if the fault requires it. Returns the error that makes the connection
/// inject the fault.
async fn consume(fault: Fault, request: Request<Incoming>) -> InjectFaultError {
    let mut body = request.into_body();
    if fault.kind.reads_body() {
        while let Some(Ok(_)) = body.frame().await {}
    }
    InjectFaultError(fault.kind)
}

async fn call(request: Request<Incoming>, state: &ToolState, body_bytes: Option<u32>) -> ToolResponse {
    if request.method() != Method::GET && request.method() != Method::POST {
        return method_not_allowed("GET, POST");
    }
    let Some(action) = action(request.uri().path()).map(str::to_owned) else {
        let message = format!("invalid path `{}`: expected /{{action}}", request.uri().path());
        return error(StatusCode::NOT_FOUND, "no-such-action", &message);
    };
    if action == "webhook" && request.method() == Method::POST {
        return receive_webhook(request, state).await;
    }
    actions::perform(state.tool, &action, request, body_bytes).await
}

/// Counts the events of a webhook.
async fn receive_webhook(request: Request<Incoming>, state: &ToolState) -> ToolResponse {
    let invalid = |message: &str| error(StatusCode::BAD_REQUEST, "body-invalid", message);
    let Ok(body) = Limited::new(request.into_body(), MAX_WEBHOOK_BYTES).collect().await else {
        return invalid("the body is incomplete or larger than 1 MiB");
    };
    if state.webhooks.record(&body.to_bytes()) {
        json(StatusCode::OK, &json!({ "received": true }))
    } else {
        invalid("invalid webhook: expected an event with `id` and `timestamp`, or a batch of them")
    }
}

/// Returns the action of a path, or `None` unless it is exactly one segment.
fn action(path: &str) -> Option<&str> {
    path.strip_prefix('/').filter(|segment| !segment.is_empty() && !segment.contains('/'))
}
