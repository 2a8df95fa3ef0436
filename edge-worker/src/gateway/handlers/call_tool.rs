//! `GET` and `POST` on `/v1/{tool}/{action}`.

use shared::grant::Grant;
use shared::headers;
use shared::key::VerifiedKey;
use shared::lease_cache::Admission;
use shared::prices::Price;
use shared::problem::{Code, Problem, codes};
use shared::quota::{CallEnd, QuotaStatus, is_uncharged};
use shared::route::ToolCall;

use crate::access_log::{CallEnded, Called};
use crate::caller::{Answer, Caller, Found};
use crate::context::RequestContext;
use crate::gateway::authenticate::authenticate;
use crate::gateway::event_stream;
use crate::gateway::media_types;
use crate::gateway::meter_client::{self, CallDecision, CallOutcome};
use crate::gateway::origin::{self, ForwardError};
use crate::respond::{ClientResponse, Handled};
use crate::runtime::log;
use crate::runtime::streamed_response::StreamedResponse;

/// A call that its meter has decided on.
struct Decided {
    key: VerifiedKey,
    price: Price,
    decision: CallDecision,
}

/// Forwards a call if the key's meter admits it. The outcome may be the problem of the key or of the request, or why it
/// cannot be forwarded.
pub(crate) async fn handle(context: &RequestContext<'_>, call: &ToolCall<'_>) -> Handled {
    match decide(context, call).await {
        Ok(Found { value: decided, caller }) => forward(context, call, decided, caller).await,
        Err(Found { value: problem, caller }) => {
            Handled { outcome: Err(problem), called: Called::of(call), caller }
        }
    }
}

async fn decide(context: &RequestContext<'_>, call: &ToolCall<'_>) -> Answer<Decided> {
    let key = authenticate(context)?;
    let caller = Caller::of(&key);
    // Before the meter: a call that the proxy would refuse for its length must not be counted.
    caller.check(context.head.check_length(context.bindings.max_body))?;
    caller.check(media_types::check(context, call).await)?;
    let price = context.bindings.prices.of(call.tool, call.action);
    // The most that it may cost. What is left is given back once the response says what it used.
    let decision = caller.check(meter_client::admit(context, &key, call.tool, price.most()).await)?;
    let caller = Caller { secret_id: decision.secret_id, tier: Some(decision.tier), ..caller };
    caller.answer(Ok(Decided { key, price, decision }))
}

async fn forward(
    context: &RequestContext<'_>,
    call: &ToolCall<'_>,
    Decided { key, price, decision: CallDecision { admission, tier, secret_id } }: Decided,
    caller: Caller,
) -> Handled {
    let mut called = Called::of(call);
    let mut headers: Vec<_> = admission.quota().map(QuotaStatus::headers).into_iter().flatten().collect();
    let outcome = match admission {
        Admission::Allow { degraded, charge, .. } => {
            called.degraded = degraded;
            headers.extend(degraded.then(|| (headers::DEGRADED.into(), "meter".into())));
            let request_id = context.request.id;
            let grant = |issued_at| Grant { key_id: key.id, secret_id, tier, request_id, issued_at };
            let (outcome, path) = origin::forward(context, call, &grant).await;
            // A refusal of the proxy is no response of the tool, and is given back.
            let refusal = outcome.as_ref().ok().and_then(proxy_refusal);
            let proxy_status = path.proxy_status().filter(|_| refusal.is_none());
            let origin = path.origin.clone();
            let counted = call_outcome(context, call, price, &outcome, refusal.is_some());
            called.path = path;
            called.units = (price != Price::FREE && !counted.uncharged).then_some(counted.units);
            called.is_logged = true;
            let charge = meter_client::record_outcome(context, &key, call.tool, &counted, charge, |now| {
                called.logged(context, (None, secret_id), &call_ended(&outcome, refusal.as_deref()), now)
            });
            headers.extend(proxy_status.map(|text| ("proxy-status".into(), text.into())));
            headers.extend(refusal.map(|code| (headers::PROBLEM.into(), code.into())));
            match outcome {
                Ok(response) => {
                    Ok(event_stream::follow(context, call, (&key, secret_id), charge, origin, response))
                }
                Err(ForwardError::Failed { problem, .. }) => Err(problem),
                Err(ForwardError::ClientLeft { .. }) => {
                    return Handled { outcome: Ok(ClientResponse::to_nobody()), called, caller };
                }
            }
        }
        Admission::Deny(..) | Admission::Refuse(_) | Admission::Unavailable { .. } => {
            Err(refusal(&admission))
        }
    };
    let outcome = match outcome {
        Ok(response) => Ok(ClientResponse::Streamed { response, headers }),
        Err(problem) => Err(problem.with_headers(headers)),
    };
    Handled { outcome, called, caller }
}

fn refusal(admission: &Admission) -> Problem {
    let undecided = || Problem::new(codes::INTERNAL, "the call was neither admitted nor refused");
    admission.problem().unwrap_or_else(undecided)
}

/// Returns the code of the problem with which the proxy refused a call, or `None` if the response
/// is the tool's.
fn proxy_refusal(response: &StreamedResponse) -> Option<String> {
    response.header(headers::PROBLEM).map(str::to_owned)
}

/// Returns the end of a call for the log of its key. A response of unstated length has no bytes yet.
fn call_ended<'a>(
    outcome: &Result<StreamedResponse, ForwardError>,
    refusal: Option<&'a str>,
) -> CallEnded<'a> {
    match outcome {
        Ok(response) => {
            let length = response.header("content-length").and_then(|length| length.parse().ok());
            CallEnded { status: response.status, code: refusal, response_bytes: length }
        }
        Err(error) => {
            let code = error.code().map(Code::as_str);
            CallEnded { status: error.status(), code, response_bytes: None }
        }
    }
}

/// Returns the outcome of a call. `is_refused` is whether the response is the proxy's.
fn call_outcome(
    context: &RequestContext<'_>,
    call: &ToolCall<'_>,
    price: Price,
    outcome: &Result<StreamedResponse, ForwardError>,
    is_refused: bool,
) -> CallOutcome {
    let (status, end) = match outcome {
        Ok(response) if is_refused => {
            let is_sent = response.header(headers::SENT).is_some();
            (response.status, CallEnd::without_response(is_sent))
        }
        Ok(response) => (response.status, CallEnd::Responded),
        Err(error) => (error.status(), error.end()),
    };
    // Only a tool reports units. A proxy that refused has nothing to charge for.
    let of_tool = outcome.as_ref().ok().filter(|_| !is_refused);
    let reported = of_tool.and_then(|response| response.header(headers::USAGE_UNITS));
    let units = units(context, call, price, reported);
    CallOutcome { status, uncharged: is_uncharged(status, end), units }
}

/// Returns the units that a call costs whose response has `reported` this number. Logs a report above the
/// price.
fn units(context: &RequestContext<'_>, call: &ToolCall<'_>, price: Price, reported: Option<&str>) -> u32 {
    let cost = price.cost(reported);
    if let Some(above) = cost.reported.filter(|_| price != Price::FREE) {
        let fields: [log::Field<'_>; 4] =
            [("tool", &call.tool), ("action", &call.action), ("price", &price.most()), ("reported", &above)];
        log::error(log::Event("price exceeded"), Some(context.request.id), &fields);
    }
    cost.units
}
