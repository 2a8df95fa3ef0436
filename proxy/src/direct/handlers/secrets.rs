//! Named secrets of the caller's key, on a proxy that is the authority over keys.

use shared::key::{ApiKey, KeyEnv, KeyRecord, Scope, SecretHash, SecretId, Subject, VerifiedKey};
use shared::keys_api::{
    NewSecret, describe_rotated_secret, describe_secret, describe_secrets, read_grace, read_secret_change,
    secret_created,
};
use shared::meter::{Change, SecretChange};
use shared::problem::Problem;
use shared::response::Response;

use super::Context;
use super::keys::{changed, draw, here, own, read_body};
use transport::incoming::Incoming;

/// `GET /v1/keys/me/secrets`
pub(super) fn list(context: &Context<'_>) -> Result<Response, Problem> {
    let (key, _) = own_here(context)?;
    let (scope, now) = (Some(Scope::Keys), context.now);
    let record = context.direct.keys.with_checked(&key, scope, now, |record| record.cloned())?;
    let record = record.unwrap_or_else(|| KeyRecord::provisional(&key));
    Ok(Response::json(describe_secrets(&record).to_string()))
}

/// `POST /v1/keys/me/secrets`
pub(super) async fn create(context: &Context<'_>, incoming: &mut Incoming<'_>) -> Result<Response, Problem> {
    let (key, environment) = own_here(context)?;
    let new = NewSecret::read(&read_body(context, incoming).await?, context.now)?;
    let drawn = draw()?;
    let id = drawn.secret_id();
    let secret = new.into_secret(id, SecretHash::of(&drawn.secret), context.now);
    let record = change(context, &key, SecretChange::Add(secret)).await?;
    secret_created(&record, id, &mint(context, &record, environment, drawn.secret))
}

/// `PATCH /v1/keys/me/secrets/{secret_id}`
pub(super) async fn patch(
    context: &Context<'_>,
    id: SecretId,
    incoming: &mut Incoming<'_>,
) -> Result<Response, Problem> {
    let (key, _) = own_here(context)?;
    let wanted = read_secret_change(id, &read_body(context, incoming).await?, context.now)?;
    let record = change(context, &key, wanted).await?;
    Ok(Response::json(describe_secret(&record, id)?.to_string()))
}

/// `DELETE /v1/keys/me/secrets/{secret_id}`
pub(super) async fn revoke(context: &Context<'_>, id: SecretId) -> Result<Response, Problem> {
    let (key, _) = own_here(context)?;
    change(context, &key, SecretChange::Revoke { id }).await?;
    Ok(Response::no_content())
}

/// `POST /v1/keys/me/secrets/{secret_id}/rotate`
pub(super) async fn rotate(
    context: &Context<'_>,
    id: SecretId,
    incoming: &mut Incoming<'_>,
) -> Result<Response, Problem> {
    let (key, environment) = own_here(context)?;
    let grace_ms = read_grace(&read_body(context, incoming).await?)?;
    let drawn = draw()?.secret;
    let wanted = SecretChange::Rotate { id, hash: SecretHash::of(&drawn), grace_ms };
    let record = change(context, &key, wanted).await?;
    let key = mint(context, &record, environment, drawn);
    Ok(Response::json(describe_rotated_secret(&record, id, &key)?.to_string()))
}

/// Authenticates the caller. Returns the key, and the environment of this authority.
fn own_here(context: &Context<'_>) -> Result<(VerifiedKey, KeyEnv), Problem> {
    let key = own(context)?;
    let (_, environment) = here(context)?;
    Ok((key, environment))
}

async fn change(
    context: &Context<'_>,
    key: &VerifiedKey,
    change: SecretChange,
) -> Result<KeyRecord, Problem> {
    changed(context, Subject::Own(key), Change::Secret(change)).await
}

/// Returns the text of a named secret.
fn mint(context: &Context<'_>, record: &KeyRecord, environment: KeyEnv, secret: [u8; 16]) -> ApiKey {
    let signing = &context.config.signing;
    ApiKey::mint_named(environment, record.id, record.tier, context.now, secret, signing).0
}
