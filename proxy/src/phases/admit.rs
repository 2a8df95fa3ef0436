//! May the request be made? Its head, its route, who makes it and the bounds of its pool, in this order.

mod flood;
mod grant;
mod key;

use std::{net::IpAddr, sync::Arc};

pub use flood::flood;

use shared::{
    headers::REQUEST_ID,
    key::KeyId,
    problem::{Code, Problem},
    proof::Proof,
    request::Head,
    request_id::RequestId,
    route::{CallMethod, Route, ToolCall},
    status::StatusReport,
    transport,
    written::Written,
};

use crate::{
    access_log::RefusedCall,
    client::ClientStream,
    clock::{self, Monotonic},
    config::Callers,
    ctx::{Call, RequestCtx},
    direct::RequestScheme,
    metrics::Bound,
    phases::{fail, select},
    state::State,
    wire::WireHead,
};

/// What is to be done with an acceptable request.
pub enum Admission {
    /// Call a tool. The call is in the request's context; its slot is still to be taken.
    Call,
    /// Say what the proxy itself knows.
    Answer(Written),
    /// What direct mode answers itself.
    Direct,
}

/// What is to be done with the request whose head a client has sent, or why nothing is.
///
/// # Errors
/// The refusal.
pub fn admit(
    state: &State,
    client: &ClientStream,
    ctx: &mut RequestCtx,
    wire: &WireHead<'_>,
    head: &Head<'_>,
) -> Result<Admission, Problem> {
    decide(state, client, ctx, wire, head).map_err(|problem| {
        if ctx.call.is_none() {
            ctx.refused_call = RefusedCall::parse(wire.method, wire.target);
        }
        flood(state, client, problem)
    })
}

fn decide(
    state: &State,
    client: &ClientStream,
    ctx: &mut RequestCtx,
    wire: &WireHead<'_>,
    head: &Head<'_>,
) -> Result<Admission, Problem> {
    ctx.expects_continue = wire.only("expect")?.is_some();
    let (route, _query) = Route::read(wire.method, wire.target)?;
    if state.direct.is_some() && !matches!(route, Route::CallTool(_)) {
        return Ok(Admission::Direct);
    }
    match route {
        Route::CallTool(call) => {
            let pool = state.pool(call.tool);
            let config = state.config.load();
            let (key_id, tier, denied) = match (&config.callers, &state.direct) {
                (Callers::Edge(grants), _) => {
                    let place = &config.server.data_centre;
                    let grant = grant::verify(state, ctx, wire, &call, place, &grants.keys)?;
                    (grant.key_id, grant.tier, None)
                }
                (Callers::Clients(keys), Some(direct)) => {
                    let way = way(wire, ctx.secure, || client.address());
                    key::admit(direct, keys, ctx, head, way, &pool)?
                }
                (Callers::Clients(_), None) => {
                    return Err(Problem::new(Code::Internal, "what is kept of keys was not opened"));
                }
            };
            let action = call.action.as_str().into();
            ctx.call = Some(Call { method: call.method, tool: call.tool, pool, action, key_id, tier });
            // Only now: whose call was denied is for operators to see.
            if let Some(problem) = denied {
                return Err(problem);
            }
            check(state, ctx, &call, head, key_id)?;
            Ok(Admission::Call)
        }
        Route::Health => {
            ctx.proof = probe_proof(state, wire);
            Ok(Admission::Answer(Written::health()))
        }
        Route::Status => {
            ctx.proof = probe_proof(state, wire);
            Ok(Admission::Answer(Written::json(status(state).to_json())))
        }
        Route::Preflight(methods) => Ok(Admission::Answer(Written::preflight(methods))),
        Route::IssueKey
        | Route::ReadOwnKey
        | Route::RotateOwnKey
        | Route::RevokeOwnKey
        | Route::ListKeys
        | Route::ReadKey(_)
        | Route::ChangeKey(_)
        | Route::RevokeKey(_)
        | Route::RotateKey(_)
        | Route::KeyChanges
        | Route::OpenApi
        | Route::Docs
        | Route::ProblemPage(_) => Err(Problem::new(
            Code::RouteUnknown,
            "this origin serves tools only; call the gateway's public address",
        )),
    }
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

/// Whether what comes over this connection came over TLS, in direct mode: to this proxy, or to somebody before it.
pub(crate) fn is_secure(state: &State, client: &ClientStream) -> bool {
    client.is_safe() || matches!(&state.config.load().callers, Callers::Clients(keys) if keys.behind_tls)
}

/// How a request came. `peer` is asked for the other end's address only if that matters.
pub(crate) fn way<'a>(
    wire: &WireHead<'a>,
    secure: bool,
    peer: impl FnOnce() -> Option<IpAddr>,
) -> RequestScheme<'a> {
    let host = wire.all("host").next().and_then(|value| std::str::from_utf8(value).ok()).unwrap_or("");
    let confidential = secure || transport::is_confidential(secure, peer());
    RequestScheme { secure, confidential, host }
}

/// Which tools a call would find a server of. It tells nothing that calling them would not, and needs no grant.
pub(crate) fn status(state: &State) -> StatusReport {
    let (pools, now) = (state.pools.load(), Monotonic::now());
    StatusReport::new(|tool| {
        let pool = pools.of(tool);
        select::enabled(&pool.config.settings, clock::now()).is_ok() && pool.recovers_in(now) == 0
    })
}

/// Checks what is asked of a tool's calls, and takes the call's slot among those of its key.
fn check(
    state: &State,
    ctx: &mut RequestCtx,
    call: &ToolCall<'_>,
    head: &Head<'_>,
    key_id: KeyId,
) -> Result<(), Problem> {
    let pool = ctx.call.as_ref().map_or_else(|| state.pool(call.tool), |call| Arc::clone(&call.pool));
    let settings = &pool.config.settings;
    select::enabled(settings, ctx.started.time)?;
    head.check_length(settings.max_body)?;
    if call.method == CallMethod::Post {
        head.check_media_type(&settings.accept)?;
    }
    ctx.key_guard = Some(state.guards.enter(key_id, &state.config.load().clients).ok_or_else(|| {
        fail::full(state, Bound::CallsInFlightPerKey, "the key has too many calls under way")
    })?);
    Ok(())
}

/// Takes the call's slot among those of its tool, and chooses the upstream that is to serve it.
///
/// # Errors
/// Returns the refusal if the tool has too many calls in flight or no upstream that can serve.
pub fn take_slot(state: &State, ctx: &mut RequestCtx) -> Result<(), Problem> {
    let Some((pool, key)) = ctx.call.as_ref().map(|call| (Arc::clone(&call.pool), call.key_id)) else {
        return Err(Problem::new(Code::Internal, "the call has no pool"));
    };
    ctx.seat =
        Some(pool.try_acquire().ok_or_else(|| {
            fail::full(state, Bound::CallsInFlight, "the tool has too many calls under way")
        })?);
    select::first(&pool, ctx, key)
}

/// Checks, for a call whose body is still to come, that an upstream could serve it now.
///
/// # Errors
/// Returns the refusal if none could: its client need not send the body.
pub fn check_upstreams(ctx: &RequestCtx) -> Result<(), Problem> {
    match &ctx.call {
        Some(call) if call.pool.recovers_in(Monotonic::at(ctx.started.instant)) > 0 => {
            Err(select::none(&call.pool, call.method))
        }
        _ => Ok(()),
    }
}
