//! The requests that a proxy in direct mode serves itself, as the edge does: the keys API, the
//! documentation and the console.

mod console;
mod keys;
mod public_url;
mod secrets;

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Instant;

use shared::document::Document;
use shared::idempotency::IDEMPOTENCY_KEY;
use shared::problem::Problem;
use shared::quota::QuotaStatus;
use shared::request::Head;
use shared::route::{KeysRoute, SecretCall};
use shared::time::UnixMillis;

use super::{Direct, KeyMoment, Reply, RequestScheme};
use config::DirectConfig;
pub(super) use console::SESSION_PATH;
use transport::clock::Moment;
use transport::hooks::Request;
use transport::incoming::Incoming;

/// The routes that a proxy in direct mode serves itself.
pub enum OwnRoute {
    /// A request of the keys API.
    Keys(KeysRoute),
    /// A document.
    Document(Arc<Document>),
    /// The first request of the console.
    ConsoleSession,
}

/// A request for the gateway itself, with what its head says.
pub struct OwnRequest<'a> {
    direct: Arc<Direct>,
    route: OwnRoute,
    method: &'a str,
    head: Head<'a>,
    authorization: Option<&'a str>,
    idempotency_key: Option<&'a str>,
    if_none_match: Vec<&'a [u8]>,
    accept_encoding: Vec<&'a [u8]>,
    query: Option<&'a str>,
    scheme: RequestScheme<'a>,
}

/// A request while it is handled.
struct Context<'a> {
    direct: &'a Arc<Direct>,
    config: &'a DirectConfig,
    method: &'a str,
    head: &'a Head<'a>,
    authorization: Option<&'a str>,
    idempotency_key: Option<&'a str>,
    address: Option<String>,
    query: Option<&'a str>,
    scheme: RequestScheme<'a>,
    now: UnixMillis,
    /// The same moment on the clock of counts.
    counted_at: UnixMillis,
}

/// The outcome of a request, and the quota of the key that it was about.
pub struct HandlerOutcome {
    /// The response, or the problem to respond with.
    pub reply: Result<Reply, Problem>,
    /// The quota status of the client's own key, if it was read.
    pub quota: Option<QuotaStatus>,
}

impl Context<'_> {
    /// Returns the moment of the request as records and counts see it.
    const fn moment(&self) -> KeyMoment {
        KeyMoment { time: self.now, counted_at: self.counted_at }
    }
}

impl<'a> OwnRequest<'a> {
    /// Reads what the head of a request says.
    ///
    /// # Errors
    /// Returns a problem if the request has two idempotency keys.
    pub fn new(
        direct: &Arc<Direct>,
        route: OwnRoute,
        request: &Request<'_, 'a>,
        query: Option<&'a str>,
        scheme: RequestScheme<'a>,
    ) -> Result<Self, Problem> {
        let raw = request.raw;
        let idempotency_key = raw.only(IDEMPOTENCY_KEY)?;
        let authorization = raw.all("authorization").next();
        Ok(Self {
            direct: Arc::clone(direct),
            route,
            method: raw.method,
            head: request.head.clone(),
            authorization: authorization.and_then(|value| std::str::from_utf8(value).ok()),
            // Bytes that are not UTF-8 are refused like any other malformed key.
            idempotency_key: idempotency_key.map(|value| std::str::from_utf8(value).unwrap_or_default()),
            if_none_match: raw.all("if-none-match").collect(),
            accept_encoding: raw.all("accept-encoding").collect(),
            query,
            scheme,
        })
    }

    /// Serves the request. Reads its body from `incoming` if the route has one.
    pub async fn serve(self, incoming: &mut Incoming<'_>) -> HandlerOutcome {
        let config = self.direct.config.load_full();
        let KeyMoment { time: now, counted_at } = self.direct.moment(Moment::now());
        let context = Context {
            direct: &self.direct,
            config: &config,
            method: self.method,
            head: &self.head,
            authorization: self.authorization,
            idempotency_key: self.idempotency_key,
            address: incoming.address().as_ref().map(IpAddr::to_string),
            query: self.query,
            scheme: self.scheme,
            now,
            counted_at,
        };
        let mut quota = None;
        let reply = self.reply(&context, incoming, &mut quota).await;
        HandlerOutcome { reply, quota }
    }

    async fn reply(
        &self,
        context: &Context<'_>,
        incoming: &mut Incoming<'_>,
        quota: &mut Option<QuotaStatus>,
    ) -> Result<Reply, Problem> {
        let route = match &self.route {
            OwnRoute::Document(document) => return Ok(self.document(document, &public_url::of(context))),
            OwnRoute::ConsoleSession => return Ok(console::session(context.config).into()),
            OwnRoute::Keys(route) => *route,
        };
        let response = match route {
            KeysRoute::ReadOwn => keys::read_own(context, quota).await,
            KeysRoute::ReadHistory => keys::read_history(context),
            KeysRoute::ReadCalls => keys::read_calls(context),
            KeysRoute::ReadAlerts => keys::read_alerts(context),
            KeysRoute::RotateOwn => keys::rotate_own(context, incoming).await,
            KeysRoute::RevokeOwn => keys::revoke_own(context).await,
            KeysRoute::ListSecrets => secrets::list(context),
            KeysRoute::CreateSecret => secrets::change(context, SecretCall::Create, incoming).await,
            KeysRoute::ChangeSecret(id) => secrets::change(context, SecretCall::Change(id), incoming).await,
            KeysRoute::RevokeSecret(id) => secrets::change(context, SecretCall::Revoke(id), incoming).await,
            KeysRoute::RotateSecret(id) => secrets::change(context, SecretCall::Rotate(id), incoming).await,
            KeysRoute::Issue => keys::issue(context, incoming).await,
            KeysRoute::List => keys::list(context),
            KeysRoute::Read(id) => keys::read(context, &id).await,
            KeysRoute::Change(id) => keys::patch(context, &id, incoming).await,
            KeysRoute::Revoke(id) => keys::revoke(context, &id).await,
            KeysRoute::Rotate(id) => keys::rotate(context, &id, incoming).await,
            KeysRoute::RevokeSecretOf(id, secret) => keys::revoke_secret(context, &id, secret).await,
        };
        response.map(Reply::from)
    }

    /// Returns a document with regard to the conditional and content-coding headers of the request.
    fn document(&self, document: &Document, server: &str) -> Reply {
        let response = document.respond(server).if_none_match(self.if_none_match.iter().copied());
        let accepted = self.accept_encoding.iter().copied();
        self.direct.documents.reply(&document.path, response, accepted, Instant::now())
    }
}
