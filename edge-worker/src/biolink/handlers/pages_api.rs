//! The REST API of bio-link pages, and `GET /account`.

use biolink::page::document::Locale;
use biolink::pages_api::{
    Call, Decision, DomainInput, MAX_BODY, Once, Operation, account_unavailable, plan_required,
};
use biolink::route::{PagesCall, PagesEndpoint};
use portal::endpoint::Endpoint;
use shared::idempotency::{IDEMPOTENCY_KEY, IdempotencyKey};
use shared::key::{KeyId, KeyRecord, SecretId};
use shared::method::Method;
use shared::problem::Problem;
use shared::response::Response;

use super::{analytics, export, images, product_sources};
use crate::biolink::pages_client;
use crate::caller::{Answer, Found};
use crate::context::RequestContext;
use crate::gateway::key_record;
use crate::respond::ClientResponse;
use crate::runtime::{body, entropy};

pub(crate) async fn handle(
    context: &RequestContext<'_>,
    called: &PagesCall,
    query: Option<&str>,
) -> Answer<ClientResponse> {
    let Found { value: record, caller } = key_record::read(context, Endpoint::Pages(called.endpoint)).await?;
    let response = respond(context, called, query, (&record, caller.secret_id)).await;
    caller.answer(response)
}

async fn respond(
    context: &RequestContext<'_>,
    called: &PagesCall,
    query: Option<&str>,
    (record, secret): (&KeyRecord, Option<SecretId>),
) -> Result<ClientResponse, Problem> {
    if called.endpoint.needs_plan() {
        plan_required(record.biolink_plan)?;
    }
    let body = read_body(context, called.endpoint.has_body()).await?;
    let once = once(context, called.endpoint.takes_idempotency_key(), secret, &body)?;
    let account = record.account();
    let (body, upload) = prepare(context, called.endpoint, account, body).await?;
    let (operation, dry_run) = Operation::parse(called, query, body, record.biolink_plan)?;
    let seed = entropy::random().map_err(|error| entropy::unavailable(&error, Some(context.request.id)))?;
    let if_match = context.request.header("if-match").map(str::to_owned);
    let call = Call { secret, dry_run, if_match, once, ..call(context, account, operation, seed) };
    let reply = match pages_client::call(context, account, call).await? {
        Decision::Reply(reply) => reply,
        Decision::Admit(admission) => {
            let pages = &admission.pages;
            let outcome = match called.endpoint {
                PagesEndpoint::LiveAnalytics => analytics::live(context, pages).await,
                PagesEndpoint::ResetAnalytics => analytics::reset(context, pages).await,
                _ => analytics::report(context, query, record, pages).await,
            };
            let response = admission.complete(outcome)?;
            return Ok(response.into());
        }
    };
    finish(context, called, record, (dry_run, upload), reply.into_response()).await
}

/// Returns the body of a call as the account takes it, and the file of one that has a file.
async fn prepare<'a>(
    context: &RequestContext<'a>,
    endpoint: PagesEndpoint,
    account: KeyId,
    body: Vec<u8>,
) -> Result<(Vec<u8>, Option<images::Upload<'a>>), Problem> {
    let body = match endpoint {
        PagesEndpoint::UploadImage => {
            // The type and size of the file go into the call, so it is read before the account decides.
            let upload = images::read(context, account).await?;
            return Ok((upload.description()?, Some(upload)));
        }
        PagesEndpoint::CreateDomain => {
            let input = DomainInput::read(&body, context.bindings.domain_hosts()?)?;
            serde_json::to_vec(&input).map_err(|_| account_unavailable())?
        }
        PagesEndpoint::CreateSource | PagesEndpoint::PatchSource => {
            product_sources::prepare(context, account, body).await?
        }
        _ => body,
    };
    Ok((body, None))
}

/// Returns the response to a call that the account has decided, after what is done elsewhere: files, exports, sources.
async fn finish(
    context: &RequestContext<'_>,
    called: &PagesCall,
    record: &KeyRecord,
    (dry_run, upload): (bool, Option<images::Upload<'_>>),
    response: Response,
) -> Result<ClientResponse, Problem> {
    let response = match called.endpoint {
        _ if !(200..300).contains(&response.status) => response,
        // A HEAD is admitted like the GET, and nothing is read for it.
        PagesEndpoint::Export if context.request.method == Method::Head.as_str() => response,
        PagesEndpoint::UploadImage if !dry_run => {
            if let Some(upload) = upload {
                // Only after the account has noted it. A file without a note would stay in the
                // bucket for ever.
                upload.store(context, record.account()).await?;
            }
            response
        }
        PagesEndpoint::Export => return export::stream(context, record.account(), record, response),
        endpoint if endpoint.is_of_sources() => {
            product_sources::finish(context, called, record.account(), dry_run, response).await?
        }
        _ => response,
    };
    Ok(response.into())
}

/// Returns a call without conditions.
pub(super) fn call(
    context: &RequestContext<'_>,
    account: KeyId,
    operation: Operation,
    seed: [u8; 16],
) -> Call {
    Call {
        account,
        request_id: context.request.id.0,
        at: context.request.now,
        seed,
        base: context.pages_url(),
        locale: Locale::preferred(context.request.header("accept-language")),
        secret: None,
        operation,
        dry_run: false,
        if_match: None,
        once: None,
        claim: None,
        proof: None,
    }
}

/// Reads the body of a call; an empty one if the endpoint takes none.
pub(super) async fn read_body(context: &RequestContext<'_>, has_body: bool) -> Result<Vec<u8>, Problem> {
    if has_body { body::read(context.request, &context.head, MAX_BODY).await } else { Ok(Vec::new()) }
}

/// Returns the `Idempotency-Key` of a `POST`, if the endpoint takes one.
pub(super) fn once(
    context: &RequestContext<'_>,
    takes_key: bool,
    by: Option<SecretId>,
    body: &[u8],
) -> Result<Option<Once>, Problem> {
    let header = context.request.header(IDEMPOTENCY_KEY).filter(|_| takes_key);
    let key = IdempotencyKey::read(header)?;
    let target = context.address.target;
    Ok(key.map(|key| Once::new(key.as_str(), by, Method::Post.as_str(), target, body)))
}
