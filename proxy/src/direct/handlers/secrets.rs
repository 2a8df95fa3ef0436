//! Named secrets of the caller's key, on a proxy that is the authority over keys.

use shared::key::{ApiKey, KeyRecord, Scope, Subject};
use shared::keys_api::describe_secrets;
use shared::meter::Change;
use shared::problem::Problem;
use shared::response::Response;
use shared::route::SecretCall;

use super::Context;
use super::keys::{changed, draw, here, own, read_body};
use transport::incoming::Incoming;

/// `GET /v1/keys/me/secrets`
pub(super) fn list(context: &Context<'_>) -> Result<Response, Problem> {
    let key = own(context)?;
    here(context)?;
    let (scope, now) = (Some(Scope::Keys), context.now);
    let record = context.direct.keys.with_checked(&key, scope, now, |record| record.cloned())?;
    let record = record.unwrap_or_else(|| KeyRecord::provisional(&key));
    Ok(Response::json(describe_secrets(&record).to_string()))
}

/// Makes, changes, rotates or revokes a secret.
pub(super) async fn change(
    context: &Context<'_>,
    call: SecretCall,
    incoming: &mut Incoming<'_>,
) -> Result<Response, Problem> {
    let key = own(context)?;
    let (_, environment) = here(context)?;
    let body = if call.has_body() { read_body(context, incoming).await? } else { Vec::new() };
    let (drawn, now) = (draw()?, context.now);
    let (id, wanted) = call.read(&body, &drawn, now)?;
    let record = changed(context, Subject::Own(&key), Change::Secret(wanted)).await?;
    let signing = &context.config.signing;
    let mint = || ApiKey::mint_named(environment, record.id, record.tier, now, drawn.secret, signing).0;
    call.respond(&record, id, mint)
}
