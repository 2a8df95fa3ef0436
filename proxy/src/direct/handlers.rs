//! What a gateway answers beside the calls of tools, as the edge does it.

mod keys;
mod pages;

use std::{sync::Arc, time::Instant};

use shared::{
    docs,
    key::IDEMPOTENCY_KEY,
    problem::{Code, Problem},
    request::Head,
    route::Route,
    time::UnixMillis,
    written::Written,
};

use super::{Direct, Reply, Way, documents::Document};
use crate::{
    clock,
    config::{Callers, DirectConfig},
    ctx::RequestCtx,
    phases::admit,
    relay::Incoming,
    state::State,
    wire::WireHead,
};

/// One request with all that is known of it.
struct Asked<'a> {
    state: &'a Arc<State>,
    direct: &'a Direct,
    config: &'a DirectConfig,
    head: Head<'a>,
    authorization: Option<&'a str>,
    idempotency_key: Option<&'a str>,
    address: Option<String>,
    query: Option<&'a str>,
    way: Way<'a>,
    now: UnixMillis,
}

/// The answer to a request that is no call of a tool.
///
/// # Errors
/// The refusal.
pub async fn serve(
    state: &Arc<State>,
    incoming: &mut Incoming<'_>,
    ctx: &mut RequestCtx,
) -> Result<Reply, Problem> {
    // The head is kept apart from the connection, from which the body may have to be read.
    let raw = incoming.head().to_vec();
    let whole = state.config.load();
    let (Callers::Clients(config), Some(direct)) = (&whole.callers, &state.direct) else {
        return Err(Problem::new(Code::Internal, "the gateway is configured for something else"));
    };
    let wire = WireHead::parse(&raw)?;
    let (route, query) = Route::read(wire.method, wire.target)?;
    let authorization = wire.all("authorization").next();
    let idempotency_key = wire.only(IDEMPOTENCY_KEY)?;
    let asked = Asked {
        state,
        direct,
        config,
        head: Head::read(wire.lines())?,
        authorization: authorization.and_then(|value| std::str::from_utf8(value).ok()),
        // Bytes that are not text are refused like any other text that is no key.
        idempotency_key: idempotency_key.map(|value| std::str::from_utf8(value).unwrap_or_default()),
        address: incoming.address().map(|address| address.to_string()),
        query,
        way: admit::way(&wire, ctx.secure, || incoming.address()),
        now: clock::now(),
    };
    let document = |document, written: Written| {
        let written = written.if_none_match(wire.all("if-none-match"));
        Ok(direct.documents.reply(document, written, wire.all("accept-encoding"), Instant::now()))
    };
    let written = match route {
        Route::Health => Ok(Written::health()),
        Route::Status => Ok(Written::json(admit::status(state).to_json())),
        Route::OpenApi => return document(Document::OpenApi, pages::openapi(&asked)),
        Route::Docs => return document(Document::Reference, pages::docs(&asked)),
        Route::ProblemPage(code) => return document(Document::Problem(code), docs::problem_page(code)),
        Route::Preflight(methods) => Ok(Written::preflight(methods)),
        Route::ReadOwnKey => keys::read_own(&asked, ctx),
        Route::RotateOwnKey => keys::rotate_own(&asked, incoming, ctx).await,
        Route::RevokeOwnKey => keys::revoke_own(&asked).await,
        Route::IssueKey => keys::issue(&asked, incoming, ctx).await,
        Route::ListKeys => keys::list(&asked),
        Route::ReadKey(id) => keys::read(&asked, &id),
        Route::ChangeKey(id) => keys::patch(&asked, &id, incoming, ctx).await,
        Route::RevokeKey(id) => keys::revoke(&asked, &id).await,
        Route::RotateKey(id) => keys::rotate(&asked, &id, incoming, ctx).await,
        Route::KeyChanges => Err(Problem::new(Code::RouteUnknown, "this gateway has no feed of changes")),
        Route::CallTool(_) => Err(Problem::new(Code::Internal, "a call is not answered here")),
    };
    written.map(Reply::from)
}
