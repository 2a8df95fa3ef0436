//! Route → handler.

use shared::{
    docs,
    endpoint::Endpoint,
    problem::{Code, Problem},
    request::Head,
    response::Response,
    route::{GatewayRoute, Route},
    site,
    transport::Address,
};
use worker::{Context, Env};

use crate::{
    access_log::AccessRecord,
    bindings::Bindings,
    client_request::ClientRequest,
    context::RequestContext,
    handlers::{
        administer_pages, call_tool, change_key, issue_key, key_changes, list_keys, pages, pages_api,
        push_products, read_own_key, status, visit, webhooks,
    },
    respond::ClientResponse,
};

/// Handles one request.
pub(crate) async fn dispatch(
    request: &ClientRequest,
    env: &Env,
    execution: &Context,
    access: &mut AccessRecord,
) -> Result<ClientResponse, Problem> {
    let address = Address::parse(&request.url).ok_or_else(malformed_url)?;
    let (route, query) = Route::read(&request.method, address.target)?;
    access.endpoint = Some(Endpoint::of(&route));
    if let Route::CallTool(call) = &route {
        access.action = Some(call.action.as_str().to_owned());
    }
    let head = Head::read(request.lines())?;
    let bindings = Bindings::from_env(env)?;
    if let Some(host) = &bindings.pages_host
        && let Some(url) = host.redirect(&address, &route)?
    {
        return Ok(ClientResponse::Own(Response::redirect(308, url).into_bytes()));
    }
    let context = RequestContext { request, address, head, bindings: &bindings, execution };
    let response = match route {
        Route::Visit(visit) => {
            let response = visit::handle(&context, &visit, query).await?;
            return Ok(conditional(request, response));
        }
        Route::CallTool(call) => return call_tool::handle(&context, &call, access).await,
        Route::Gateway(GatewayRoute::IssueKey) => issue_key::handle(&context, access).await,
        Route::Gateway(GatewayRoute::ReadOwnKey) => read_own_key::handle(&context, access).await,
        Route::Health => Ok(Response::health()),
        Route::Status => status::tools(&context).await,
        Route::Gateway(GatewayRoute::OpenApi) => Ok(pages::openapi(&context)),
        Route::Gateway(GatewayRoute::Docs) => Ok(pages::docs(&context)),
        Route::Gateway(GatewayRoute::ProblemPage(code)) => Ok(docs::problem_page(code)),
        Route::Preflight(methods) => Ok(Response::preflight(methods)),
        Route::Gateway(GatewayRoute::RotateOwnKey) => change_key::rotate_own(&context, access).await,
        Route::Gateway(GatewayRoute::RevokeOwnKey) => change_key::revoke_own(&context, access).await,
        Route::Gateway(GatewayRoute::ListKeys) => list_keys::handle(&context, query).await,
        Route::Gateway(GatewayRoute::ReadKey(id)) => change_key::read(&context, &id, query, access).await,
        Route::Gateway(GatewayRoute::ChangeKey(id)) => change_key::patch(&context, &id, access).await,
        Route::Gateway(GatewayRoute::RevokeKey(id)) => change_key::revoke(&context, &id, access).await,
        Route::Gateway(GatewayRoute::RotateKey(id)) => change_key::rotate(&context, &id, access).await,
        Route::Admin(call) => administer_pages::handle(&context, &call, query, access).await,
        Route::PushProducts(id) => push_products::handle(&context, &id).await,
        Route::PagesOpenApi => Ok(pages::biolink_openapi(&context)),
        Route::Pages(call) => match pages_api::handle(&context, &call, query, access).await? {
            ClientResponse::Own(response) => return Ok(conditional(request, response)),
            streamed @ ClientResponse::Streamed { .. } => return Ok(streamed),
        },
        Route::Webhooks(call) => webhooks::handle(&context, &call, query, access).await,
        Route::Site(route) => {
            let contact = bindings.security_contact.as_ref();
            site::respond(route, address.base, contact, request.now)
        }
        Route::KeyChanges => key_changes::handle(&context, query, access).await,
    };
    response.map(|response| conditional(request, response.into_bytes()))
}

/// Returns a response with regard to `If-None-Match` and `If-Modified-Since`. For other methods than these, it is a
/// condition of the change (RFC 9110, section 13.1.2).
fn conditional(request: &ClientRequest, response: Response<Vec<u8>>) -> ClientResponse {
    let is_read = matches!(request.method.as_str(), "GET" | "HEAD");
    let header = |name| request.header(name).filter(|_| is_read);
    ClientResponse::Own(match (header("if-none-match"), header("if-modified-since")) {
        (None, Some(moment)) => response.if_modified_since(moment),
        (etags, _) => response.if_none_match(etags.map(str::as_bytes).into_iter()),
    })
}

fn malformed_url() -> Problem {
    Problem::new(Code::PathMalformed, "the URL of the request is malformed")
}
