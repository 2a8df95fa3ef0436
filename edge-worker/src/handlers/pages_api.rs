//! The REST API of bio-link pages, and `GET /account`.

use shared::{
    keys_api::{IDEMPOTENCY_KEY, IdempotencyKey},
    method::Method,
    pages_api::{AccountMessage, Call, MAX_BODY, Once, Operation, plan_required},
    problem::{Code, Problem},
    response::Response,
    route::{PagesCall, PagesEndpoint},
};

use crate::{
    access_log::AccessRecord, authenticate::authenticate, body, context::RequestContext, entropy, key_store,
    meter_client, pages_client,
};

pub(crate) async fn handle(
    context: &RequestContext<'_>,
    called: &PagesCall,
    query: Option<&str>,
    access: &mut AccessRecord,
) -> Result<Response, Problem> {
    let key = authenticate(context)?;
    access.key_id = Some(key.id);
    let record = meter_client::read(context, &key).await?.record.ok_or_else(key_store::unavailable)?;
    access.tier = Some(record.tier);
    if called.endpoint != PagesEndpoint::Account {
        plan_required(record.biolink_plan)?;
    }
    let body = match called.endpoint.has_body() {
        true => body::read(context.request, &context.head, MAX_BODY).await?,
        false => Vec::new(),
    };
    let once = once(context, called, &body)?;
    let (operation, dry_run) = Operation::parse(called, query, body, record.biolink_plan)?;
    let seed = entropy::random().map_err(|error| entropy::unavailable(&error, Some(context.request.id)))?;
    let call = Call {
        account: record.account(),
        request_id: context.request.id.0,
        at: context.request.now,
        seed,
        base: context.public_url().to_owned(),
        operation,
        dry_run,
        if_match: context.request.header("if-match").map(str::to_owned),
        once,
        claim: None,
    };
    let reply = pages_client::call(context, call.account, &AccountMessage::Call(call)).await?;
    access.code = reply.problem().and_then(Code::parse).map(Code::as_str);
    Ok(reply.into_response())
}

/// Returns the `Idempotency-Key` of a `POST`.
fn once(context: &RequestContext<'_>, called: &PagesCall, body: &[u8]) -> Result<Option<Once>, Problem> {
    if called.endpoint.method() != Method::Post {
        return Ok(None);
    }
    let key = IdempotencyKey::read(context.request.header(IDEMPOTENCY_KEY))?;
    let target = context.address.target;
    Ok(key.map(|key| Once::new(key.as_str(), Method::Post.as_str(), target, body)))
}
