//! `POST /mcp`: the Model Context Protocol.

use std::rc::Rc;

use biolink::pages_api::plan_required;
use portal::asset::Asset;
use portal::mcp::{
    ACCEPT, ListCursor, MAX_MESSAGE, MAX_RESULT, METHOD_HEADER, Message, MessageHeaders, Method, NAME_HEADER,
    Permitted, REVISION_HEADER, Responder, ToolOutcome, ToolRequest, Toolsets, action_page, action_request,
    check_origin, key_refused, select,
};
use portal::oauth::challenge;
use shared::caller::bearer_token;
use shared::catalog::Catalog;
use shared::headers::API_KEY;
use shared::key::{KeyRecord, VerifiedKey};
use shared::problem::{Code, Problem, codes};
use shared::request::Head;
use shared::response::Response;

use crate::access_log::CallResult;
use crate::assets;
use crate::caller::{Answer, Caller};
use crate::context::RequestContext;
use crate::gateway::authenticate::authenticate;
use crate::gateway::handlers::tools;
use crate::gateway::meter_client::{self, SnapshotPart};
use crate::respond::{ClientResponse, problem_of};
use crate::runtime::client_request::ClientRequest;
use crate::runtime::{body, calls, log};

/// The step after a message was read.
pub(crate) enum Step {
    /// The response is known.
    Respond(Response),
    /// The request of the message calls a tool of this name.
    Call { responder: Responder, call: ToolRequest, name: String },
}

/// Headers of the message that are not those of the request that it stands for.
const OF_MESSAGE: [&str; 12] = [
    "accept",
    "authorization",
    "content-encoding",
    "content-length",
    "content-type",
    "expect",
    "idempotency-key",
    "if-match",
    "if-modified-since",
    "if-none-match",
    "transfer-encoding",
    "x-api-key",
];

/// Returns the head of a message. Its key may be a bearer token (RFC 6750), which is what clients of
/// MCP have a setting for.
pub(crate) fn head<'a>(context: &RequestContext<'a>) -> Head<'a> {
    let bearer = || bearer_token(context.request.header("authorization"));
    Head { api_key: context.head.api_key.or_else(bearer), ..context.head.clone() }
}

/// Returns a refusal of the key with the challenge for clients of MCP, and in the words of the header that such a client
/// sends.
pub(crate) fn challenged(context: &RequestContext<'_>, problem: Problem) -> Problem {
    if problem.status() != 401 {
        return problem;
    }
    let challenge = challenge(context.called_url(), problem.code() != codes::KEY_MISSING);
    let problem = if context.head.api_key.is_none() { key_refused(problem) } else { problem };
    problem.with_header("www-authenticate", challenge)
}

/// Reads a message. What is no call of a tool, which asks the key's meter itself, needs a key that
/// may be used.
///
/// # Errors
/// `https-required`, or the problem of the key, of the query or of the body.
pub(crate) async fn read(context: &RequestContext<'_>, query: Option<&str>) -> Answer<Step> {
    if let Err(foreign) = check_origin(&context.address, context.request.header("origin")) {
        return Ok(Step::Respond(foreign.response()).into());
    }
    // Before the key: a name that a stranger has led to this machine is 403, whatever it sends.
    context.address.check_confidential(context.bindings.http_allowed)?;
    let key = authenticate(context)?;
    let caller = Caller::of(&key);
    let toolsets = caller.check(Toolsets::parse(query))?;
    let text = body::read_as(context.request, &context.head, &["application/json"], MAX_MESSAGE).await;
    let text = caller.check(text)?;
    let header = |name| context.request.header(name);
    let headers = MessageHeaders {
        revision: header(REVISION_HEADER),
        method: header(METHOD_HEADER),
        name: header(NAME_HEADER),
    };
    let response = match Message::parse(&text, &headers) {
        Ok(Message::Request(responder, method)) => match method {
            Method::Initialize(wanted) => responder.initialized(&wanted),
            Method::Discover => responder.discovered(),
            Method::Ping => responder.pong(),
            Method::ListTools(cursor) => {
                let listed = list(context, (&key, caller), &responder, &toolsets, cursor).await?;
                return Ok(listed.map(Step::Respond));
            }
            Method::CallTool { name, arguments } => {
                let requests = caller.check(assets::text(context, Asset::McpRequests).await)?;
                let call = match ToolRequest::new(&requests, &toolsets, &name, &arguments) {
                    None => catalog(context)
                        .await
                        .and_then(|catalog| action_request(&catalog, &toolsets, &name, &arguments)),
                    known => known,
                };
                match call {
                    Some(Ok(call)) => {
                        return caller.answer(Ok(Step::Call { responder, call, name }));
                    }
                    Some(Err(error)) => responder.failed(&error.to_string()),
                    None => responder.unknown_tool(&name),
                }
            }
        },
        Ok(Message::Notification) => Response { status: 202, ..Response::no_content() },
        Err(error) => error.response(),
    };
    // After the message: a malformed one is refused in the words of the protocol, with any key.
    let record = caller.check(usable(context, &key).await)?;
    caller.with_tier(record.as_ref()).answer(Ok(Step::Respond(response)))
}

/// Returns a page of the list of tools that the secret may call. Without the key's record it has every tool: a call asks
/// for plan and scope.
async fn list(
    context: &RequestContext<'_>,
    (key, caller): (&VerifiedKey, Caller),
    responder: &Responder,
    toolsets: &Toolsets,
    cursor: Option<ListCursor>,
) -> Answer {
    let record = caller.check(usable(context, key).await)?;
    let caller = caller.with_tier(record.as_ref());
    let permitted = record.map_or(Permitted::ALL, |record| Permitted {
        has_plan: plan_required(record.biolink_plan).is_ok(),
        scopes: record.scopes(key, context.request.now),
    });
    // The gateway's own tools are on the first page.
    let table = match cursor {
        None => caller.check(assets::text(context, Asset::McpTools).await)?,
        Some(_) => String::new(),
    };
    let page = catalog(context)
        .await
        .map(|catalog| action_page(&catalog, toolsets, permitted.scopes, cursor.as_ref()));
    let page = page.unwrap_or_default();
    let tools = select(&table, toolsets, permitted, &page.tools);
    caller.answer(Ok(responder.listed(&tools, page.next.as_deref())))
}

/// Returns what the tools say of themselves, or `None` if no origin responds: `call_tool` calls them all
/// the same.
async fn catalog(context: &RequestContext<'_>) -> Option<Rc<Catalog>> {
    tools::catalog(context).await.ok()
}

/// Returns the request that a call stands for, with the headers of the message.
///
/// # Errors
/// `internal` if the runtime refuses to build it.
pub(crate) fn request(context: &RequestContext<'_>, call: &ToolRequest) -> Result<ClientRequest, Problem> {
    let mut lines = String::new();
    let mut add = |name: &str, value: &str| {
        for part in [name, "\n", value, "\n"] {
            lines.push_str(part);
        }
    };
    let is_kept = |name: &str| !OF_MESSAGE.contains(&name) && !name.starts_with("mcp-");
    let kept = context.request.headers().filter(|(name, _)| is_kept(name));
    kept.chain(context.head.api_key.map(|key| (API_KEY, key))).for_each(|(name, value)| add(name, value));
    if let Some(body) = &call.body {
        add("content-type", "application/json");
        add("content-length", &body.len().to_string());
    }
    call.headers.iter().for_each(|(name, value)| add(name, value));
    add("accept", ACCEPT);
    let url = format!("{}{}", context.address.base, call.target);
    match calls::own_request(&url, &call.method, &lines, call.body.as_deref()) {
        Ok(raw) => Ok(context.request.within(raw, call.method.clone(), url, lines)),
        Err(error) => {
            let error = worker::Error::from(error);
            log::error(log::Event("request not built"), Some(context.request.id), &[("error", &error)]);
            Err(Problem::new(codes::INTERNAL, "the call could not be made a request"))
        }
    }
}

/// Returns the record of the key if it may be used, or `None` while that cannot be read.
///
/// # Errors
/// The problem of the key.
async fn usable(context: &RequestContext<'_>, key: &VerifiedKey) -> Result<Option<KeyRecord>, Problem> {
    match meter_client::read(context, key, SnapshotPart::State).await {
        Ok(snapshot) => Ok(snapshot.record),
        // A meter that is down must not take the list of tools from an agent. A call asks it again.
        Err(problem) if problem.status() == 503 => Ok(None),
        Err(problem) => Err(problem),
    }
}

/// Returns the response to a call and the call's result, from the response of the API. A tool whose body stalls or is cut off is a
/// problem in the result, as one that does not respond is.
///
/// # Errors
/// The problem of a key that may not be used.
pub(crate) async fn respond(
    request: &ClientRequest,
    responder: &Responder,
    outcome: Result<ClientResponse, Problem>,
) -> Result<(Response, CallResult), Problem> {
    let code = problem_of(&outcome);
    let (response, headers) = match outcome {
        Ok(ClientResponse::Own(own)) => return Ok(of_own(&own, code, responder)),
        Ok(ClientResponse::Streamed { response, headers }) => (response, headers),
        // The status itself must be 401, because clients of MCP look there for the challenge.
        Err(problem) if problem.status() == 401 => return Err(problem),
        Err(problem) => {
            return Ok(of_own(&problem.render(&request.id).into_bytes(), code, responder));
        }
    };
    let result = CallResult { status: response.status, code };
    let body = match body::of_response(&response.raw, request, MAX_RESULT).await {
        Ok(Some(body)) => body,
        Ok(None) => {
            let reason = format!("the response has more than {MAX_RESULT} bytes; call the API itself");
            return Ok((responder.failed(&reason), result));
        }
        Err(problem) => {
            let (problem, code) = (problem.with_headers(headers), Some(codes::RESPONSE_ABORTED));
            return Ok(of_own(&problem.render(&request.id).into_bytes(), code, responder));
        }
    };
    let set = headers.iter().find(|(name, _)| *name == "content-type").map(|(_, value)| &**value);
    let media_type = set.or_else(|| response.header("content-type")).unwrap_or_default();
    let own = headers.iter().map(|(name, value)| (&**name, &**value));
    let headers: Vec<_> = response.headers().filter(|(name, _)| *name == "etag").chain(own).collect();
    let status = response.status;
    Ok((ToolOutcome { status, media_type, body: &body, headers: &headers }.response(responder), result))
}

/// Returns the response to a call that the gateway itself responds to.
fn of_own(own: &Response<Vec<u8>>, code: Option<Code>, responder: &Responder) -> (Response, CallResult) {
    let headers: Vec<_> = own.headers.iter().map(|(name, value)| (&**name, &**value)).collect();
    let media_type = own.header("content-type").unwrap_or_default();
    let outcome = ToolOutcome { status: own.status, media_type, body: &own.body, headers: &headers };
    (outcome.response(responder), CallResult { status: own.status, code })
}
