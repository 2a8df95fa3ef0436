//! One request to a simulated tool: probe or call, fault, wait, error or answer.

use std::sync::Arc;

use http_body_util::BodyExt;
use hyper::body::Incoming;
use hyper::{Method, Request, StatusCode};
use serde_json::json;

use super::actions;
use super::answer::{Answer, json, method_not_allowed, refusal};
use super::fault::{Fault, FaultDue};
use super::settings::Settings;
use super::state::State;

/// Answers a request as the settings of this moment say.
///
/// # Errors
/// When a fault is due: the connection then does what the fault says instead of answering.
pub(super) async fn respond(request: Request<Incoming>, state: Arc<State>) -> Result<Answer, FaultDue> {
    let settings = *state.settings();
    if request.uri().path() == "/healthz" {
        state.count_probe();
        return probe(request, &state, &settings).await;
    }
    let nth = state.count_call();
    if let Some(fault) = settings.fault {
        state.count_error();
        return Err(prepare(fault, request).await);
    }
    let wait = settings.wait(nth);
    if !wait.is_zero() {
        tokio::time::sleep(wait).await;
    }
    if settings.error_rate.holds(nth) {
        state.count_error();
        return Ok(refusal(StatusCode::INTERNAL_SERVER_ERROR, "simulated", "the tool's own error, as set"));
    }
    Ok(call(request, &state).await)
}

async fn probe(request: Request<Incoming>, state: &State, settings: &Settings) -> Result<Answer, FaultDue> {
    if let Some(fault) = settings.fault.filter(|fault| fault.probes) {
        return Err(prepare(fault, request).await);
    }
    let (status, word) =
        if settings.healthy { (StatusCode::OK, "ok") } else { (StatusCode::SERVICE_UNAVAILABLE, "sick") };
    Ok(json(status, &json!({ "status": word, "tool": state.tool.as_str() })))
}

async fn prepare(fault: Fault, request: Request<Incoming>) -> FaultDue {
    let mut body = request.into_body();
    if fault.kind.reads_body() {
        while let Some(Ok(_)) = body.frame().await {}
    }
    FaultDue(fault.kind)
}

async fn call(request: Request<Incoming>, state: &State) -> Answer {
    if request.method() != Method::GET && request.method() != Method::POST {
        return method_not_allowed("GET, POST");
    }
    let Some(action) = action(request.uri().path()).map(str::to_owned) else {
        return refusal(StatusCode::NOT_FOUND, "no-such-action", "an action is one path segment: /{action}");
    };
    actions::perform(state.tool, &action, request).await
}

fn action(path: &str) -> Option<&str> {
    path.strip_prefix('/').filter(|segment| !segment.is_empty() && !segment.contains('/'))
}
