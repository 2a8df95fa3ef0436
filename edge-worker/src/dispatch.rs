//! Route → handler.

use shared::{
    docs,
    endpoint::Endpoint,
    problem::{Code, Problem},
    request::Head,
    response::Response,
    route::Route,
    transport::Address,
};
use worker::{Context, Env};

use crate::{
    bindings::Bindings,
    edge::Edge,
    handlers::{call_tool, change_key, issue_key, key_changes, list_keys, pages, read_own_key, status},
    incoming::Incoming,
    log::Line,
    respond::Answer,
};

/// Answers one request.
pub(crate) async fn dispatch(
    incoming: &Incoming,
    env: &Env,
    ctx: &Context,
    line: &mut Line,
) -> Result<Answer, Problem> {
    let address = Address::parse(&incoming.url).ok_or_else(unreadable)?;
    let (route, query) = Route::read(&incoming.method, address.target)?;
    line.endpoint = Some(Endpoint::of(&route));
    if let Route::CallTool(call) = &route {
        line.action = Some(call.action.as_str().to_owned());
    }
    let head = Head::read(incoming.lines())?;
    let bindings = Bindings::from_env(env)?;
    let edge = Edge { incoming, address, head, bindings: &bindings, ctx };
    let response = match route {
        Route::CallTool(call) => return call_tool::handle(&edge, &call, line).await,
        Route::IssueKey => issue_key::handle(&edge, line).await,
        Route::ReadOwnKey => read_own_key::handle(&edge, line).await,
        Route::Health => Ok(Response::health()),
        Route::Status => status::tools(&edge).await,
        Route::OpenApi => Ok(pages::openapi(&edge)),
        Route::Docs => Ok(pages::docs(&edge)),
        Route::ProblemPage(code) => Ok(docs::problem_page(code)),
        Route::Preflight(methods) => Ok(Response::preflight(methods)),
        Route::RotateOwnKey => change_key::rotate_own(&edge, line).await,
        Route::RevokeOwnKey => change_key::revoke_own(&edge, line).await,
        Route::ListKeys => list_keys::handle(&edge, query).await,
        Route::ReadKey(id) => change_key::read(&edge, &id, query, line).await,
        Route::ChangeKey(id) => change_key::patch(&edge, &id, line).await,
        Route::RevokeKey(id) => change_key::revoke(&edge, &id, line).await,
        Route::RotateKey(id) => change_key::rotate(&edge, &id, line).await,
        Route::KeyChanges => key_changes::handle(&edge, query, line).await,
    };
    let known = incoming.header("if-none-match").map(str::as_bytes);
    response.map(|response| Answer::Own(response.if_none_match(known.into_iter())))
}

fn unreadable() -> Problem {
    Problem::new(Code::PathMalformed, "the request's address cannot be read")
}
