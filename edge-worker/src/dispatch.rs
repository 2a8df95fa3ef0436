//! Route → handler.
//!
//! # A tool call at the edge
//!
//! Paths are relative to `src/`, or begin with the name of another crate.
//!
//! 1. The runtime calls `entry.js` (next to `src/`), which reads method, URL and headers into one text and
//!    calls `handle` in `lib.rs`. `runtime/task.rs` polls the request immediately, so that a refusal needs
//!    no promise. `runtime/client_request.rs` gives the request its id and its arrival time.
//! 2. This module parses the path into a `Route` (`portal/src/route.rs`, the gateway's own in
//!    `shared/src/route.rs`) and the headers into a `Head` (`shared/src/request.rs`). It takes the
//!    bindings, which are read once for each isolate (`bindings.rs`), makes the `RequestContext`
//!    (`context.rs`), and calls the handler, here `gateway/handlers/call_tool.rs`.
//! 3. `gateway/authenticate.rs` verifies the key from its text alone: checksum, then MAC
//!    (`shared/src/key/api_key.rs`). Forged keys cost no I/O. A body that is declared too long is refused.
//! 4. `gateway/meter_client/admission.rs`, `admit`, asks the key's lease cache in the isolate's memory
//!    (`gateway/lease_caches.rs`, `shared/src/lease_cache.rs`). With a lease, or with a cached refusal, the
//!    decision is made here. A lease that runs low is renewed in the background.
//! 5. Without a lease, `gateway/meter_client/exchange.rs` asks the key's Meter (`gateway/durable/meter.rs`,
//!    `shared/src/meter.rs`), a second time after a silence. If neither the Meter nor the isolate knows the
//!    key's record, `gateway/meter_client/exchange.rs` reads it from KV (`gateway/key_store.rs`), and
//!    the Meter is asked again. If it does not respond in time (`shared/src/lease_cache/without_meter.rs`),
//!    the lease cache decides: Free keys get 503, paid keys continue on their share of the local budget. A
//!    late response is used in the background.
//! 6. The result is an `Admission` with the key's tier. A refusal becomes a `Problem`. An admitted call has
//!    its rate-limit headers (`shared/src/quota/status.rs`).
//! 7. `gateway/origin.rs`, `forward`, prepares the body (`gateway/origin/upload.rs`). A body of up to 64
//!    KiB of declared length is received whole. Any other is piped.
//! 8. The same module orders the origins by reachability (`shared/src/origin.rs`).
//!    `gateway/origin/attempt.rs` signs a Grant (`shared/src/grant.rs`) and sends the call (`callOrigin` in
//!    `runtime/runtime.js`). Before a POST it probes an origin that has not responded lately
//!    (`gateway/origin/probe.rs`), if there is another one.
//! 9. `gateway/origin/attempt.rs` accepts a response only with the proxy's proof (`shared/src/proof.rs`).
//!    Otherwise, and if the origin failed, `gateway/origin.rs` tries the next origin if no origin can have executed
//!    the call.
//! 10. `gateway/meter_client/report.rs`, `record_outcome`, records the outcome and reports it to the Meter
//!     in the background. `runtime/body.rs` drains an unread body, `respond.rs` renders the response, and
//!     `access_log.rs` writes the line from what the handler has returned (`Called`, and `Caller` of `caller.rs`).

use std::future::ready;
use std::pin::Pin;
use std::rc::Rc;

#[cfg(feature = "pages")]
use biolink::domains::HostName;
#[cfg(feature = "pages")]
use biolink::page::Slug;
#[cfg(feature = "pages")]
use biolink::pages_api::page_not_found;
#[cfg(feature = "pages")]
use biolink::route::{Route as BiolinkRoute, VisitEndpoint, address_on_own_host};
use portal::endpoint::Endpoint;
use portal::route::{PortalRoute, Route};
#[cfg(feature = "pages")]
use portal::route::{answered_as, corrected};
#[cfg(feature = "pages")]
use portal::session_access::{SessionAccess, sign_in_required};
#[cfg(feature = "pages")]
use portal::site;
use shared::key::VerifiedKey;
use shared::meter::KeptSession;
use shared::problem::{Problem, codes};
use shared::request::Head;
use shared::response::Response;
use shared::route::{KeysRoute, SecretCall, ServiceRoute, Target};
use shared::url::Address;
use worker::{Context, Env};

use crate::access_log::{CallEnded, Called};
use crate::assets;
use crate::bindings::Bindings;
#[cfg(feature = "pages")]
use crate::biolink::domains;
#[cfg(feature = "pages")]
use crate::biolink::handlers::visit::{self, VisitHost};
#[cfg(feature = "pages")]
use crate::biolink::handlers::{
    administer_pages, alerts, images, pages_api, preview, push_products, webhooks,
};
use crate::caller::{Answer, Found};
use crate::context::RequestContext;
use crate::gateway::authenticate::authenticate;
use crate::gateway::handlers::{call_tool, change_key, read_own_key, secrets, tools};
#[cfg(feature = "gateway")]
use crate::gateway::handlers::{direct_mode, incidents, issue_key, status};
use crate::gateway::meter_client;
#[cfg(feature = "pages")]
use crate::portal::mcp::{self, Step};
#[cfg(feature = "pages")]
use crate::portal::oauth;
#[cfg(feature = "pages")]
use crate::portal::session;
use crate::respond::{ClientResponse, Handled, problem_of};
use crate::runtime::client_request::ClientRequest;
use crate::runtime::task::boxed;

/// Handles one request. `address` is that of its URL. Returns its endpoint, if it has one, with the outcome.
pub(crate) async fn dispatch(
    (request, address): (&ClientRequest, Option<Address<'_>>),
    env: &Env,
    execution: &Context,
) -> (Option<Endpoint>, Handled) {
    let Some(address) = address else { return (None, malformed_url().into()) };
    let bindings = Bindings::of_isolate(env);
    // Before the routes of the service: no host of a customer may serve an API or the console.
    #[cfg(feature = "pages")]
    if let Ok(bindings) = &bindings {
        match bindings.customer_host(&address) {
            Ok(None) => {}
            Ok(Some(host)) => {
                // This function runs for each request, and would have more than 8 KiB with it.
                let (endpoint, outcome) =
                    boxed(respond_on_domain((request, address), &host, (bindings, execution))).await;
                return (Some(endpoint), outcome.into());
            }
            Err(problem) => return (None, problem.into()),
        }
    }
    let (route, Target { query, .. }) = match read_route(request, address.target) {
        Ok(read) => read,
        Err(problem) => {
            #[cfg(feature = "pages")]
            let refused: Handled = redirect_to_page(request, &address, None).ok_or(problem).into();
            #[cfg(not(feature = "pages"))]
            let refused: Handled = problem.into();
            if let Ok(bindings) = &bindings {
                log_without_route(request, address, (bindings, execution), &refused);
            }
            return (None, refused);
        }
    };
    let handled = respond_on_host((request, address), &route, query, (bindings, execution)).await;
    let refused = |problem: Problem| Handled { called: Called::of_route(&route), ..problem.into() };
    (Some(Endpoint::of(&route)), handled.unwrap_or_else(refused))
}

/// Handles a request to the service's own host.
///
/// # Errors
/// Returns the problem of a request that reaches no handler.
async fn respond_on_host(
    (request, address): (&ClientRequest, Address<'_>),
    route: &Route<'_>,
    query: Option<&str>,
    (bindings, execution): (Result<Rc<Bindings>, Problem>, &Context),
) -> Result<Handled, Problem> {
    let head = Head::read(request.lines())?;
    // Not earlier, so that a mistake in the path is told even if the gateway is not configured.
    let bindings = bindings?;
    #[cfg(feature = "pages")]
    if let Some(host) = &bindings.pages_host
        && let Some(url) = host.redirect(&address, route.served_by())?
    {
        let redirect = Ok(Response::redirect(308, url));
        return Ok(Handled { called: Called::of_route(route), ..redirect.into() });
    }
    #[cfg(feature = "pages")]
    let kept = session_of((request, address), &head, route, &bindings)?;
    // Whoever is signed in at the console is handed over.
    #[cfg(not(feature = "pages"))]
    let kept: Option<KeptSession> = None;
    let context =
        RequestContext { request, address, head, session: kept.as_ref(), bindings: &bindings, execution };
    let context = &context;
    let handled = match route {
        Route::CallTool(call) => call_tool::handle(context, call).await,
        route => respond_conditionally(context, route, query).await,
    };
    log_refusal(context, &handled, Some(Endpoint::of(route)));
    Ok(handled)
}

/// Handles a request to a domain of an account: its page, the page's parts, and files of the host.
#[cfg(feature = "pages")]
async fn respond_on_domain(
    (request, address): (&ClientRequest, Address<'_>),
    host: &HostName,
    (bindings, execution): (&Bindings, &Context),
) -> (Endpoint, Result<ClientResponse, Problem>) {
    // Whatever is wrong is shown as a page.
    let page = Endpoint::Visit(VisitEndpoint::Page);
    let head = match Head::read(request.lines()) {
        Ok(head) => head,
        Err(problem) => return (page, Err(problem)),
    };
    let context = &RequestContext { request, address, head, session: None, bindings, execution };
    let slug = match domains::find(context, host).await {
        Ok(Some(slug)) => slug,
        Ok(None) => return (page, Err(page_not_found())),
        Err(problem) => return (page, Err(problem)),
    };
    let target = address_on_own_host(address.target, &slug);
    let read = Route::read(&request.method, target.as_deref().unwrap_or(address.target));
    let (route, Target { query, .. }) = match read {
        Ok(read) => read,
        Err(problem) => {
            return (page, redirect_to_page(request, &address, Some(&slug)).ok_or(problem));
        }
    };
    let endpoint = Endpoint::of(&route);
    let response = match route {
        Route::Biolink(BiolinkRoute::Visit(visit)) => {
            visit::handle(context, &visit, query, VisitHost::Own).await.map(ClientResponse::Own)
        }
        Route::Biolink(BiolinkRoute::Image(_)) | Route::Site(_) | Route::Preflight(_) => {
            respond(context, &route, query).await.outcome
        }
        _ => Err(page_not_found()),
    };
    (endpoint, response.map(|response| conditional(request, response)))
}

/// Returns the session of the console that signs a request.
///
/// # Errors
/// `sign-in-required` if the route needs the key itself.
#[cfg(feature = "pages")]
fn session_of(
    (request, address): (&ClientRequest, Address<'_>),
    head: &Head<'_>,
    route: &Route<'_>,
    bindings: &Bindings,
) -> Result<Option<KeptSession>, Problem> {
    let access = SessionAccess::of(route);
    let kept = match access {
        // Tools and agents take a key that is sent: no other page may spend the calls of who is
        // signed in.
        SessionAccess::None => None,
        _ => session::of_request(request, head, bindings, address.is_secure()),
    };
    if kept.is_some() && access == SessionAccess::KeyRequired {
        return Err(sign_in_required());
    }
    Ok(kept)
}

/// Reads the route of a target, or of the one that answers in its place.
fn read_route<'a>(request: &ClientRequest, target: &'a str) -> Result<(Route<'a>, Target<'a>), Problem> {
    #[cfg(feature = "pages")]
    let target = answered_as(target).unwrap_or(target);
    Route::read(&request.method, target)
}

/// Returns the redirect of an address that is no route, but means a page. `slug` is that of a page's own host.
#[cfg(feature = "pages")]
fn redirect_to_page(
    request: &ClientRequest,
    address: &Address<'_>,
    slug: Option<&Slug>,
) -> Option<ClientResponse> {
    let is_read = matches!(request.method.as_str(), "GET" | "HEAD");
    let to = corrected(address.target, slug).filter(|_| is_read)?;
    Some(Response::redirect(301, to).into())
}

/// A response in the making. A table of routes has one type of them: a future of each would make the table as large as all.
enum Coming<'a> {
    /// From a handler that looks for its caller.
    Found(Pin<Box<dyn Future<Output = Answer> + 'a>>),
    /// From a handler that responds to all callers alike.
    Plain(Pin<Box<dyn Future<Output = Result<Response, Problem>> + 'a>>),
}

impl<'a> Coming<'a> {
    fn found(answer: impl Future<Output = Answer> + 'a) -> Self {
        Self::Found(boxed(answer))
    }

    fn plain(answer: impl Future<Output = Result<Response, Problem>> + 'a) -> Self {
        Self::Plain(boxed(answer))
    }

    fn ready(answer: Result<Response, Problem>) -> Self {
        Self::plain(ready(answer))
    }
}

/// Handles a request, whatever its route.
async fn respond(context: &RequestContext<'_>, route: &Route<'_>, query: Option<&str>) -> Handled {
    let coming = match route {
        Route::CallTool(call) => return call_tool::handle(context, call).await,
        #[cfg(feature = "pages")]
        Route::Portal(PortalRoute::Mcp) => {
            // Boxed, because a call over MCP is a request within a request.
            let handled = Box::pin(serve_mcp(context, query)).await;
            let outcome = handled.outcome.map_err(|problem| mcp::challenged(context, problem));
            return Handled { outcome, ..handled };
        }
        #[cfg(feature = "pages")]
        Route::Console(file) => return assets::console(context, *file).await.into(),
        #[cfg(feature = "pages")]
        Route::Biolink(route) => return respond_biolink(context, route, query).await,
        Route::Keys(route) => respond_keys(context, route, query),
        Route::Asset(asset) => {
            let asset = asset.accepted(context.request.header("accept"));
            Coming::plain(assets::respond(context, asset))
        }
        #[cfg(feature = "pages")]
        Route::Session(call, named) => Coming::found(session::respond(context, *call, *named)),
        #[cfg(feature = "gateway")]
        Route::Service(ServiceRoute::Health) => Coming::ready(Ok(Response::health())),
        #[cfg(feature = "gateway")]
        Route::Service(ServiceRoute::Status) => Coming::plain(status::tools(context)),
        #[cfg(feature = "gateway")]
        Route::Service(ServiceRoute::KeyChanges) => Coming::found(direct_mode::key_changes(context, query)),
        #[cfg(feature = "gateway")]
        Route::Service(ServiceRoute::Meters) => Coming::found(direct_mode::meters(context)),
        #[cfg(feature = "gateway")]
        Route::Portal(PortalRoute::StatusPage) => Coming::plain(status::page(context)),
        #[cfg(feature = "gateway")]
        Route::StatusHistory(route) => Coming::plain(incidents::handle(context, *route)),
        Route::Tools(route) => Coming::plain(tools::read(context, *route)),
        Route::Portal(PortalRoute::ToolsPage) => Coming::plain(tools::page(context)),
        Route::Preflight(methods) => Coming::ready(Ok(Response::preflight(*methods))),
        #[cfg(feature = "pages")]
        Route::OAuth(route) => Coming::found(oauth::respond(context, *route, query)),
        #[cfg(feature = "pages")]
        Route::Site(route) => {
            let contact = context.bindings.security_contact.as_ref();
            Coming::ready(site::respond(*route, context.address.base, contact, context.request.now))
        }
        #[cfg(feature = "pages")]
        Route::Portal(PortalRoute::Preview) => Coming::found(preview::handle(context)),
        #[cfg(not(all(feature = "gateway", feature = "pages")))]
        _ => Coming::ready(Err(of_the_other_worker())),
    };
    match coming {
        Coming::Found(answer) => answer.await.into(),
        Coming::Plain(answer) => answer.await.into(),
    }
}

/// Handles a request as [`respond`], with regard to the conditions that it has.
async fn respond_conditionally(
    context: &RequestContext<'_>,
    route: &Route<'_>,
    query: Option<&str>,
) -> Handled {
    let handled = respond(context, route, query).await;
    let outcome = handled.outcome.map(|response| conditional(context.request, response));
    Handled { outcome, ..handled }
}

/// Handles a request for bio-link, which needs its stores.
#[cfg(feature = "pages")]
async fn respond_biolink(
    context: &RequestContext<'_>,
    route: &BiolinkRoute<'_>,
    query: Option<&str>,
) -> Handled {
    if let Err(problem) = context.biolink() {
        return problem.into();
    }
    match route {
        BiolinkRoute::Visit(visit) => visit::handle(context, visit, query, VisitHost::Shared).await.into(),
        BiolinkRoute::Image(id) => images::serve(context, id).await.into(),
        BiolinkRoute::Pages(call) => pages_api::handle(context, call, query).await.into(),
        BiolinkRoute::Admin(call) => administer_pages::handle(context, call, query).await.into(),
        BiolinkRoute::PushProducts(id) => push_products::handle(context, id).await.into(),
        BiolinkRoute::Webhooks(call) => webhooks::handle(context, call, query).await.into(),
    }
}

/// Logs the refusal of a request that has no route, for the holder of the key that it has.
// Kept out of `fetch`, as `conclude` is.
#[inline(never)]
fn log_without_route(
    request: &ClientRequest,
    address: Address<'_>,
    (bindings, execution): (&Bindings, &Context),
    handled: &Handled,
) {
    let Ok(head) = Head::read(request.lines()) else { return };
    let context = RequestContext { request, address, head, session: None, bindings, execution };
    log_refusal(&context, handled, None);
}

/// Logs a refusal for the holder of the key, whoever has refused. A call that was admitted has been
/// logged with its outcome. What was refused before anyone asked for the key is logged if it has a valid one.
fn log_refusal(context: &RequestContext<'_>, handled: &Handled, endpoint: Option<Endpoint>) {
    let Handled { outcome, called, caller } = handled;
    // A second line would count the call twice for the holder.
    if called.is_logged {
        return;
    }
    if let Some(code) = problem_of(outcome).or_else(|| called.result?.code) {
        let Some(key) = &caller.key.or_else(|| key_of(context)) else { return };
        let ended = CallEnded { status: code.status(), code: Some(code.as_str()), response_bytes: None };
        let call = |now| called.logged(context, (endpoint, caller.secret_id), &ended, now);
        meter_client::log_call(context, key, ended.status, call);
    }
}

/// Returns the valid key of a request that was refused before its key was read. For a message of MCP it may be a bearer token.
fn key_of(context: &RequestContext<'_>) -> Option<VerifiedKey> {
    #[cfg(feature = "pages")]
    let is_mcp = context.address.target.split('?').next() == Some(PortalRoute::Mcp.path());
    #[cfg(feature = "pages")]
    let head = if is_mcp { mcp::head(context) } else { context.head.clone() };
    #[cfg(not(feature = "pages"))]
    let head = context.head.clone();
    authenticate(&RequestContext { head, ..*context }).ok()
}

/// Handles a message of the Model Context Protocol. A call of a tool is a separate request, which
/// is handled as if a client had sent it.
#[cfg(feature = "pages")]
async fn serve_mcp(context: &RequestContext<'_>, query: Option<&str>) -> Handled {
    let context = &RequestContext { head: mcp::head(context), ..*context };
    let (responder, call, name, caller) = match mcp::read(context, query).await {
        Ok(Found { value: Step::Call { responder, call, name }, caller }) => (responder, call, name, caller),
        Ok(Found { value: Step::Respond(response), caller }) => return caller.answer(Ok(response)).into(),
        Err(Found { value: problem, caller }) => return Handled { caller, ..problem.into() },
    };
    let request = match mcp::request(context, &call) {
        Ok(request) => request,
        Err(problem) => {
            let called = Called { action: Some(name), ..Called::default() };
            return Handled { called, caller, ..problem.into() };
        }
    };
    let inner = respond_within(&request, context).await.unwrap_or_else(Handled::from);
    let caller = inner.caller.within(caller);
    let called = Called { action: inner.called.action.or(Some(name)), ..inner.called };
    match mcp::respond(&request, &responder, inner.outcome).await {
        Ok((response, result)) => Handled {
            outcome: Ok(response.into()),
            called: Called { result: Some(result), ..called },
            caller,
        },
        Err(problem) => Handled { outcome: Err(problem), called, caller },
    }
}

/// Handles a request that another one stands for.
#[cfg(feature = "pages")]
async fn respond_within(request: &ClientRequest, outer: &RequestContext<'_>) -> Result<Handled, Problem> {
    let address = Address::parse(&request.url).ok_or_else(malformed_url)?;
    let (route, Target { query, .. }) = Route::read(&request.method, address.target)?;
    let head = match Head::read(request.lines()) {
        Ok(head) => head,
        Err(problem) => return Ok(Handled { called: Called::of_route(&route), ..problem.into() }),
    };
    let context = RequestContext { request, address, head, ..*outer };
    Ok(respond_conditionally(&context, &route, query).await)
}

/// Handles a request of the keys API.
fn respond_keys<'a>(
    context: &'a RequestContext<'_>,
    route: &'a KeysRoute,
    query: Option<&'a str>,
) -> Coming<'a> {
    match route {
        #[cfg(feature = "gateway")]
        KeysRoute::Issue => Coming::found(issue_key::handle(context)),
        KeysRoute::ReadOwn => Coming::found(read_own_key::handle(context)),
        KeysRoute::ReadHistory => Coming::found(read_own_key::history(context, query)),
        KeysRoute::ReadCalls => Coming::found(read_own_key::calls(context, query)),
        #[cfg(feature = "pages")]
        KeysRoute::ReadAlerts => Coming::found(alerts::handle(context)),
        KeysRoute::RotateOwn => Coming::found(change_key::rotate_own(context)),
        KeysRoute::RevokeOwn => Coming::found(change_key::revoke_own(context)),
        KeysRoute::ListSecrets => Coming::found(secrets::list(context)),
        KeysRoute::CreateSecret => Coming::found(secrets::change(context, SecretCall::Create)),
        KeysRoute::ChangeSecret(id) => Coming::found(secrets::change(context, SecretCall::Change(*id))),
        KeysRoute::RevokeSecret(id) => Coming::found(secrets::change(context, SecretCall::Revoke(*id))),
        KeysRoute::RotateSecret(id) => Coming::found(secrets::change(context, SecretCall::Rotate(*id))),
        #[cfg(feature = "gateway")]
        KeysRoute::List => Coming::plain(change_key::list(context, query)),
        #[cfg(feature = "gateway")]
        KeysRoute::Read(id) => Coming::found(change_key::read(context, id, query)),
        #[cfg(feature = "gateway")]
        KeysRoute::Change(id) => Coming::found(change_key::patch(context, id)),
        #[cfg(feature = "gateway")]
        KeysRoute::Revoke(id) => Coming::found(change_key::revoke(context, id)),
        #[cfg(feature = "gateway")]
        KeysRoute::Rotate(id) => Coming::found(change_key::rotate(context, id)),
        #[cfg(feature = "gateway")]
        KeysRoute::RevokeSecretOf(id, secret) => {
            Coming::found(change_key::revoke_secret(context, id, *secret))
        }
        #[cfg(not(all(feature = "gateway", feature = "pages")))]
        _ => Coming::ready(Err(of_the_other_worker())),
    }
}

/// Returns a response with regard to `If-None-Match` and `If-Modified-Since`. For other methods than these, it is a
/// condition of the change (RFC 9110, section 13.1.2).
fn conditional(request: &ClientRequest, response: ClientResponse) -> ClientResponse {
    let ClientResponse::Own(response) = response else { return response };
    let is_read = matches!(request.method.as_str(), "GET" | "HEAD");
    let header = |name| request.header(name).filter(|_| is_read);
    ClientResponse::Own(match (header("if-none-match"), header("if-modified-since")) {
        // Ignored beside `If-None-Match`, which is more exact (RFC 9110, section 13.1.3).
        (None, Some(moment)) => response.if_modified_since(moment),
        (etags, _) => response.if_none_match(etags.map(str::as_bytes).into_iter()),
    })
}

/// Returns the refusal of a route that the other worker of the edge serves.
#[cfg(not(all(feature = "gateway", feature = "pages")))]
fn of_the_other_worker() -> Problem {
    Problem::new(codes::ROUTE_UNKNOWN, "this host does not serve the path")
}

fn malformed_url() -> Problem {
    Problem::new(codes::PATH_MALFORMED, "the URL of the request is malformed")
}
