//! OAuth 2.1: agents of other people's servers sign in (`portal/src/oauth.rs`).
//!
//! The key's meter decides about each code and refresh token, as it does about every named secret. A metadata document of
//! a client is fetched as a URL of a customer is, and kept in the isolate for a few minutes.

use std::cell::RefCell;

use biolink::fetch_url::FetchUrl;
use portal::oauth::{
    self, Client, ClientId, Consent, Decision, FORM, Form, Grant, Issuer, MAX_BODY, MAX_CLIENT_METADATA,
    OAuthError, Presented,
};
use portal::route::OAuthRoute;
use shared::caller::network_bucket;
use shared::key::{ApiKey, FreeCall, KeyId, Subject};
use shared::meter::{Change, SecretChange};
use shared::minute_counters::MinuteCounters;
use shared::problem::{Problem, codes};
use shared::response::Response;
use shared::time::UnixMillis;

use crate::biolink::domains;
use crate::biolink::guarded_fetch::{self, BodyLimit, GuardedRequest};
use crate::caller::{Answer, Caller, Found};
use crate::context::RequestContext;
use crate::gateway::authenticate::authenticate;
use crate::gateway::handlers::change_key;
use crate::gateway::meter_client::record_free_call;
use crate::runtime::client_request::CLIENT_ADDRESS;
use crate::runtime::{body, entropy};

/// Time for a metadata document, in milliseconds.
const FETCH_TIMEOUT_MS: u64 = 5_000;
/// Time for which a metadata document is kept, in milliseconds.
const KEEP_MS: u64 = 300_000;
/// The most metadata documents that are kept.
const MAX_KEPT: usize = 32;
/// Registrations and fetches of documents that an isolate takes from one network in a minute.
const PER_MINUTE: u8 = 30;

type Kept = Vec<(String, Client, UnixMillis)>;

thread_local! {
    static CLIENTS: RefCell<Kept> = const { RefCell::new(Vec::new()) };
    static COUNTERS: RefCell<MinuteCounters> = const { RefCell::new(MinuteCounters::new()) };
}

/// Handles a request of OAuth.
///
/// # Errors
/// Those that a person is shown: `fields-invalid`, `https-required`, `too-many-requests`, and those of the key. A client of
/// OAuth has its errors as responses.
pub(crate) async fn respond(context: &RequestContext<'_>, route: OAuthRoute, query: Option<&str>) -> Answer {
    let (base, keys, now) = (context.called_url(), &context.bindings.signing, context.request.now);
    if base.is_empty() {
        let problem =
            Problem::new(codes::ROUTE_UNKNOWN, "there is no authorization server at this host name");
        return Err(problem.into());
    }
    let issuer = Issuer { base, keys, now };
    match route {
        OAuthRoute::ResourceMetadata => return Ok(oauth::resource_metadata(base, false).into()),
        OAuthRoute::McpMetadata => return Ok(oauth::resource_metadata(base, true).into()),
        OAuthRoute::ServerMetadata => return Ok(oauth::server_metadata(base).into()),
        _ => {}
    }
    // Whatever follows carries a secret, or will.
    context.address.check_confidential(context.bindings.http_allowed)?;
    match route {
        OAuthRoute::Authorize => Ok(authorize(context, query, issuer).await?.into()),
        OAuthRoute::ReadConsent => {
            let form = Form::read(query.unwrap_or_default()).map_err(shown)?;
            Ok(Consent::open(form.get("request").unwrap_or_default(), issuer)?.describe().into())
        }
        OAuthRoute::Consent => consent(context, issuer).await,
        OAuthRoute::Register => {
            count(context)?;
            let body = body::read(context.request, &context.head, MAX_CLIENT_METADATA).await;
            let registered =
                || Client::register(&body.map_err(of_body)?, issuer, &nonce(context).map_err(of_body)?);
            Ok(registered().unwrap_or_else(|error| error.response()).into())
        }
        OAuthRoute::Token => {
            let outcome = token(context, issuer).await;
            Ok(outcome.unwrap_or_else(|refused| refused.map(|error| error.response())))
        }
        _ => {
            let outcome = revoke(context, issuer).await;
            Ok(outcome.unwrap_or_else(|refused| refused.map(|error| error.response())))
        }
    }
}

/// Shows a request of a client to whoever has opened it.
async fn authorize(
    context: &RequestContext<'_>,
    query: Option<&str>,
    issuer: Issuer<'_>,
) -> Result<Response, Problem> {
    let form = Form::read(query.unwrap_or_default()).map_err(shown)?;
    let client = match ClientId::read(form.get("client_id").unwrap_or_default(), issuer.keys) {
        Some(ClientId::Registered(client)) => client,
        Some(ClientId::Document(address)) => fetch(context, address).await?,
        None => {
            return Err(invalid(
                "client_id is unknown: expected one that was registered here, or the address of a document",
            ));
        }
    };
    let consent = Consent::read(&form, &client, issuer).map_err(shown)?;
    Ok(consent.ask(issuer, &nonce(context)?))
}

/// Returns what the metadata document of a client says.
async fn fetch(context: &RequestContext<'_>, address: &str) -> Result<Client, Problem> {
    let now = context.request.now;
    let kept = CLIENTS.with_borrow(|kept| {
        let own = kept.iter().find(|(own, _, until)| own == address && now < *until);
        own.map(|(_, client, _)| client.clone())
    });
    if let Some(client) = kept {
        return Ok(client);
    }
    count(context)?;
    let policy = domains::fetch_policy_of(context, address).await;
    let url = FetchUrl::parse(address, &policy).map_err(|error| invalid(&format!("client_id {error}")))?;
    if url.as_str() != address || address.matches('/').count() < 3 {
        return Err(invalid("client_id is not in the normal form of an address with a path"));
    }
    let request = GuardedRequest {
        method: "GET",
        url: &url,
        headers: &[("accept", "application/json")],
        body: None,
        timeout_ms: FETCH_TIMEOUT_MS,
        limit: BodyLimit::AtMost(MAX_CLIENT_METADATA),
    };
    let response = guarded_fetch::send(&request).await;
    let response =
        response.map_err(|error| invalid(&format!("the address of client_id does not respond: {error}")))?;
    if response.status != 200 {
        return Err(invalid(&format!(
            "the address of client_id responds with {}; expected 200",
            response.status
        )));
    }
    let client = Client::of_document(address, &response.body)?;
    CLIENTS.with_borrow_mut(|kept| {
        kept.retain(|(own, _, until)| own != address && now < *until);
        kept.truncate(MAX_KEPT - 1);
        kept.push((address.to_owned(), client.clone(), now.plus(KEEP_MS)));
    });
    Ok(client)
}

/// Takes the decision of a key's holder, who sends the key with it.
async fn consent(context: &RequestContext<'_>, issuer: Issuer<'_>) -> Answer {
    let body = body::read(context.request, &context.head, MAX_BODY).await?;
    let (consent, secret) = match Consent::decide(&body, issuer)? {
        Decision::Deny(consent) => return Ok(consent.deny(issuer).into()),
        Decision::Approve(consent, secret) => (consent, secret),
    };
    let key = authenticate(context)?;
    let caller = Caller::of(&key);
    let drawn = caller.check(entropy::draw_key(context.request.id))?;
    let nonce = caller.check(nonce(context))?;
    let (secret, response) = consent.approve(secret, &key, &drawn, &nonce, issuer);
    let add = Change::Secret(SecretChange::Add(secret));
    let Found { value: record, caller } = change_key::change(context, Subject::Own(&key), add).await?;
    caller.with_record(&record, &key).answer(Ok(response))
}

/// Exchanges a code or refresh token for a token.
async fn token(context: &RequestContext<'_>, issuer: Issuer<'_>) -> Answer<Response, OAuthError> {
    let presented = Presented::read(&form(context).await?, issuer)?;
    let drawn = entropy::draw_key(context.request.id).map_err(of_body)?.secret;
    let (environment, nonce) =
        (context.bindings.key_env().map_err(of_body)?, nonce(context).map_err(of_body)?);
    let change = Change::Secret(presented.exchange(&drawn, issuer));
    let id = *presented.key();
    count_exchange(&id)?;
    let found = change_key::change(context, Subject::Named(&id), change).await;
    let found = found.map_err(|refused| refused.map(|problem| OAuthError::of_grant(&problem)))?;
    let record = found.value;
    let (text, verified) = ApiKey::mint_named(environment, id, record.tier, issuer.now, drawn, issuer.keys);
    let response = presented.respond(&record, (&text, &verified), issuer, &nonce);
    found.caller.with_record(&record, &verified).answer(response)
}

/// Ends a connection (RFC 7009), which its refresh token names.
async fn revoke(context: &RequestContext<'_>, issuer: Issuer<'_>) -> Answer<Response, OAuthError> {
    let form = form(context).await?;
    let token = form.get("token").unwrap_or_default();
    // Whoever wants to get rid of an unknown token has what they want (RFC 7009, section 2.2).
    let Some(grant) = Grant::of_refresh_token(token, issuer) else {
        return Ok(ended().into());
    };
    count_exchange(&grant.key)?;
    let change = Change::Secret(SecretChange::Revoke { id: grant.secret });
    match change_key::change(context, Subject::Named(&grant.key), change).await {
        Err(refused) if refused.value.status() == 429 || refused.value.status() >= 500 => {
            Err(refused.map(|problem| OAuthError::of_grant(&problem)))
        }
        Err(refused) => Ok(refused.map(|_| ended())),
        Ok(found) => Ok(found.map(|_| ended())),
    }
}

/// Returns the response to a revocation, which is a 200 whatever the token was.
fn ended() -> Response {
    Response::json("{}".to_owned())
}

async fn form(context: &RequestContext<'_>) -> Result<Form, OAuthError> {
    let body = body::read_as(context.request, &context.head, &[FORM], MAX_BODY).await.map_err(of_body)?;
    Form::read(&String::from_utf8_lossy(&body))
}

/// Counts what an agent has the key's meter do. A used token stays readable, so its replay must not cost without end.
fn count_exchange(key: &KeyId) -> Result<(), OAuthError> {
    record_free_call(key, FreeCall::Exchange).map_err(|problem| OAuthError::of_grant(&problem))
}

/// Counts what anybody may have the gateway do, a registration or a fetch.
fn count(context: &RequestContext<'_>) -> Result<(), Problem> {
    let (address, now) = (context.request.header(CLIENT_ADDRESS), context.request.now);
    let network = network_bucket(address, "oauth", &context.bindings.signing);
    COUNTERS.with_borrow_mut(|counters| {
        if counters.count(network, now) >= PER_MINUTE {
            let detail = "too many agents are registered from this network; try again in a minute";
            return Err(Problem::new(codes::TOO_MANY_REQUESTS, detail).retry_after(60));
        }
        counters.record(network, now);
        Ok(())
    })
}

fn nonce(context: &RequestContext<'_>) -> Result<[u8; 24], Problem> {
    entropy::random().map_err(|error| entropy::unavailable(&error, Some(context.request.id)))
}

fn of_body(problem: Problem) -> OAuthError {
    OAuthError::of_body(&problem)
}

/// Returns an error of a client's request as the person is shown it who has opened the address.
fn shown(error: OAuthError) -> Problem {
    invalid(error.description())
}

fn invalid(detail: &str) -> Problem {
    Problem::new(codes::FIELDS_INVALID, format!("the agent's request cannot be taken: {detail}"))
}
