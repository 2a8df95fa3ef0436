//! What a gateway answers beside the calls of tools, as the edge does it.

mod keys;
mod pages;

use std::{sync::Arc, time::Instant};

use shared::{
    docs,
    key::KeyId,
    keys_api::IDEMPOTENCY_KEY,
    problem::{Code, Problem},
    request::Head,
    response::Response as OwnResponse,
    time::UnixMillis,
};

use super::{Direct, Reply, RequestScheme, documents::Document};
use crate::{
    call::Record,
    config::{Callers, DirectConfig},
    phases::{
        Gateway,
        fail_to_proxy::{refuse, respond},
        request_filter::flood,
    },
    state::State,
};
use transport::{
    clock,
    hooks::{Handler, Request},
    relay::Incoming,
    response::Response,
};

/// A request that is not a call of a tool, and what its head says.
#[derive(Debug)]
pub struct ParsedRequest<'a> {
    operation: Operation,
    head: Head<'a>,
    authorization: Option<&'a str>,
    idempotency_key: Option<&'a str>,
    if_none_match: Vec<&'a [u8]>,
    accept_encoding: Vec<&'a [u8]>,
    query: Option<&'a str>,
    scheme: RequestScheme<'a>,
}

/// What is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "they are the routes of the same names")]
pub enum Operation {
    OpenApi,
    Docs,
    ProblemPage(Code),
    IssueKey,
    ReadOwnKey,
    RotateOwnKey,
    RevokeOwnKey,
    ListKeys,
    ReadKey(KeyId),
    ChangeKey(KeyId),
    RevokeKey(KeyId),
    RotateKey(KeyId),
}

/// A request while it is handled.
struct OwnRequest<'a> {
    state: &'a Arc<State>,
    direct: &'a Direct,
    config: &'a DirectConfig,
    head: &'a Head<'a>,
    authorization: Option<&'a str>,
    idempotency_key: Option<&'a str>,
    address: Option<String>,
    query: Option<&'a str>,
    scheme: RequestScheme<'a>,
    now: UnixMillis,
}

impl<'a> ParsedRequest<'a> {
    /// Returns the request, with what its head says.
    ///
    /// # Errors
    /// Returns a problem if the idempotency key is sent twice.
    pub fn new(
        operation: Operation,
        request: &Request<'_, 'a>,
        query: Option<&'a str>,
        scheme: RequestScheme<'a>,
    ) -> Result<Self, Problem> {
        let wire = request.wire;
        let idempotency_key = wire.only(IDEMPOTENCY_KEY)?;
        let authorization = wire.all("authorization").next();
        Ok(Self {
            operation,
            head: request.head.clone(),
            authorization: authorization.and_then(|value| std::str::from_utf8(value).ok()),
            // Bytes that are not UTF-8 are refused like any other malformed key.
            idempotency_key: idempotency_key.map(|value| std::str::from_utf8(value).unwrap_or_default()),
            if_none_match: wire.all("if-none-match").collect(),
            accept_encoding: wire.all("accept-encoding").collect(),
            query,
            scheme,
        })
    }
}

impl Handler<Gateway> for ParsedRequest<'_> {
    async fn respond(self, gateway: &Gateway, incoming: &mut Incoming<'_>, record: &mut Record) -> Response {
        let state = &gateway.state;
        match serve(state, &self, incoming, record).await {
            Ok(reply) => respond(state, None, record, reply),
            Err(problem) => {
                let problem = flood(state, || incoming.address(), problem);
                refuse(state, None, record, &problem)
            }
        }
    }
}

async fn serve(
    state: &Arc<State>,
    asked: &ParsedRequest<'_>,
    incoming: &mut Incoming<'_>,
    record: &mut Record,
) -> Result<Reply, Problem> {
    let whole = state.config.load_full();
    let (Callers::Clients(config), Some(direct)) = (&whole.callers, &state.direct) else {
        return Err(Problem::new(Code::Internal, "direct mode is not configured"));
    };
    let request = OwnRequest {
        state,
        direct,
        config,
        head: &asked.head,
        authorization: asked.authorization,
        idempotency_key: asked.idempotency_key,
        address: incoming.address().map(|address| address.to_string()),
        query: asked.query,
        scheme: asked.scheme,
        now: clock::now(),
    };
    let document = |document, written: OwnResponse| {
        let written = written.if_none_match(asked.if_none_match.iter().copied());
        let accepted = asked.accept_encoding.iter().copied();
        Ok(direct.documents.reply(document, written, accepted, Instant::now()))
    };
    let written = match asked.operation {
        Operation::OpenApi => return document(Document::OpenApi, pages::openapi(&request)),
        Operation::Docs => return document(Document::Reference, pages::docs(&request)),
        Operation::ProblemPage(code) => return document(Document::Problem(code), docs::problem_page(code)),
        Operation::ReadOwnKey => keys::read_own(&request, record),
        Operation::RotateOwnKey => keys::rotate_own(&request, incoming).await,
        Operation::RevokeOwnKey => keys::revoke_own(&request).await,
        Operation::IssueKey => keys::issue(&request, incoming).await,
        Operation::ListKeys => keys::list(&request),
        Operation::ReadKey(id) => keys::read(&request, &id),
        Operation::ChangeKey(id) => keys::patch(&request, &id, incoming).await,
        Operation::RevokeKey(id) => keys::revoke(&request, &id).await,
        Operation::RotateKey(id) => keys::rotate(&request, &id, incoming).await,
    };
    written.map(Reply::from)
}
