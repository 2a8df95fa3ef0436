//! Reading and changing keys: `/v1/keys` and `/v1/keys/{id}` and below for administrators, `/v1/keys/me` for the
//! key's holder.
//!
//! The key's meter makes every change. So concurrent changes do not undo each other, and a change
//! applies from the next call on. The meter updates KV by itself.

use shared::key::{ApiKey, KeyId, KeyRecord, SecretHash, SecretId, Subject};
use shared::keys_api::{
    ListRequest, MAX_BODY, describe, describe_rotated, describe_usage, includes_usage, read_change,
    read_grace, with_secrets,
};
use shared::meter::{Change, SecretChange};
use shared::problem::Problem;
use shared::response::Response;

use crate::access_log::AccessRecord;
use crate::context::RequestContext;
use crate::gateway::authenticate::{authenticate, authorize_admin};
use crate::gateway::{key_directory, key_store, meter_client};
use crate::runtime::{body, clock, entropy};

/// `GET /v1/keys`: all keys, in pages.
pub(crate) async fn list(context: &RequestContext<'_>, query: Option<&str>) -> Result<Response, Problem> {
    authorize_admin(context).await?;
    let signing = &context.bindings.signing;
    let request = ListRequest::read(query, signing)?;
    let page = key_directory::list(context, request.to_message(query)).await?;
    Ok(Response::json(request.describe(&page, signing)))
}

/// `GET /v1/keys/{id}`, with the key's usage if the query requests it.
pub(crate) async fn read(
    context: &RequestContext<'_>,
    id: &KeyId,
    query: Option<&str>,
    access: &mut AccessRecord,
) -> Result<Response, Problem> {
    authorize_admin(context).await?;
    if !includes_usage(query)? {
        access.record_key_id(*id);
        let record = meter_client::read_record(context, id).await?;
        access.record_tier(Some(record.tier));
        return Ok(Response::json(with_secrets(describe(&record), &record).to_string()));
    }
    access.record_key_id(*id);
    let snapshot = meter_client::read_as_admin(context, id).await?;
    access.record_tier(snapshot.record.as_ref().map(|record| record.tier));
    let usage = describe_usage(&snapshot, clock::now()).zip(snapshot.record.as_ref());
    let (usage, record) = usage.ok_or_else(key_store::unavailable)?;
    Ok(Response::json(with_secrets(usage, record).to_string()))
}

/// `POST /v1/keys/{id}/revoke`
pub(crate) async fn revoke(
    context: &RequestContext<'_>,
    id: &KeyId,
    access: &mut AccessRecord,
) -> Result<Response, Problem> {
    authorize_admin(context).await?;
    let record = change(context, Subject::Named(id), Change::Revoke, access).await?;
    Ok(Response::json(describe(&record).to_string()))
}

/// `PATCH /v1/keys/{id}`
pub(crate) async fn patch(
    context: &RequestContext<'_>,
    id: &KeyId,
    access: &mut AccessRecord,
) -> Result<Response, Problem> {
    authorize_admin(context).await?;
    let body = body::read(context.request, &context.head, MAX_BODY).await?;
    let wanted = read_change(&body, context.request.now)?;
    let record = change(context, Subject::Named(id), wanted, access).await?;
    Ok(Response::json(describe(&record).to_string()))
}

/// `POST /v1/keys/{id}/rotate`
pub(crate) async fn rotate(
    context: &RequestContext<'_>,
    id: &KeyId,
    access: &mut AccessRecord,
) -> Result<Response, Problem> {
    authorize_admin(context).await?;
    rotate_secret(context, Subject::Named(id), access).await
}

/// `DELETE /v1/keys/{id}/secrets/{secret_id}`
pub(crate) async fn revoke_secret(
    context: &RequestContext<'_>,
    id: &KeyId,
    secret: SecretId,
    access: &mut AccessRecord,
) -> Result<Response, Problem> {
    authorize_admin(context).await?;
    let wanted = Change::Secret(SecretChange::Revoke { id: secret });
    change(context, Subject::Named(id), wanted, access).await?;
    Ok(Response::no_content())
}

/// `DELETE /v1/keys/me`
pub(crate) async fn revoke_own(
    context: &RequestContext<'_>,
    access: &mut AccessRecord,
) -> Result<Response, Problem> {
    let key = authenticate(context)?;
    let record = change(context, Subject::Own(&key), Change::Revoke, access).await?;
    Ok(Response::json(describe(&record).to_string()))
}

/// `POST /v1/keys/me/rotate`
pub(crate) async fn rotate_own(
    context: &RequestContext<'_>,
    access: &mut AccessRecord,
) -> Result<Response, Problem> {
    let key = authenticate(context)?;
    rotate_secret(context, Subject::Own(&key), access).await
}

/// Replaces the secret under the same id. The new key's text contains the current tier.
async fn rotate_secret(
    context: &RequestContext<'_>,
    subject: Subject<'_>,
    access: &mut AccessRecord,
) -> Result<Response, Problem> {
    let body = body::read(context.request, &context.head, MAX_BODY).await?;
    let grace_ms = read_grace(&body)?;
    // Before the change: once the record has the hash of a secret, its text must exist.
    let drawn = entropy::draw_key(context.request.id)?.secret;
    let wanted = Change::Rotate { secret: SecretHash::of(&drawn), grace_ms };
    let record = change(context, subject, wanted, access).await?;
    let (bindings, now) = (context.bindings, context.request.now);
    // After the change, which says the tier. It may have changed since the key's text was made.
    let (key, _) = ApiKey::mint(bindings.key_env()?, record.id, record.tier, now, drawn, &bindings.signing);
    Ok(Response::json(describe_rotated(&record, &key).to_string()))
}

/// Changes the record through the key's meter. Returns the new record.
pub(crate) async fn change(
    context: &RequestContext<'_>,
    subject: Subject<'_>,
    change: Change,
    access: &mut AccessRecord,
) -> Result<KeyRecord, Problem> {
    access.record_key_id(*subject.id());
    let record = meter_client::change(context, subject, change).await?;
    access.record_tier(Some(record.tier));
    Ok(record)
}
