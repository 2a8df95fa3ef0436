//! May the request be made? Its head, its route, who makes it and the bounds of its pool, in this order.

mod grant;

use std::sync::Arc;

use pingora_core::Result;
use pingora_proxy::Session;
use shared::{
    key::KeyId,
    problem::{Code, Problem},
    request::Head,
    route::{CallMethod, Method, Route, Target, ToolCall},
    status::StatusReport,
};

use crate::{
    client,
    clock::{self, Monotonic},
    ctx::{Call, RequestCtx},
    metrics::Bound,
    phases::{fail, select},
    respond,
    state::State,
    wire::WireHead,
};

/// What is to be done with an acceptable request.
enum Admission {
    Call,
    Liveness,
    Status,
    Preflight(&'static [Method]),
}

/// Whether the request was answered here.
pub async fn request(state: &Arc<State>, session: &mut Session, ctx: &mut RequestCtx) -> Result<bool> {
    bound(state, session);
    let admission = match client::of(session) {
        Some(client) => admit(state, session, ctx, client.head()),
        None => Err(Problem::new(Code::Internal, "the connection is not one of ours")),
    };
    match admission {
        Ok(Admission::Call) => return Ok(false),
        Ok(Admission::Liveness) => respond::healthy(session, ctx).await?,
        Ok(Admission::Status) => respond::json(session, ctx, status(state).to_json().into()).await?,
        Ok(Admission::Preflight(methods)) => respond::preflight(session, ctx, methods).await?,
        Err(problem) => {
            let problem = flood(state, session, problem);
            respond::refuse(session, ctx, state, &problem).await?;
        }
    }
    Ok(true)
}

/// The bounds of time that Pingora leaves open. Those on reading are the connection's own.
fn bound(state: &State, session: &mut Session) {
    session.set_read_timeout(None);
    session.set_write_timeout(Some(state.config.load().clients.idle_timeout));
    session.set_ignore_info_resp(true);
    if state.drain.has_begun() {
        session.set_keepalive(None);
    }
}

fn admit(
    state: &Arc<State>,
    session: &Session,
    ctx: &mut RequestCtx,
    raw: &[u8],
) -> Result<Admission, Problem> {
    let wire = WireHead::parse(raw)?;
    let head = Head::read(wire.lines())?;
    ctx.expects_continue = wire.only("expect")?.is_some();
    let path = Target::parse(wire.target)?.path;
    match Route::parse(session.req_header().method.as_str(), path)? {
        Route::CallTool(call) => {
            let caller = grant::verify(state, wire, &call)?;
            ctx.request_id = caller.request_id;
            ctx.call = Some(Call {
                method: call.method,
                tool: call.tool,
                pool: state.pool(call.tool),
                action: call.action.as_str().into(),
                key_id: caller.key_id,
                tier: caller.tier,
            });
            take_place(state, ctx, &call, &head, caller.key_id)?;
            Ok(Admission::Call)
        }
        Route::Health => Ok(Admission::Liveness),
        Route::Status => Ok(Admission::Status),
        Route::Preflight(methods) => Ok(Admission::Preflight(methods)),
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

/// Which tools a call would find a server of. It tells nothing that calling them would not, and needs no grant.
fn status(state: &State) -> StatusReport {
    let (pools, now) = (state.pools.load(), Monotonic::now());
    StatusReport::new(|tool| {
        let pool = pools.of(tool);
        select::enabled(&pool.config.settings, clock::now()).is_ok() && pool.back_in(now) == 0
    })
}

/// The call's place among those of its pool and key, and the upstream that is to serve it.
fn take_place(
    state: &Arc<State>,
    ctx: &mut RequestCtx,
    call: &ToolCall<'_>,
    head: &Head<'_>,
    key_id: KeyId,
) -> Result<(), Problem> {
    let pool = ctx.call.as_ref().map_or_else(|| state.pool(call.tool), |call| Arc::clone(&call.pool));
    let settings = &pool.config.settings;
    select::enabled(settings, clock::now())?;
    head.check_length(settings.max_body)?;
    if call.method == CallMethod::Post {
        head.check_media_type(&settings.accept)?;
    }
    ctx.key_guard = Some(state.guards.enter(key_id, &state.config.load().clients).ok_or_else(|| {
        fail::full(state, Bound::CallsInFlightPerKey, "the key has too many calls under way")
    })?);
    ctx.seat =
        Some(pool.enter().ok_or_else(|| {
            fail::full(state, Bound::CallsInFlight, "the tool has too many calls under way")
        })?);
    select::first(&pool, ctx, key_id)
}

/// The same problem, unless the address sends too many requests without a valid grant.
fn flood(state: &State, session: &Session, problem: Problem) -> Problem {
    let address = session.client_addr().and_then(|address| address.as_inet()).map(std::net::SocketAddr::ip);
    match address {
        Some(address)
            if problem.code() == Code::GrantInvalid
                && state.guards.is_flood(address, &state.config.load().clients) =>
        {
            state.metrics.hit(Bound::RefusalsPerSecond);
            Problem::new(Code::TooManyRequests, "too many requests without a valid grant").retry_after(1)
        }
        _ => problem,
    }
}
