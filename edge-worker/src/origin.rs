//! Forwarding a call to an origin's proxy, with a retry at the next origin if that is safe.

mod attempt;
mod upload;

use std::cell::RefCell;

use shared::{
    grant::Grant,
    headers,
    origin::{CONNECT_TIMEOUT_MS, Origin, OriginError, Reachability},
    problem::Problem,
    proof::Proof,
    route::ToolCall,
    status::StatusReport,
    time::UnixMillis,
};
use wasm_bindgen::{JsCast, JsValue};
use worker::{js_sys, web_sys};

use crate::{bindings::Bindings, clock, context::RequestContext, log, log::Line, promise};
use attempt::{Attempt, Undelivered};
use upload::Upload;

thread_local! {
    static REACHABILITY: RefCell<Reachability> = RefCell::default();
}

/// An admitted call.
pub(crate) struct Passage<'a> {
    pub(crate) context: &'a RequestContext<'a>,
    pub(crate) call: &'a ToolCall<'a>,
    /// Returns the grant for the call, issued at the time of sending.
    pub(crate) grant: &'a dyn Fn(UnixMillis) -> Grant,
}

/// Forwards the call. Returns the response of the first origin that responds.
///
/// # Errors
/// A 503 if none does; `request-timeout` or `body-malformed` if the client does not send the whole body.
pub(crate) async fn forward(passage: &Passage<'_>, line: &mut Line) -> Result<web_sys::Response, Problem> {
    let began = clock::now();
    let upload = Upload::receive(passage).await;
    line.client_ms = clock::now().since(began);
    let upload = upload?;
    let origins = &passage.context.bindings.origins;
    let order = REACHABILITY.with_borrow(|seen| seen.order(origins, clock::now()));
    let mut failure = OriginError::Refused;
    for (nth, &index) in order.iter().enumerate() {
        let Some(origin) = origins.all().get(index) else { continue };
        let sent_at = clock::now();
        let confirmed = REACHABILITY.with_borrow(|seen| seen.is_confirmed(index, sent_at));
        let attempt = Attempt { passage, origin, another: nth + 1 < order.len(), confirmed };
        match attempt.run(&upload).await {
            Ok(response) => {
                REACHABILITY.with_borrow_mut(|seen| seen.record_reached(index, clock::now()));
                line.origin = Some(origin.name.clone());
                line.handed_over = Some((sent_at, clock::now()));
                return Ok(response);
            }
            Err(Undelivered::ByClient(problem)) => return Err(problem),
            Err(Undelivered::ByOrigin(failed)) => failure = failed,
        }
        REACHABILITY.with_borrow_mut(|seen| seen.record_failure(index, failure, clock::now()));
        if !(upload.can_repeat() && failure.is_retryable(passage.call.method)) {
            break;
        }
    }
    Err(failure.problem(passage.call.tool, passage.call.method))
}

/// Returns the status report of the first origin that responds, or `None`.
pub(crate) async fn status(context: &RequestContext<'_>) -> Option<StatusReport> {
    let order = REACHABILITY.with_borrow(|seen| seen.order(&context.bindings.origins, clock::now()));
    for place in order {
        let Some(origin) = context.bindings.origins.all().get(place) else { continue };
        let report = promise::within(CONNECT_TIMEOUT_MS, read_status(context, origin)).await;
        if let Some(Ok(Some(report))) = report {
            return Some(report);
        }
        log::cause("origin status failed", Some(context.incoming), &origin.name);
    }
    None
}

async fn read_status(context: &RequestContext<'_>, origin: &Origin) -> Result<Option<StatusReport>, JsValue> {
    let Some(response) = probe(context, origin, "/v1/status").await? else { return Ok(None) };
    let text = promise::settled(response.text()?).await?;
    Ok(text.as_string().and_then(|text| StatusReport::from_json(&text)))
}

/// Returns true if our proxy responds at this origin.
async fn is_there(context: &RequestContext<'_>, origin: &Origin) -> bool {
    match promise::within(CONNECT_TIMEOUT_MS, probe(context, origin, "/healthz")).await {
        Some(Ok(Some(response))) => {
            discard(&response);
            true
        }
        Some(Ok(None) | Err(_)) | None => false,
    }
}

/// Sends a request that needs no grant to an origin. Returns `None` if the response has no valid proof.
async fn probe(
    context: &RequestContext<'_>,
    origin: &Origin,
    path: &str,
) -> Result<Option<web_sys::Response>, JsValue> {
    let init = web_sys::RequestInit::new();
    init.set_cache(web_sys::RequestCache::NoStore);
    init.set_redirect(web_sys::RequestRedirect::Manual);
    let request = web_sys::Request::new_with_str_and_init(&format!("{}{path}", origin.base), &init)?;
    let id = context.incoming.id;
    request.headers().set(headers::REQUEST_ID, &id.to_string())?;
    let response = fetch(context.bindings, &request).await?;
    let proof = response.headers().get(headers::PROOF)?.unwrap_or_default();
    if Proof::verify_probe(&proof, id, &origin.name, &context.bindings.grants) {
        return Ok(Some(response));
    }
    discard(&response);
    let cause = format!("{} responded {} to a probe without proof", origin.name, response.status());
    log::cause("origin probe failed", Some(context.incoming), cause);
    Ok(None)
}

/// Sends a request to an origin, over the binding with the client certificate if there is one. Returns the
/// response.
async fn fetch(bindings: &Bindings, request: &web_sys::Request) -> Result<web_sys::Response, JsValue> {
    let sent = match &bindings.origin_cert {
        Some(fetcher) => fetcher.fetch(request)?,
        None => {
            let scope: web_sys::WorkerGlobalScope = js_sys::global().unchecked_into();
            scope.fetch_with_request(request)
        }
    };
    promise::settled(sent).await?.dyn_into()
}

/// Cancels the body of an unread response, so that its connection is free.
fn discard(response: &web_sys::Response) {
    if let Some(body) = response.body() {
        promise::let_go(body.cancel());
    }
}
