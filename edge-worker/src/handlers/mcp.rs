//! `POST /mcp`: the Model Context Protocol.

use serde_json::Value;
use shared::{
    asset::Asset,
    mcp::{
        MAX_MESSAGE, MAX_RESULT, Message, Method, RpcError, ToolOutcome, ToolRequest, VERSION_HEADER,
        check_version, failed, initialized, listed,
    },
    problem::{Code, Problem},
    response::Response,
};

use crate::{
    access_log::AccessRecord, assets, authenticate::authenticate, body, client_request::ClientRequest,
    context::RequestContext, log, respond::ClientResponse, runtime,
};

/// The step after a message was read.
pub(crate) enum Step {
    /// The response is known.
    Respond(Response),
    /// The request `id` calls a tool.
    Call { id: Value, call: ToolRequest },
}

/// Headers of the message that are not those of the request that it stands for.
const OF_MESSAGE: [&str; 11] = [
    "accept",
    "content-encoding",
    "content-length",
    "content-type",
    "expect",
    "idempotency-key",
    "if-match",
    "if-modified-since",
    "if-none-match",
    "mcp-protocol-version",
    "transfer-encoding",
];

/// Reads a message.
///
/// # Errors
/// The problem of the key or of the body.
pub(crate) async fn read(context: &RequestContext<'_>, access: &mut AccessRecord) -> Result<Step, Problem> {
    access.key_id = Some(authenticate(context)?.id);
    let types = ["application/json".to_owned()];
    let text = body::read_as(context.request, &context.head, &types, MAX_MESSAGE).await?;
    let version = context.request.header(VERSION_HEADER);
    let (id, method) = match check_version(version).and_then(|()| Message::parse(&text)) {
        Ok(Message::Request { id, method }) => (id, method),
        Ok(Message::Notification) => {
            return Ok(Step::Respond(Response { status: 202, ..Response::no_content() }));
        }
        Err(error) => return Ok(Step::Respond(error.response())),
    };
    Ok(Step::Respond(match method {
        Method::Initialize(wanted) => listed(&id, &initialized(&wanted).to_string()),
        Method::Ping => listed(&id, "{}"),
        Method::ListTools => listed(&id, &assets::respond(context, Asset::McpTools).await?.body),
        Method::CallTool { name, arguments } => {
            let requests = assets::text(context, Asset::McpRequests).await?;
            match ToolRequest::new(&requests, &name, &arguments) {
                Some(Ok(call)) => {
                    access.action = Some(name);
                    return Ok(Step::Call { id, call });
                }
                Some(Err(reason)) => failed(&id, &reason),
                None => RpcError::unknown_tool(id, &name).response(),
            }
        }
    }))
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
    let kept = context.request.headers().filter(|(name, _)| !OF_MESSAGE.contains(name));
    kept.for_each(|(name, value)| add(name, value));
    if let Some(body) = &call.body {
        add("content-type", "application/json");
        add("content-length", &body.len().to_string());
    }
    call.headers.iter().for_each(|(name, value)| add(name, value));
    add("accept", "*/*");
    let url = format!("{}{}", context.address.base, call.target);
    match runtime::own_request(&url, &call.method, &lines, call.body.as_deref()) {
        Ok(raw) => Ok(context.request.within(raw, call.method.clone(), url, lines)),
        Err(error) => {
            let error = worker::Error::from(error);
            log::error("request not built", Some(context.request.id), &[("error", &error)]);
            Err(Problem::new(Code::Internal, "the call could not be made a request"))
        }
    }
}

/// Returns the response to a call, from the response of the API.
///
/// # Errors
/// If the body of a tool's response stalls or breaks off.
pub(crate) async fn respond(
    request: &ClientRequest,
    id: &Value,
    outcome: Result<ClientResponse, Problem>,
    access: &mut AccessRecord,
) -> Result<Response, Problem> {
    let response = outcome.unwrap_or_else(|problem| {
        access.code = Some(problem.code().as_str());
        ClientResponse::Own(problem.render(&request.id).into_bytes())
    });
    match response {
        ClientResponse::Own(own) => {
            access.call_status = Some(own.status);
            let headers: Vec<_> = own.headers.iter().map(|(name, value)| (*name, &**value)).collect();
            let media_type = own.header("content-type").unwrap_or_default();
            Ok(ToolOutcome { status: own.status, media_type, body: &own.body, headers: &headers }
                .response(id))
        }
        ClientResponse::Streamed { response, headers } => {
            access.call_status = Some(response.raw.status());
            let Some(body) = body::of_response(&response.raw, request, MAX_RESULT).await? else {
                let reason = format!("the response has more than {MAX_RESULT} bytes; call the API itself");
                return Ok(failed(id, &reason));
            };
            let set = headers.iter().find(|(name, _)| *name == "content-type").map(|(_, value)| &**value);
            let media_type = set.or_else(|| response.header("content-type")).unwrap_or_default();
            let own = headers.iter().map(|(name, value)| (*name, &**value));
            let headers: Vec<_> = response.headers().filter(|(name, _)| *name == "etag").chain(own).collect();
            let status = response.raw.status();
            Ok(ToolOutcome { status, media_type, body: &body, headers: &headers }.response(id))
        }
    }
}
