//! The REST API of webhooks and events. The account admits each call, and its webhooks handle it.

use biolink::pages_api::{Decision, Operation, Reply, check_no_query, page_unknown, plan_required};
use biolink::route::{WebhooksCall, WebhooksEndpoint, WebhooksTarget};
use biolink::webhooks::{describe_schema, sample_events};
use biolink::webhooks_api::{WebhooksMessage, WebhooksOperation, WebhooksRequest, read_sample_kind};
use portal::endpoint::Endpoint;
use shared::key::{KeyRecord, SecretId};
use shared::problem::Problem;
use shared::response::Response;

use super::pages_api::{call, once, read_body};
use crate::biolink::{pages_client, webhooks_client};
use crate::caller::{Answer, Found};
use crate::context::RequestContext;
use crate::gateway::key_record;
use crate::runtime::entropy;

pub(crate) async fn handle(
    context: &RequestContext<'_>,
    called: &WebhooksCall,
    query: Option<&str>,
) -> Answer {
    let Found { value: record, caller } =
        key_record::read(context, Endpoint::Webhooks(called.endpoint)).await?;
    let response = respond(context, called, query, (&record, caller.secret_id)).await;
    caller.answer(response)
}

async fn respond(
    context: &RequestContext<'_>,
    called: &WebhooksCall,
    query: Option<&str>,
    (record, secret): (&KeyRecord, Option<SecretId>),
) -> Result<Response, Problem> {
    plan_required(record.biolink_plan)?;
    if let WebhooksTarget::Kind(kind) = called.target {
        check_no_query(query)?;
        return Ok(Response::json(describe_schema(kind)));
    }
    if called.endpoint == WebhooksEndpoint::Samples {
        return Ok(Response::json(sample_events(read_sample_kind(query)?)));
    }
    let body = read_body(context, called.endpoint.has_body()).await?;
    let once = once(context, called.endpoint.takes_idempotency_key(), secret, &body)?;
    let (operation, dry_run) = WebhooksOperation::parse(called, query, body)?;
    let seed =
        entropy::random::<32>().map_err(|error| entropy::unavailable(&error, Some(context.request.id)))?;
    let account = record.account();
    // An admission draws no ids.
    let admission = call(context, account, Operation::Webhooks, [0; 16]);
    let admission = match pages_client::call(context, account, admission).await? {
        Decision::Admit(admission) => admission,
        Decision::Reply(refusal) => return Ok(refusal.into_response()),
    };
    if let WebhooksOperation::Events(query) = &operation
        // The webhooks do not know which pages there are. They would answer with no events for
        // ever.
        && let Some(unknown) = query.page.filter(|page| !admission.pages.contains(page))
    {
        return admission.complete(Err(page_unknown(&unknown)));
    }
    let request = WebhooksRequest {
        account,
        request_id: context.request.id.0,
        seed,
        base: context.pages_url(),
        host: context.address.host().to_owned(),
        pages: admission.pages.clone(),
        operation,
        dry_run,
        once,
    };
    let reply = webhooks_client::request(context, account, &WebhooksMessage::Call(request)).await;
    admission.complete(reply.map(Reply::into_response))
}
