//! The routes that call no tool, with the same responses as on the edge.

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

use super::{Direct, Reply, RequestScheme, documents::Document};
use crate::{
    clock,
    config::{Callers, DirectConfig},
    ctx::RequestCtx,
    phases::admit,
    relay::Incoming,
    state::State,
    wire::WireHead,
};

/// A parsed request.
struct OwnRequest<'a> {
    state: &'a Arc<State>,
    direct: &'a Direct,
    config: &'a DirectConfig,
    head: Head<'a>,
    authorization: Option<&'a str>,
    idempotency_key: Option<&'a str>,
    address: Option<String>,
    query: Option<&'a str>,
    scheme: RequestScheme<'a>,
    now: UnixMillis,
}

/// Serves a request that calls no tool.
///
/// # Errors
/// If the request is refused.
pub async fn serve(
    state: &Arc<State>,
    incoming: &mut Incoming<'_>,
    ctx: &mut RequestCtx,
) -> Result<Reply, Problem> {
    // Copies the head, because reading the body needs the connection.
    let raw = incoming.head().to_vec();
    let whole = state.config.load();
    let (Callers::Clients(config), Some(direct)) = (&whole.callers, &state.direct) else {
        return Err(Problem::new(Code::Internal, "direct mode is not configured"));
    };
    let wire = WireHead::parse(&raw)?;
    let (route, query) = Route::read(wire.method, wire.target)?;
    let authorization = wire.all("authorization").next();
    let idempotency_key = wire.only(IDEMPOTENCY_KEY)?;
    let request = OwnRequest {
        state,
        direct,
        config,
        head: Head::read(wire.lines())?,
        authorization: authorization.and_then(|value| std::str::from_utf8(value).ok()),
        // Bytes that are not UTF-8 are refused like any other malformed key.
        idempotency_key: idempotency_key.map(|value| std::str::from_utf8(value).unwrap_or_default()),
        address: incoming.address().map(|address| address.to_string()),
        query,
        scheme: admit::way(&wire, ctx.secure, || incoming.address()),
        now: clock::now(),
    };
    let document = |document, written: Written| {
        let written = written.if_none_match(wire.all("if-none-match"));
        Ok(direct.documents.reply(document, written, wire.all("accept-encoding"), Instant::now()))
    };
    let written = match route {
        Route::Health => Ok(Written::health()),
        Route::Status => Ok(Written::json(admit::status(state).to_json())),
        Route::OpenApi => return document(Document::OpenApi, pages::openapi(&request)),
        Route::Docs => return document(Document::Reference, pages::docs(&request)),
        Route::ProblemPage(code) => return document(Document::Problem(code), docs::problem_page(code)),
        Route::Preflight(methods) => Ok(Written::preflight(methods)),
        Route::ReadOwnKey => keys::read_own(&request, ctx),
        Route::RotateOwnKey => keys::rotate_own(&request, incoming, ctx).await,
        Route::RevokeOwnKey => keys::revoke_own(&request).await,
        Route::IssueKey => keys::issue(&request, incoming, ctx).await,
        Route::ListKeys => keys::list(&request),
        Route::ReadKey(id) => keys::read(&request, &id),
        Route::ChangeKey(id) => keys::patch(&request, &id, incoming, ctx).await,
        Route::RevokeKey(id) => keys::revoke(&request, &id).await,
        Route::RotateKey(id) => keys::rotate(&request, &id, incoming, ctx).await,
        Route::KeyChanges => Err(Problem::new(Code::RouteUnknown, "this gateway has no feed of changes")),
        Route::CallTool(_) => Err(Problem::new(Code::Internal, "the request is a tool call")),
    };
    written.map(Reply::from)
}
