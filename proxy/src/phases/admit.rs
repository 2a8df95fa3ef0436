//! May the request be made? Its head, its route, who makes it and the bounds of its pool, in this order.

mod grant;
mod key;

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
    config::{Callers, Config, DirectConfig},
    ctx::{Call, RequestCtx},
    direct::{self, Way},
    metrics::Bound,
    phases::{fail, select},
    respond::{self, Written},
    state::State,
    wire::WireHead,
};

/// What is to be done with an acceptable request.
enum Admission {
    Call,
    Liveness,
    Status,
    Preflight(&'static [Method]),
    /// What direct mode answers itself.
    Direct,
}

/// Whether the request was answered here.
pub async fn request(state: &Arc<State>, session: &mut Session, ctx: &mut RequestCtx) -> Result<bool> {
    bound(state, session);
    let admission = match client::of(session) {
        Some(client) => admit(state, session.req_header().method.as_str(), ctx, client.head()),
        None => Err(Problem::new(Code::Internal, "the connection is not one of ours")),
    };
    match admission {
        Ok(Admission::Call) => return Ok(false),
        Ok(Admission::Liveness) => respond::written(session, ctx, state, Written::health()).await?,
        Ok(Admission::Status) => {
            respond::written(session, ctx, state, Written::json(status(state).to_json())).await?;
        }
        Ok(Admission::Preflight(methods)) => {
            respond::written(session, ctx, state, Written::preflight(methods)).await?;
        }
        Ok(Admission::Direct) => direct::serve(state, session, ctx).await?,
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

fn admit(state: &Arc<State>, method: &str, ctx: &mut RequestCtx, raw: &[u8]) -> Result<Admission, Problem> {
    let wire = WireHead::parse(raw)?;
    ctx.expects_continue = wire.only("expect")?.is_some();
    let path = Target::parse(wire.target)?.path;
    let route = Route::parse(method, path)?;
    let head = Head::read(wire.lines())?;
    if state.direct.is_some() && !matches!(route, Route::CallTool(_)) {
        return Ok(Admission::Direct);
    }
    match route {
        Route::CallTool(call) => {
            let pool = state.pool(call.tool);
            let config = state.config.load();
            let (key_id, tier) = match (&config.callers, &state.direct) {
                (Callers::Edge(grants), _) => {
                    let place = &config.server.data_centre;
                    let grant = grant::verify(state, wire, &call, place, &grants.keys)?;
                    ctx.request_id = grant.request_id;
                    (grant.key_id, grant.tier)
                }
                (Callers::Clients(keys), Some(direct)) => {
                    key::admit(direct, keys, ctx, &head, way(wire, &config, keys), &pool)?
                }
                (Callers::Clients(_), None) => {
                    return Err(Problem::new(Code::Internal, "what is kept of keys was not opened"));
                }
            };
            let action = call.action.as_str().into();
            ctx.call = Some(Call { method: call.method, tool: call.tool, pool, action, key_id, tier });
            take_place(state, ctx, &call, &head, key_id)?;
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

/// How a request came. What came in the clear may have come over TLS to somebody before this proxy.
pub(crate) fn way<'a>(wire: WireHead<'a>, config: &Config, keys: &DirectConfig) -> Way<'a> {
    let host = wire.lines().find(|(name, _)| name.eq_ignore_ascii_case("host"));
    let host = host.and_then(|(_, value)| std::str::from_utf8(value).ok()).unwrap_or("");
    Way { secure: config.server.tls.is_some() || keys.behind_tls, host }
}

/// Which tools a call would find a server of. It tells nothing that calling them would not, and needs no grant.
pub(crate) fn status(state: &State) -> StatusReport {
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
