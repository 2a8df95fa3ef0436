//! Forwarding a call to an origin's proxy, with a retry at the next origin if that is safe.

mod attempt;
mod attempt_error;
mod probe;
mod upload;

use std::cell::RefCell;

use shared::catalog::{CATALOG_PATH, Catalog};
use shared::grant::Grant;
use shared::headers;
use shared::origin::{CONNECT_TIMEOUT_MS, Origin, OriginError, Reachability, ToolOutages, has_other_origin};
use shared::problem::codes;
use shared::request_id::RequestId;
use shared::route::ToolCall;
use shared::status::{AcceptedTypes, StatusReport};
use shared::time::UnixMillis;
use shared::tool::Tool;
use shared::trace::{Span, TRACEPARENT};

use crate::access_log::ForwardPath;
use crate::bindings::Bindings;
use crate::context::RequestContext;
use crate::runtime::streamed_response::StreamedResponse;
use crate::runtime::{clock, log, promise};
use attempt::Attempt;
use attempt_error::AttemptError;
pub(crate) use attempt_error::ForwardError;
use probe::discard;
use upload::Upload;

const STATUS_PATH: &str = "/v1/status";

thread_local! {
    static REACHABILITY: RefCell<Reachability> = RefCell::default();
    static OUTAGES: RefCell<ToolOutages> = RefCell::default();
}

/// Forwards an admitted call. Returns the response of the first origin that responds and has a healthy
/// server of the tool, or else the refusal of the last that has none, with the way there. `grant`
/// returns the grant for the call, issued at the time of sending.
///
/// The error is a 503 if no origin responds, and `request-timeout` or `body-malformed` if the client
/// does not send the whole body.
pub(crate) async fn forward(
    context: &RequestContext<'_>,
    call: &ToolCall<'_>,
    grant: &dyn Fn(UnixMillis) -> Grant,
) -> (Result<StreamedResponse, ForwardError>, ForwardPath) {
    let started = clock::now();
    let upload = Upload::receive(context, call.method).await;
    // Even with an error: a slow client is what this number is there to show.
    let body_wait_ms = clock::now().since(started);
    let upload = match upload {
        Ok(upload) => upload,
        Err(problem) => {
            let path = ForwardPath { body_wait_ms, ..ForwardPath::default() };
            return (Err(ForwardError::refused(problem)), path);
        }
    };
    let span = span_of(context);
    let mut path = ForwardPath { body_wait_ms, span: Some(span), ..ForwardPath::default() };
    let origins = &context.bindings.origins;
    let order = order_of(context.bindings, call.tool, upload.can_repeat());
    let mut failure = OriginError::Refused;
    // The response that the client gets, if no later origin has a better one.
    let mut received = None;
    for (nth, &index) in order.iter().enumerate() {
        let Some(origin) = origins.all().get(index) else { continue };
        let sent_at = clock::now();
        let is_confirmed = REACHABILITY.with_borrow(|seen| seen.is_confirmed(index, sent_at));
        // The order may name the same origin twice, so that a next attempt is not yet another
        // origin.
        let has_next = nth + 1 < order.len();
        let has_other = has_other_origin(&order, nth);
        let attempt = Attempt { context, call, grant, span, origin, has_next, has_other, is_confirmed };
        match attempt.run(&upload).await {
            Ok(response) => {
                path.origin = Some(origin.name.clone());
                path.times = Some((sent_at, clock::now()));
                let rest = order.get(nth + 1..).unwrap_or_default();
                let goes_on = record_response(&response, index, call.tool, rest);
                if let Some(former) = received.replace(response) {
                    // Its body is unread, and would hold one of the six connections of the request.
                    discard(&former.raw);
                }
                if !(goes_on && upload.can_repeat()) {
                    break;
                }
                path.tried.push(origin.name.clone());
                continue;
            }
            Err(error) => {
                // A fault of the client ends the call. Another origin would get the same request.
                failure = match error.failure() {
                    Ok(failure) => failure,
                    Err(fault) => return (Err(fault), path),
                };
                record_failure(context, (index, origin), failure, &error);
                path.tried.push(origin.name.clone());
            }
        }
        // A POST that may have reached a tool is not sent again (RFC 9110, section 9.2.2).
        if !(upload.can_repeat() && failure.is_retryable(call.method)) {
            break;
        }
    }
    // A refusal of a proxy says more than the failure of the origin after it.
    let outcome = received.ok_or_else(|| ForwardError::refused(failure.problem(call.tool, call.method)));
    (outcome, path)
}

// `forward` runs at least twice for each call. With the four functions below it has 7 KB, which V8 optimizes first in a new
// isolate.

/// Returns the span of the call at the edge.
#[inline(never)]
fn span_of(context: &RequestContext<'_>) -> Span {
    let id = context.request.id;
    Span::new(context.request.header(TRACEPARENT), id, id.span_entropy())
}

/// Returns the origins for a call of a tool, the best one first.
#[inline(never)]
fn order_of(bindings: &Bindings, tool: Tool, can_repeat: bool) -> Vec<usize> {
    let mut order = REACHABILITY.with_borrow(|seen| seen.order(&bindings.origins, clock::now()));
    OUTAGES.with_borrow_mut(|seen| seen.arrange(&mut order, tool, can_repeat, clock::now()));
    order
}

/// Records a response of the origin at `index`. Returns true if the tool is out there, and may have a server at an origin of
/// `rest`.
#[inline(never)]
fn record_response(response: &StreamedResponse, index: usize, tool: Tool, rest: &[usize]) -> bool {
    // Even for a refusal: the proxy is there. Only its tool has no server.
    REACHABILITY.with_borrow_mut(|seen| seen.record_reached(index, clock::now()));
    let is_out = lacks_server(response);
    OUTAGES.with_borrow_mut(|seen| {
        match is_out {
            true => seen.record_out(index, tool, clock::now()),
            false => seen.record_served(index, tool),
        }
        // An origin without a server of the tool either would only cost the client its time.
        is_out && seen.has_other(rest, index, tool)
    })
}

/// Records and logs the failure of an origin.
#[inline(never)]
fn record_failure(
    context: &RequestContext<'_>,
    (index, origin): (usize, &Origin),
    failure: OriginError,
    error: &AttemptError,
) {
    let fields: [log::Field<'_>; 3] =
        [("origin", &origin.name), ("failure", &format!("{failure:?}")), ("error", error)];
    log::error(log::Event("origin call failed"), Some(context.request.id), &fields);
    REACHABILITY.with_borrow_mut(|seen| seen.record_failure(index, failure, clock::now()));
}

/// Returns true if the proxy says that the tool has no healthy server in its data center, and that
/// nothing of the call was sent to a tool. A tool's own 503 does not have these headers.
fn lacks_server(response: &StreamedResponse) -> bool {
    response.status == codes::TOOL_UNAVAILABLE.status()
        && response.header(headers::PROBLEM).and_then(codes::parse) == Some(codes::TOOL_UNAVAILABLE)
        // With it, a server of the tool had part of the call, and another origin could execute it
        // twice.
        && response.header(headers::SENT).is_none()
}

/// Returns the status report of the first origin that responds, or `None`.
pub(crate) async fn status(bindings: &Bindings, id: RequestId) -> Option<StatusReport> {
    read(bindings, id, STATUS_PATH, StatusReport::from_json).await
}

/// Returns the media types that the first origin that responds takes, or `None`.
pub(crate) async fn accepted_types(context: &RequestContext<'_>) -> Option<AcceptedTypes> {
    read(context.bindings, context.request.id, STATUS_PATH, AcceptedTypes::from_report).await
}

/// Returns the catalog of the first origin that responds, or `None`.
pub(crate) async fn catalog(context: &RequestContext<'_>) -> Option<Catalog> {
    read(context.bindings, context.request.id, CATALOG_PATH, Catalog::from_json).await
}

/// Returns what the first origin responds on a path that needs no grant, or `None`.
async fn read<T>(bindings: &Bindings, id: RequestId, path: &str, parse: fn(&str) -> Option<T>) -> Option<T> {
    let order = REACHABILITY.with_borrow(|seen| seen.order(&bindings.origins, clock::now()));
    for index in order {
        let Some(origin) = bindings.origins.all().get(index) else { continue };
        // Each origin has the time of a connection only, because a page waits for the first that
        // responds.
        let text = promise::timeout(CONNECT_TIMEOUT_MS, probe::read(bindings, id, origin, path)).await;
        if let Some(Ok(Some(text))) = text
            && let Some(parsed) = parse(&text)
        {
            return Some(parsed);
        }
        let fields: [log::Field<'_>; 2] = [("origin", &origin.name), ("path", &path)];
        log::error(log::Event("origin status failed"), Some(id), &fields);
    }
    None
}
