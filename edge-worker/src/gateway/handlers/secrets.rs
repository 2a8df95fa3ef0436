//! Named secrets of the caller's key: `/v1/keys/me/secrets` and below. The key's meter makes every
//! change, and decides whether the caller's secret may make it.

use shared::key::{ApiKey, Scope, Subject};
use shared::keys_api::{MAX_BODY, describe_secrets};
use shared::meter::Change;
use shared::problem::Problem;
use shared::response::Response;
use shared::route::SecretCall;

use super::change_key;
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

/// Makes, changes, rotates or revokes a secret.
pub(crate) async fn change(
    context: &RequestContext<'_>,
    call: SecretCall,
    access: &mut AccessRecord,
) -> Result<Response, Problem> {
    let key = authenticate(context)?;
    access.record_key(&key);
    let body = match call.has_body() {
        true => body::read(context.request, &context.head, MAX_BODY).await?,
        false => Vec::new(),
    };
    let (bindings, now) = (context.bindings, context.request.now);
    let drawn = entropy::draw_key(context.request.id)?;
    let (id, wanted) = call.read(&body, &drawn, now)?;
    let environment = bindings.key_env()?;
    let record = change_key::change(context, Subject::Own(&key), Change::Secret(wanted), access).await?;
    access.secret_id = record.secret_id(&key);
    let mint =
        || ApiKey::mint_named(environment, record.id, record.tier, now, drawn.secret, &bindings.signing).0;
    call.respond(&record, id, mint)
}
