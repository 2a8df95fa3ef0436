//! Named secrets of the caller's key: `/v1/keys/me/secrets` and below. The key's meter makes every
//! change, and decides whether the caller's secret may make it.

use shared::key::{ApiKey, KeyRecord, Scope, SecretHash, SecretId, Subject};
use shared::keys_api::{
    MAX_BODY, NewSecret, describe_rotated_secret, describe_secret, describe_secrets, read_grace,
    read_secret_change, secret_created,
};
use shared::meter::{Change, SecretChange};
use shared::problem::Problem;
use shared::response::Response;

use super::change_key::change;
use crate::access_log::AccessRecord;
use crate::context::RequestContext;
use crate::gateway::authenticate::authenticate;
use crate::gateway::key_record;
use crate::runtime::{body, entropy};

/// `GET /v1/keys/me/secrets`
pub(crate) async fn list(
    context: &RequestContext<'_>,
    access: &mut AccessRecord,
) -> Result<Response, Problem> {
    let record = key_record::read(context, Scope::Keys, access).await?;
    Ok(Response::json(describe_secrets(&record).to_string()))
}

/// `POST /v1/keys/me/secrets`
pub(crate) async fn create(
    context: &RequestContext<'_>,
    access: &mut AccessRecord,
) -> Result<Response, Problem> {
    let new = NewSecret::read(&read_body(context).await?, context.request.now)?;
    let drawn = entropy::draw_key(context.request.id)?;
    let id = drawn.secret_id();
    let secret = new.into_secret(id, SecretHash::of(&drawn.secret), context.request.now);
    let record = change_secret(context, SecretChange::Add(secret), access).await?;
    secret_created(&record, id, &mint(context, &record, drawn.secret)?)
}

/// `PATCH /v1/keys/me/secrets/{secret_id}`
pub(crate) async fn patch(
    context: &RequestContext<'_>,
    id: SecretId,
    access: &mut AccessRecord,
) -> Result<Response, Problem> {
    let wanted = read_secret_change(id, &read_body(context).await?, context.request.now)?;
    let record = change_secret(context, wanted, access).await?;
    Ok(Response::json(describe_secret(&record, id)?.to_string()))
}

/// `DELETE /v1/keys/me/secrets/{secret_id}`
pub(crate) async fn revoke(
    context: &RequestContext<'_>,
    id: SecretId,
    access: &mut AccessRecord,
) -> Result<Response, Problem> {
    change_secret(context, SecretChange::Revoke { id }, access).await?;
    Ok(Response::no_content())
}

/// `POST /v1/keys/me/secrets/{secret_id}/rotate`
pub(crate) async fn rotate(
    context: &RequestContext<'_>,
    id: SecretId,
    access: &mut AccessRecord,
) -> Result<Response, Problem> {
    let grace_ms = read_grace(&read_body(context).await?)?;
    let drawn = entropy::draw_key(context.request.id)?.secret;
    let wanted = SecretChange::Rotate { id, hash: SecretHash::of(&drawn), grace_ms };
    let record = change_secret(context, wanted, access).await?;
    let rotated = describe_rotated_secret(&record, id, &mint(context, &record, drawn)?)?;
    Ok(Response::json(rotated.to_string()))
}

/// Reads the body, for a caller with a key.
async fn read_body(context: &RequestContext<'_>) -> Result<Vec<u8>, Problem> {
    authenticate(context)?;
    body::read(context.request, &context.head, MAX_BODY).await
}

async fn change_secret(
    context: &RequestContext<'_>,
    wanted: SecretChange,
    access: &mut AccessRecord,
) -> Result<KeyRecord, Problem> {
    let key = authenticate(context)?;
    access.record_key(&key);
    let record = change(context, Subject::Own(&key), Change::Secret(wanted), access).await?;
    access.secret_id = record.secret_id(&key);
    Ok(record)
}

/// Returns the text of a named secret.
fn mint(context: &RequestContext<'_>, record: &KeyRecord, secret: [u8; 16]) -> Result<ApiKey, Problem> {
    let (bindings, now) = (context.bindings, context.request.now);
    let minted =
        ApiKey::mint_named(bindings.key_env()?, record.id, record.tier, now, secret, &bindings.signing);
    Ok(minted.0)
}
