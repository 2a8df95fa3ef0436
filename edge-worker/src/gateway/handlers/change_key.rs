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

use crate::caller::{Answer, Caller, Found};
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
pub(crate) async fn read(context: &RequestContext<'_>, id: &KeyId, query: Option<&str>) -> Answer {
    authorize_admin(context).await?;
    let with_usage = includes_usage(query)?;
    let caller = Caller::about(*id);
    if !with_usage {
        let record = caller.check(meter_client::read_record(context, id).await)?;
        let body = with_secrets(describe(&record), &record).to_string();
        return caller.with_tier(Some(&record)).answer(Ok(Response::json(body)));
    }
    let snapshot = caller.check(meter_client::read_as_admin(context, id).await)?;
    let usage = describe_usage(&snapshot, clock::now()).zip(snapshot.record.as_ref());
    let response = usage.map(|(usage, record)| Response::json(with_secrets(usage, record).to_string()));
    caller.with_tier(snapshot.record.as_ref()).answer(response.ok_or_else(key_store::unavailable))
}

/// `POST /v1/keys/{id}/revoke`
pub(crate) async fn revoke(context: &RequestContext<'_>, id: &KeyId) -> Answer {
    authorize_admin(context).await?;
    Ok(described(change(context, Subject::Named(id), Change::Revoke).await?))
}

/// `PATCH /v1/keys/{id}`
pub(crate) async fn patch(context: &RequestContext<'_>, id: &KeyId) -> Answer {
    authorize_admin(context).await?;
    let body = body::read(context.request, &context.head, MAX_BODY).await?;
    let wanted = read_change(&body, context.request.now)?;
    Ok(described(change(context, Subject::Named(id), wanted).await?))
}

/// `POST /v1/keys/{id}/rotate`
pub(crate) async fn rotate(context: &RequestContext<'_>, id: &KeyId) -> Answer {
    authorize_admin(context).await?;
    rotate_secret(context, Subject::Named(id)).await
}

/// `DELETE /v1/keys/{id}/secrets/{secret_id}`
pub(crate) async fn revoke_secret(context: &RequestContext<'_>, id: &KeyId, secret: SecretId) -> Answer {
    authorize_admin(context).await?;
    let wanted = Change::Secret(SecretChange::Revoke { id: secret });
    let found = change(context, Subject::Named(id), wanted).await?;
    Ok(found.map(|_| Response::no_content()))
}

/// `DELETE /v1/keys/me`
pub(crate) async fn revoke_own(context: &RequestContext<'_>) -> Answer {
    let key = authenticate(context)?;
    Ok(described(change(context, Subject::Own(&key), Change::Revoke).await?))
}

/// `POST /v1/keys/me/rotate`
pub(crate) async fn rotate_own(context: &RequestContext<'_>) -> Answer {
    let key = authenticate(context)?;
    rotate_secret(context, Subject::Own(&key)).await
}

/// Replaces the secret under the same id. The new key's text contains the current tier.
async fn rotate_secret(context: &RequestContext<'_>, subject: Subject<'_>) -> Answer {
    let body = body::read(context.request, &context.head, MAX_BODY).await?;
    let grace_ms = read_grace(&body)?;
    // Before the change: once the record has the hash of a secret, its text must exist.
    let drawn = entropy::draw_key(context.request.id)?.secret;
    let wanted = Change::Rotate { secret: SecretHash::of(&drawn), grace_ms };
    let Found { value: record, caller } = change(context, subject, wanted).await?;
    let (bindings, now) = (context.bindings, context.request.now);
    let environment = caller.check(bindings.key_env())?;
    // After the change, which says the tier. It may have changed since the key's text was made.
    let (key, _) = ApiKey::mint(environment, record.id, record.tier, now, drawn, &bindings.signing);
    caller.answer(Ok(Response::json(describe_rotated(&record, &key).to_string())))
}

/// Changes the record through the key's meter. Returns the new record.
///
/// # Errors
/// The meter's refusal of the change, and `meter-unavailable`.
pub(crate) async fn change(
    context: &RequestContext<'_>,
    subject: Subject<'_>,
    change: Change,
) -> Answer<KeyRecord> {
    let caller = Caller::changing(subject);
    let record = caller.check(meter_client::change(context, subject, change).await)?;
    caller.with_tier(Some(&record)).answer(Ok(record))
}

fn described(found: Found<KeyRecord>) -> Found<Response> {
    found.map(|record| Response::json(describe(&record).to_string()))
}
