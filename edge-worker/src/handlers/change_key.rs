//! Reading and changing a key: `/v1/keys/{id}` and below for administrators, `/v1/keys/me` for the key's holder.
//!
//! The key's meter makes every change, so that two at once do not undo each other, and so that it holds from the
//! next call on. It brings the store up to date by itself.

use shared::{
    key::{ApiKey, KeyId, KeyRecord, SecretHash, Subject},
    keys_api::{
        MAX_BODY, describe, describe_rotated, describe_usage, includes_usage, read_change, read_grace,
    },
    meter::Change,
    problem::Problem,
    response::Response,
};

use super::issue_key::draw;
use crate::{
    admin, authenticate::authenticate, body, clock, context::RequestContext, key_store, log::Line,
    meter_client,
};

/// `GET /v1/keys/{id}`, with its usage on request only, which its meter alone knows.
pub(crate) async fn read(
    context: &RequestContext<'_>,
    id: &KeyId,
    query: Option<&str>,
    line: &mut Line,
) -> Result<Response, Problem> {
    admin::authorize(context).await?;
    if !includes_usage(query)? {
        let record = change(context, Subject::Named(id), Change::None, line).await?;
        return Ok(Response::json(describe(&record).to_string()));
    }
    line.key_id = Some(*id);
    let reading = meter_client::show(context, id).await?;
    line.tier = reading.record.as_ref().map(|record| record.tier);
    let usage = describe_usage(&reading, clock::now()).ok_or_else(key_store::unavailable)?;
    Ok(Response::json(usage.to_string()))
}

/// `POST /v1/keys/{id}/revoke`
pub(crate) async fn revoke(
    context: &RequestContext<'_>,
    id: &KeyId,
    line: &mut Line,
) -> Result<Response, Problem> {
    admin::authorize(context).await?;
    let record = change(context, Subject::Named(id), Change::Revoke, line).await?;
    Ok(Response::json(describe(&record).to_string()))
}

/// `PATCH /v1/keys/{id}`
pub(crate) async fn patch(
    context: &RequestContext<'_>,
    id: &KeyId,
    line: &mut Line,
) -> Result<Response, Problem> {
    admin::authorize(context).await?;
    let body = body::read(context.incoming, &context.head, MAX_BODY).await?;
    let wanted = read_change(&body, context.incoming.now)?;
    let record = change(context, Subject::Named(id), wanted, line).await?;
    Ok(Response::json(describe(&record).to_string()))
}

/// `POST /v1/keys/{id}/rotate`
pub(crate) async fn rotate(
    context: &RequestContext<'_>,
    id: &KeyId,
    line: &mut Line,
) -> Result<Response, Problem> {
    admin::authorize(context).await?;
    renew(context, Subject::Named(id), line).await
}

/// `DELETE /v1/keys/me`
pub(crate) async fn revoke_own(context: &RequestContext<'_>, line: &mut Line) -> Result<Response, Problem> {
    let key = authenticate(&context.head, &context.address, context.bindings)?;
    let record = change(context, Subject::Own(&key), Change::Revoke, line).await?;
    Ok(Response::json(describe(&record).to_string()))
}

/// `POST /v1/keys/me/rotate`
pub(crate) async fn rotate_own(context: &RequestContext<'_>, line: &mut Line) -> Result<Response, Problem> {
    let key = authenticate(&context.head, &context.address, context.bindings)?;
    renew(context, Subject::Own(&key), line).await
}

/// Puts a new secret in the place of the old one, under the same id. The new text says the tier of today.
async fn renew(
    context: &RequestContext<'_>,
    subject: Subject<'_>,
    line: &mut Line,
) -> Result<Response, Problem> {
    let body = body::read(context.incoming, &context.head, MAX_BODY).await?;
    let grace_ms = read_grace(&body)?;
    let drawn = draw(context)?.secret;
    let wanted = Change::Rotate { secret: SecretHash::of(&drawn), grace_ms };
    let record = change(context, subject, wanted, line).await?;
    let (bindings, now) = (context.bindings, context.incoming.now);
    let (key, _) = ApiKey::mint(bindings.key_env, record.id, record.tier, now, drawn, &bindings.signing);
    Ok(Response::json(describe_rotated(&record, &key).to_string()))
}

async fn change(
    context: &RequestContext<'_>,
    subject: Subject<'_>,
    change: Change,
    line: &mut Line,
) -> Result<KeyRecord, Problem> {
    line.key_id = Some(*subject.id());
    let record = meter_client::change(context, subject, change).await?;
    line.tier = Some(record.tier);
    Ok(record)
}
