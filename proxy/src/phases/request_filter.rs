//! What becomes of a request: its head, its route, its caller and the limits of its pool, in this order.

mod flood;
mod grant;
mod key;

use std::{net::IpAddr, sync::Arc};

pub use flood::flood;

use shared::{
    headers::REQUEST_ID,
    problem::{Code, Problem},
    proof::Proof,
    request_id::RequestId,
    response::Response,
    route::{CallMethod, Route, ToolCall},
    status::StatusReport,
    transport::is_confidential,
};

use super::{
    fail_to_proxy::{refuse, respond},
    outage,
    upstream_peer::{self, check_enabled},
};
use crate::{
    call::{Call, Record},
    config::Callers,
    direct::{Operation, ParsedRequest, RequestScheme},
    observe::access_log::RefusedCall,
    observe::metrics::Bound,
    state::State,
};
use transport::{
    clock::{self, Monotonic},
    hooks::{Request, RequestAction},
    wire::WireHead,
};

type Action<'a> = RequestAction<Call, ParsedRequest<'a>>;

/// Decides what becomes of a request.
pub(super) fn request_filter<'a>(
    state: &State,
    request: &Request<'_, 'a>,
    record: &mut Record,
) -> Action<'a> {
    if state.access_log.wants_timings() {
        record.log.trace_id = trace(request.wire);
    }
    match decide(state, request, record) {
        Ok(action) => action,
        Err(problem) => {
            record.log.refused_call = RefusedCall::parse(request.wire.method, request.wire.target);
            let problem = flood(state, request.address, problem);
            RequestAction::Respond(refuse(state, None, record, &problem), None)
        }
    }
}

fn decide<'a>(state: &State, request: &Request<'_, 'a>, record: &mut Record) -> Result<Action<'a>, Problem> {
    let wire = request.wire;
    let (route, query) = Route::read(wire.method, wire.target)?;
    let respond = |record: &Record, written: Response| {
        Ok(RequestAction::Respond(respond(state, None, record, written.into()), None))
    };
    let operation = match route {
        Route::CallTool(call) => return call_tool(state, request, record, &call),
        Route::Health => {
            record.log.proof = probe_proof(state, wire);
            return respond(record, Response::health());
        }
        Route::Status => {
            record.log.proof = probe_proof(state, wire);
            return respond(record, Response::json(status(state).to_json()));
        }
        Route::Preflight(methods) => return respond(record, Response::preflight(methods)),
        Route::KeyChanges if state.direct.is_some() => {
            return Err(Problem::new(Code::RouteUnknown, "this gateway has no feed of changes"));
        }
        Route::KeyChanges => return Err(tools_only()),
        Route::OpenApi => Operation::OpenApi,
        Route::Docs => Operation::Docs,
        Route::ProblemPage(code) => Operation::ProblemPage(code),
        Route::IssueKey => Operation::IssueKey,
        Route::ReadOwnKey => Operation::ReadOwnKey,
        Route::RotateOwnKey => Operation::RotateOwnKey,
        Route::RevokeOwnKey => Operation::RevokeOwnKey,
        Route::ListKeys => Operation::ListKeys,
        Route::ReadKey(id) => Operation::ReadKey(id),
        Route::ChangeKey(id) => Operation::ChangeKey(id),
        Route::RevokeKey(id) => Operation::RevokeKey(id),
        Route::RotateKey(id) => Operation::RotateKey(id),
    };
    if state.direct.is_none() {
        return Err(tools_only());
    }
    let way = way(wire, record.log.secure, request.address);
    Ok(RequestAction::Handle(ParsedRequest::new(operation, request, query, way)?))
}

fn tools_only() -> Problem {
    Problem::new(Code::RouteUnknown, "this origin serves tools only; call the gateway's public address")
}

/// Decides what becomes of a call of a tool.
fn call_tool<'a>(
    state: &State,
    request: &Request<'_, 'a>,
    record: &mut Record,
    asked: &ToolCall<'_>,
) -> Result<Action<'a>, Problem> {
    let (wire, head, config) = (request.wire, request.head, state.config.load());
    let pool = state.pool(asked.tool);
    record.max_body = pool.config.settings.max_body;
    let (key_id, tier, charged, denied) = match (&config.callers, &state.direct) {
        (Callers::Edge(grants), _) => {
            let place = &config.server.data_centre;
            let grant = grant::verify(state, record, wire, asked, place, &grants.keys)?;
            (grant.key_id, grant.tier, None, None)
        }
        (Callers::Clients(keys), Some(direct)) => {
            let way = way(wire, record.log.secure, request.address);
            let admitted = key::admit(direct, keys, record, head, way, &pool)?;
            (admitted.key_id, admitted.tier, admitted.charged, admitted.denied)
        }
        (Callers::Clients(_), None) => {
            return Err(Problem::new(Code::Internal, "direct mode state is not initialized"));
        }
    };
    let of = (asked.method, asked.tool, asked.action.as_str());
    let mut call = Call { charged, ..Call::new(of, pool, (key_id, tier)) };
    // Only now: whose call was denied is for operators to see.
    let checked = denied.map_or(Ok(()), Err).and_then(|()| check(state, request, record, &mut call));
    match checked {
        Ok(()) => Ok(RequestAction::Forward(call)),
        Err(problem) => {
            let problem = flood(state, request.address, problem);
            let response = refuse(state, Some(&call), record, &problem);
            Ok(RequestAction::Respond(response, Some(call)))
        }
    }
}

/// Checks a call against the limits of its pool, and takes its slot among the calls of its key. A call with a body is
/// refused before the body has come if no upstream could serve it now.
fn check(state: &State, request: &Request<'_, '_>, record: &Record, call: &mut Call) -> Result<(), Problem> {
    let (head, pool) = (request.head, Arc::clone(&call.pool));
    let settings = &pool.config.settings;
    check_enabled(settings, record.started.time)?;
    head.check_length(settings.max_body)?;
    if call.method == CallMethod::Post {
        head.check_media_type(&settings.accept)?;
    }
    call.key_permit =
        Some(state.guards.enter(call.key_id, &state.config.load().clients).ok_or_else(|| {
            outage::full(state, Bound::CallsInFlightPerKey, "the key has too many calls under way")
        })?);
    let has_body = head.chunked || head.content_length.is_some_and(|length| length > 0);
    if has_body && pool.recovers_in(Monotonic::at(record.started.instant)) > 0 {
        return Err(upstream_peer::none(call));
    }
    Ok(())
}

/// Returns the trace id of the client (W3C Trace Context), if it sent one.
fn trace(wire: &WireHead<'_>) -> Option<Box<str>> {
    let parent = std::str::from_utf8(wire.only("traceparent").ok().flatten()?).ok()?;
    shared::trace::trace_id(parent).map(Box::from)
}

/// Returns what proves a probe's response to the edge, if the probe names a request.
fn probe_proof(state: &State, wire: &WireHead<'_>) -> Option<Proof> {
    let id = std::str::from_utf8(wire.only(REQUEST_ID).ok().flatten()?).ok().and_then(RequestId::parse)?;
    let config = state.config.load();
    match &config.callers {
        Callers::Edge(grants) => Some(Proof::of_probe(id, &config.server.data_centre, &grants.keys)),
        Callers::Clients(_) => None,
    }
}

/// Returns true if a request came over TLS, in direct mode: to this proxy, or to one before it.
pub(super) fn is_secure(state: &State, is_tls: bool) -> bool {
    let is_behind_tls = || matches!(&state.config.load().callers, Callers::Clients(keys) if keys.behind_tls);
    state.direct.is_some() && (is_tls || is_behind_tls())
}

/// Returns how a request came. `peer` is called only if the client's address matters.
fn way<'a>(wire: &WireHead<'a>, secure: bool, peer: impl FnOnce() -> Option<IpAddr>) -> RequestScheme<'a> {
    let host = wire.all("host").next().and_then(|value| std::str::from_utf8(value).ok()).unwrap_or("");
    let confidential = secure || is_confidential(secure, peer());
    RequestScheme { secure, confidential, host }
}

/// Returns which tools a call would find an upstream of. It says nothing that calling them would not, and needs no grant.
fn status(state: &State) -> StatusReport {
    let (pools, now) = (state.pools.load(), Monotonic::now());
    StatusReport::new(|tool| {
        let pool = pools.of(tool);
        check_enabled(&pool.config.settings, clock::now()).is_ok() && pool.recovers_in(now) == 0
    })
}
