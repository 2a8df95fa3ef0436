//! The REST API of bio-link pages, and `GET /account`.

use biolink::page::document::Locale;
use biolink::pages_api::{
    Call, Decision, DomainInput, MAX_BODY, Once, Operation, account_unavailable, plan_required,
};
use biolink::route::{PagesCall, PagesEndpoint};
use portal::endpoint::Endpoint;
use shared::idempotency::{IDEMPOTENCY_KEY, IdempotencyKey};
use shared::key::{KeyId, SecretId};
use shared::method::Method;
use shared::problem::Problem;

use super::{analytics, export, images, product_sources};
use crate::access_log::AccessRecord;
use crate::biolink::pages_client;
use crate::context::RequestContext;
use crate::gateway::key_record;
use crate::respond::ClientResponse;
use crate::runtime::outline::{boxed, outlined};
use crate::runtime::{body, entropy};

pub(crate) async fn handle(
    context: &RequestContext<'_>,
    called: &PagesCall,
    query: Option<&str>,
    access: &mut AccessRecord,
) -> Result<ClientResponse, Problem> {
    let (record, secret) =
        boxed(key_record::read_caller(context, Endpoint::Pages(called.endpoint), access)).await?;
    if called.endpoint.needs_plan() {
        plan_required(record.biolink_plan)?;
    }
    let body = boxed(read_body(context, called.endpoint.has_body())).await?;
    let once = outlined(|| once(context, called.endpoint.takes_idempotency_key(), secret, &body))?;
    let account = record.account();
    // The type and size of the file go into the call, so it is read before the account decides.
    let upload = match called.endpoint {
        PagesEndpoint::UploadImage => Some(boxed(images::read(context, account)).await?),
        _ => None,
    };
    let body = match called.endpoint {
        PagesEndpoint::UploadImage => {
            upload.as_ref().map(images::Upload::description).transpose()?.unwrap_or_default()
        }
        PagesEndpoint::CreateDomain => {
            let input = outlined(|| DomainInput::read(&body, context.bindings.domain_hosts()?))?;
            serde_json::to_vec(&input).map_err(|_| account_unavailable())?
        }
        PagesEndpoint::CreateSource | PagesEndpoint::PatchSource => {
            boxed(product_sources::prepare(context, account, body)).await?
        }
        _ => body,
    };
    let (operation, dry_run) = outlined(|| Operation::parse(called, query, body, record.biolink_plan))?;
    let seed = entropy::random().map_err(|error| entropy::unavailable(&error, Some(context.request.id)))?;
    let if_match = context.request.header("if-match").map(str::to_owned);
    let call = Call { dry_run, if_match, once, ..call(context, account, operation, seed) };
    let reply = match boxed(pages_client::call(context, account, call)).await? {
        Decision::Reply(reply) => reply,
        Decision::Admit(admission) => {
            let pages = &admission.pages;
            let outcome = match called.endpoint {
                PagesEndpoint::LiveAnalytics => boxed(analytics::live(context, pages)).await,
                PagesEndpoint::ResetAnalytics => boxed(analytics::reset(context, pages)).await,
                _ => boxed(analytics::report(context, query, &record, pages)).await,
            };
            let response = outlined(|| admission.complete(outcome))?;
            return Ok(ClientResponse::Own(response.into_bytes()));
        }
    };
    let response = outlined(|| reply.into_response());
    let response = match called.endpoint {
        _ if !(200..300).contains(&response.status) => response,
        // A HEAD is admitted like the GET, and nothing is read for it.
        PagesEndpoint::Export if context.request.method == Method::Head.as_str() => response,
        PagesEndpoint::UploadImage if !dry_run => {
            if let Some(upload) = upload {
                // Only after the account has noted it. A file without a note would stay in the
                // bucket for ever.
                boxed(upload.store(context, account)).await?;
            }
            response
        }
        PagesEndpoint::Export => return outlined(|| export::stream(context, account, &record, response)),
        endpoint if endpoint.is_of_sources() => {
            boxed(product_sources::finish(context, called, account, dry_run, response)).await?
        }
        _ => response,
    };
    Ok(ClientResponse::Own(response.into_bytes()))
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
