//! Admission of a request: its route, its grant or key, and the limits of its pool, in this order.

mod admitted;
mod grant;
mod key;
mod refused_grant;
mod wait;

use std::convert::Infallible;
use std::net::IpAddr;
use std::sync::Arc;

use super::throttle::throttle_refusal;
pub use wait::{AdmissionWait, Waited};

use shared::headers::REQUEST_ID;
use shared::method::{Method, Methods};
use shared::prices::Price;
use shared::problem::{Problem, codes};
use shared::proof::Proof;
use shared::request_id::RequestId;
use shared::response::Response;
use shared::route::{Path, Route, ServiceRoute, Target, ToolCall, on_path};
use shared::status::{AcceptedTypes, StatusReport};
use shared::tool::Tool;
use shared::trace::{SpanContext, TRACEPARENT, TraceId};
use shared::url::is_confidential;

use self::admitted::Admitted;
use self::grant::GrantStep;
use self::key::KeyStep;
use self::refused_grant::Refused;
use self::wait::Verdict;
use super::fail_to_proxy::{refuse, respond};
use super::outage;
use super::own_request::OwnHandler;
use super::upstream_peer::{self, check_enabled};
use crate::call::{Call, Record, RefusedCall};
use crate::state::{EdgeMode, Mode, State};
use crate::trace::CallTrace;
use config::ClientConfig;
use direct::{CallDecision, OwnRequest, OwnRoute, RequestScheme};
use transport::clock::{self, Monotonic};
use transport::hooks::{Limit, Request, RequestAction};
use transport::request_head::RawHead;
use upstreams::Pool;

type Action<'a> = RequestAction<Call, OwnHandler<'a>, AdmissionWait<'a>>;

/// Decides whether a request is forwarded, handled or refused.
pub(crate) fn request_filter<'a>(
    state: &State,
    request: &Request<'_, 'a>,
    record: &mut Record,
) -> Action<'a> {
    if state.access_log.has_callers_trace() {
        record.log.trace_id = trace(request.raw);
    }
    if let Some(client) = &mut record.log.client {
        client.record_head(request.raw);
    }
    // The route comes before the key: a wrong path is 404 whoever asks.
    let read = Route::read(request.raw.method, answered_as(state, request.raw.target));
    let called = match read {
        Ok((Route::CallTool(call), _)) => Some(call),
        Ok(_) | Err(_) => None,
    };
    match read.and_then(|(route, target)| decide(state, request, record, route, target)) {
        Ok(action) => action,
        Err(problem) => refuse_early(state, request, record, called, problem),
    }
}

/// Returns the target that answers in place of another one: the console's page has its address with a slash too, as at
/// the edge.
fn answered_as<'a>(state: &State, target: &'a str) -> &'a str {
    let rest = target.strip_prefix("/console/").filter(|_| state.mode.is_direct());
    if rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('?')) { "/console" } else { target }
}

/// Decides on a call that has waited.
pub(crate) fn resume_request_filter<'a>(
    state: &State,
    request: &Request<'_, 'a>,
    record: &mut Record,
    Waited { called, target, verdict }: Waited<'a>,
) -> RequestAction<Call, OwnHandler<'a>, Infallible> {
    let pool = pool_of(state, record, called.tool);
    let decided = match (verdict, &state.mode) {
        (Verdict::Meter(key, price, decision), _) => CallDecision::after_wait(&key, decision)
            .map(|decision| (price, key::decide(&key, decision, record))),
        (Verdict::Store(grant, stored), Mode::Edge(edge)) => {
            grant::use_once(state, edge, record, grant, stored)
                .map(|grant| (Price::FREE, grant.into()))
                .map_err(|refused| refused_grant(state, edge, record, request, (&called, target), refused))
        }
        // The mode of a process does not change.
        (Verdict::Store(..), Mode::Direct(_)) => Err(not_here()),
    };
    match decided {
        Ok((price, admitted)) => admit(state, request, record, (&called, pool, price), admitted),
        Err(problem) => refuse_early(state, request, record, Some(called), problem),
    }
}

/// Refuses a request before its grant or key admits it. `called` is what it calls, if that is known.
fn refuse_early<'a, W>(
    state: &State,
    request: &Request<'_, 'a>,
    record: &mut Record,
    called: Option<ToolCall<'_>>,
    problem: Problem,
) -> RequestAction<Call, OwnHandler<'a>, W> {
    record.log.refused_call = called.map(RefusedCall::from);
    let problem = throttle_refusal(state, request.address, problem);
    RequestAction::Respond(refuse(state, None, record, &problem), None)
}

fn decide<'a>(
    state: &State,
    request: &Request<'_, 'a>,
    record: &mut Record,
    route: Route<'a>,
    target: Target<'a>,
) -> Result<Action<'a>, Problem> {
    let raw = request.raw;
    let response = match route {
        Route::CallTool(call) => return call_tool(state, request, record, call, target),
        Route::Keys(route) => return own_request(state, request, record, OwnRoute::Keys(route), target),
        Route::Other(method, path) => match find_other(state, method, path)? {
            Found::Own(route) => return own_request(state, request, record, route, target),
            Found::Methods(methods) => Response::preflight(methods),
        },
        Route::Service(ServiceRoute::KeyChanges | ServiceRoute::Meters) => {
            return Err(edges_only(&state.mode));
        }
        Route::Service(ServiceRoute::Health) => {
            record.log.proof = probe_proof(state, raw);
            Response::health()
        }
        Route::Service(ServiceRoute::Status) => {
            record.log.proof = probe_proof(state, raw);
            let accepts = (!state.mode.is_direct()).then(|| accepted_types(state));
            Response::json(StatusReport { accepts, ..status(state) }.to_json())
        }
        Route::Tools(route) => {
            record.log.proof = probe_proof(state, raw);
            state.catalog.get(&state.pools.load()).respond(route, "/")
        }
        Route::Preflight(methods) => Response::preflight(methods),
    };
    Ok(RequestAction::Respond(respond(state, None, record, response.into()), None))
}

/// What a path names that is neither a call nor of the keys API.
enum Found {
    Own(OwnRoute),
    /// The methods of the path, for a preflight.
    Methods(Methods),
}

/// Finds a document, or what the console asks. Only a proxy in direct mode has any.
fn find_other(state: &State, method: Option<Method>, path: Path<'_>) -> Result<Found, Problem> {
    let own = match &state.mode {
        Mode::Edge(_) => None,
        Mode::Direct(direct) => direct.find(path.as_str()),
    };
    match (own, &state.mode) {
        (Some(own), _) => {
            let methods = Methods::of([Method::Get]).with_head();
            on_path(method, methods, Found::Methods, |_| Some(Found::Own(own)))
        }
        (None, _) if method == Some(Method::Options) => Ok(Found::Methods(Methods::NONE)),
        (None, Mode::Edge(_)) => Err(tools_only()),
        (None, Mode::Direct(_)) => Err(not_here()),
    }
}

/// Accepts a request for the gateway itself, in direct mode.
fn own_request<'a>(
    state: &State,
    request: &Request<'_, 'a>,
    record: &Record,
    route: OwnRoute,
    target: Target<'a>,
) -> Result<Action<'a>, Problem> {
    match &state.mode {
        Mode::Edge(_) => Err(tools_only()),
        Mode::Direct(direct) => {
            let scheme = request_scheme(request.raw, target, record.log.secure, request.address);
            let own = OwnRequest::new(direct, route, request, target.query, scheme)?;
            Ok(RequestAction::Handle(OwnHandler(own)))
        }
    }
}

fn edges_only(mode: &Mode) -> Problem {
    match mode {
        Mode::Edge(_) => tools_only(),
        Mode::Direct(_) => {
            Problem::new(codes::ROUTE_UNKNOWN, "the edge alone has the key-change feed and the meters")
        }
    }
}

/// Returns the refusal of what a proxy in direct mode does not serve.
fn not_here() -> Problem {
    Problem::new(
        codes::ROUTE_UNKNOWN,
        "no route has this path; tools are called at /v1/{tool}/{action}, and bio-link pages, their API and \
         MCP are served by the edge, which this gateway runs without",
    )
}

fn tools_only() -> Problem {
    Problem::new(codes::ROUTE_UNKNOWN, "this origin serves tools only; call the gateway's public address")
}

/// Authenticates a call of a tool, and checks its limits unless it has to wait.
fn call_tool<'a>(
    state: &State,
    request: &Request<'_, 'a>,
    record: &mut Record,
    called: ToolCall<'a>,
    target: Target<'a>,
) -> Result<Action<'a>, Problem> {
    let raw = request.raw;
    let pool = pool_of(state, record, called.tool);
    let (price, admitted) = match &state.mode {
        Mode::Edge(edge) => {
            let of = (&called, target);
            let config = state.config.load();
            let here = &config.server.data_center;
            let verified = grant::verify(state, edge, record, raw, (&called, target.path_and_query), here);
            match verified.map_err(|refused| refused_grant(state, edge, record, request, of, refused))? {
                GrantStep::Verified(grant) => (Price::FREE, grant.into()),
                GrantStep::Wait(awaited) => {
                    return Ok(RequestAction::Wait(AdmissionWait { called, target, awaited }));
                }
            }
        }
        Mode::Direct(direct) => {
            let scheme = request_scheme(raw, target, record.log.secure, request.address);
            let price = direct.config().prices.of(called.tool, called.action);
            match key::admit(direct, record, request, scheme, &pool, (&called, price))? {
                KeyStep::Decided(admitted) => (price, admitted),
                KeyStep::Wait(awaited) => {
                    return Ok(RequestAction::Wait(AdmissionWait { called, target, awaited }));
                }
            }
        }
    };
    Ok(admit(state, request, record, (&called, pool, price), admitted))
}

/// Returns the pool of a tool. Called before anything can refuse a call: the rest of its body is drained up to the
/// length that the pool accepts.
fn pool_of(state: &State, record: &mut Record, tool: Tool) -> Arc<Pool> {
    let pool = state.pool(tool);
    record.max_body = pool.config.settings.max_body;
    pool
}

/// Returns the problem of a call that its grant does not admit.
fn refused_grant(
    state: &State,
    edge: &EdgeMode,
    record: &mut Record,
    request: &Request<'_, '_>,
    (called, target): (&ToolCall<'_>, Target<'_>),
    refused: Refused,
) -> Problem {
    let config = state.config.load();
    let of = (called, target.path_and_query);
    refused_grant::problem((state, edge), record, request.raw, of, &config.server.data_center, refused)
}

/// Forwards an authenticated call, unless its quota or the limits of its pool refuse it.
fn admit<'a, W>(
    state: &State,
    request: &Request<'_, 'a>,
    record: &mut Record,
    (called, pool, price): (&ToolCall<'_>, Arc<Pool>, Price),
    Admitted { key_id, secret_id, tier, charged, denied }: Admitted,
) -> RequestAction<Call, OwnHandler<'a>, W> {
    let config = state.config.load();
    let tracing = config.tracing.as_deref();
    let trace = tracing.map(|tracing| Box::new(CallTrace::new(tracing, request.raw, record.log.request_id)));
    let mut call = Call { secret_id, charged, price, trace, ..Call::new(called, pool, key_id, tier) };
    // A denied call is not refused earlier, so that the access log names its key.
    let checked =
        denied.map_or(Ok(()), Err).and_then(|()| check(state, &config.clients, request, record, &mut call));
    match checked {
        Ok(()) => RequestAction::Forward(call),
        Err(problem) => {
            let problem = throttle_refusal(state, request.address, problem);
            let response = refuse(state, Some(&call), record, &problem);
            RequestAction::Respond(response, Some(call))
        }
    }
}

/// Checks a call against the limits of its pool, and reserves one of the key's slots for calls in
/// flight. Refuses a call with a body before its body is received if no upstream could serve it
/// now.
fn check(
    state: &State,
    clients: &ClientConfig,
    request: &Request<'_, '_>,
    record: &Record,
    call: &mut Call,
) -> Result<(), Problem> {
    let (head, pool) = (request.head, Arc::clone(&call.pool));
    let settings = &pool.config.settings;
    check_enabled(settings, record.started.time)?;
    key::check_body(request, call.method, settings)?;
    let now = Monotonic::at(record.started.instant);
    let admitted = pool.admit(call.key_id, now);
    call.pool_key_permit = admitted.map_err(|exceeded| outage::exceeded(state, exceeded))?;
    call.key_permit = Some(state.limits.try_enter(call.key_id, clients).ok_or_else(|| {
        outage::full(state, Limit::CallsInFlightPerKey, "the key has too many calls in flight")
    })?);
    // A client must not upload a body for a call that no upstream can take.
    let has_body = head.chunked || head.content_length.is_some_and(|length| length > 0);
    if has_body && pool.recovers_in(now) > 0 {
        return Err(upstream_peer::none(call));
    }
    Ok(())
}

/// Returns the trace id of the caller (W3C Trace Context), if it sent one.
fn trace(raw: &RawHead<'_>) -> Option<TraceId> {
    let parent = std::str::from_utf8(raw.only(TRACEPARENT).ok().flatten()?).ok()?;
    SpanContext::parse(parent).map(|caller| caller.trace_id)
}

/// Returns the proof for the response to a probe of the edge. Returns `None` if the probe has no
/// request id.
fn probe_proof(state: &State, raw: &RawHead<'_>) -> Option<Proof> {
    let id = std::str::from_utf8(raw.only(REQUEST_ID).ok().flatten()?).ok().and_then(RequestId::parse)?;
    match &state.mode {
        Mode::Edge(edge) => {
            let (config, grants) = (state.config.load(), edge.config.load());
            Some(Proof::of_probe(id, &config.server.data_center, &grants.keys))
        }
        Mode::Direct(_) => None,
    }
}

/// Returns true if a request came over TLS, in direct mode: to this proxy, or to a load balancer in
/// front of it.
pub(crate) fn is_secure(state: &State, is_tls: bool) -> bool {
    state.mode.is_direct() && (is_tls || state.mode.is_behind_tls())
}

/// Returns the scheme and host of a request. The host of a target in absolute form replaces `Host`
/// (RFC 9112, section 3.2.2). Calls `peer` only if the client's address matters.
fn request_scheme<'a>(
    raw: &RawHead<'a>,
    target: Target<'a>,
    secure: bool,
    peer: impl FnOnce() -> Option<IpAddr>,
) -> RequestScheme<'a> {
    let stated = || raw.all("host").next().and_then(|value| std::str::from_utf8(value).ok());
    let host = target.authority.or_else(stated).unwrap_or("");
    let confidential = secure || is_confidential(secure, peer());
    RequestScheme { secure, confidential, host }
}

/// Returns the media types that the pools take, for the edge.
fn accepted_types(state: &State) -> AcceptedTypes {
    let pools = state.pools.load();
    AcceptedTypes::new(|tool| pools.of(tool).config.settings.accept.clone())
}

/// Returns the tools that can serve a call now. Anyone could learn this by calling them.
fn status(state: &State) -> StatusReport {
    let (pools, now) = (state.pools.load(), Monotonic::now());
    StatusReport::new(|tool| {
        let pool = pools.of(tool);
        check_enabled(&pool.config.settings, clock::now()).is_ok() && pool.recovers_in(now) == 0
    })
}
