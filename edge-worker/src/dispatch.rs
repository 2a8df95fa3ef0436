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
    context::RequestContext,
    handlers::{call_tool, change_key, issue_key, key_changes, list_keys, pages, read_own_key, status},
    incoming::Incoming,
    log::Line,
    respond::Answer,
};

/// Answers one request.
pub(crate) async fn dispatch(
    incoming: &Incoming,
    env: &Env,
    execution: &Context,
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
    let context = RequestContext { incoming, address, head, bindings: &bindings, execution };
    let response = match route {
        Route::CallTool(call) => return call_tool::handle(&context, &call, line).await,
        Route::IssueKey => issue_key::handle(&context, line).await,
        Route::ReadOwnKey => read_own_key::handle(&context, line).await,
        Route::Health => Ok(Response::health()),
        Route::Status => status::tools(&context).await,
        Route::OpenApi => Ok(pages::openapi(&context)),
        Route::Docs => Ok(pages::docs(&context)),
        Route::ProblemPage(code) => Ok(docs::problem_page(code)),
        Route::Preflight(methods) => Ok(Response::preflight(methods)),
        Route::RotateOwnKey => change_key::rotate_own(&context, line).await,
        Route::RevokeOwnKey => change_key::revoke_own(&context, line).await,
        Route::ListKeys => list_keys::handle(&context, query).await,
        Route::ReadKey(id) => change_key::read(&context, &id, query, line).await,
        Route::ChangeKey(id) => change_key::patch(&context, &id, line).await,
        Route::RevokeKey(id) => change_key::revoke(&context, &id, line).await,
        Route::RotateKey(id) => change_key::rotate(&context, &id, line).await,
        Route::KeyChanges => key_changes::handle(&context, query, line).await,
    };
    let known = incoming.header("if-none-match").map(str::as_bytes);
    response.map(|response| Answer::Own(response.if_none_match(known.into_iter())))
}

fn unreadable() -> Problem {
    Problem::new(Code::PathMalformed, "the request's address cannot be read")
}
