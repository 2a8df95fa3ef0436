//! Named secrets of the caller's key: `/v1/keys/me/secrets` and below. The key's meter makes every
//! change, and decides whether the caller's secret may make it.

use portal::endpoint::Endpoint;
use shared::idempotency::{IDEMPOTENCY_KEY, IdempotencyKey, IssueStep};
use shared::key::{ApiKey, Subject, VerifiedKey};
use shared::keys_api::{MAX_BODY, NewSecret, created_once, describe_secrets};
use shared::meter::{Change, SecretChange};
use shared::problem::Problem;
use shared::response::Response;
use shared::route::{KeysEndpoint, SecretCall};

use super::change_key;
use crate::access_log::AccessRecord;
use crate::context::RequestContext;
use crate::gateway::authenticate::authenticate;
use crate::gateway::{key_record, meter_client};
use crate::runtime::{body, entropy};

/// `GET /v1/keys/me/secrets`
pub(crate) async fn list(
    context: &RequestContext<'_>,
    access: &mut AccessRecord,
) -> Result<Response, Problem> {
    let record = key_record::read(context, Endpoint::Keys(KeysEndpoint::ListSecrets), access).await?;
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
    let once = IdempotencyKey::read(
        context.request.header(IDEMPOTENCY_KEY).filter(|_| call.takes_idempotency_key()),
    )?;
    if let Some(once) = once {
        return create_once(context, &key, &body, once, access).await;
    }
    let (bindings, now) = (context.bindings, context.request.now);
    let drawn = entropy::draw_key(context.request.id)?;
    let (id, wanted) = call.read(&body, &drawn, now)?;
    // Before the change: a secret that cannot be shown would stay in the record for nobody.
    let environment = bindings.key_env()?;
    let record = change_key::change(context, Subject::Own(&key), Change::Secret(wanted), access).await?;
    access.record_secret(record.secret_id(&key));
    let mint =
        || ApiKey::mint_named(environment, record.id, record.tier, now, drawn.secret, &bindings.signing).0;
    call.respond(&record, id, mint)
}

/// Makes a secret under an `Idempotency-Key`, as a key is issued under one. Nothing is begun, and
/// nothing shown again, for a caller who may not make the secret.
async fn create_once(
    context: &RequestContext<'_>,
    key: &VerifiedKey,
    body: &[u8],
    once: IdempotencyKey<'_>,
    access: &mut AccessRecord,
) -> Result<Response, Problem> {
    let (signing, environment) = (&context.bindings.signing, context.bindings.key_env()?);
    let new = NewSecret::read(body, context.request.now)?;
    // Without it, a secret that may not make others would be shown one by a known
    // `Idempotency-Key`.
    let check = Change::Secret(new.check());
    let mut record = change_key::change(context, Subject::Own(key), check, access).await?;
    access.record_secret(record.secret_id(key));
    let name = once.name_of_secret(&key.id);
    let drawn = entropy::draw_key(context.request.id)?.secret;
    let attempt = IdempotencyKey::attempt_secret(&new, drawn, signing);
    let turn = meter_client::issue(context, &name, IssueStep::Begin(attempt)).await?;
    let (nonce, at, stores) = turn.resolve()?;
    let drawn = once.entropy(&nonce, signing);
    let secret = new.make(&drawn, at);
    if stores {
        let add = Change::Secret(SecretChange::Add(secret.clone()));
        match change_key::change(context, Subject::Own(key), add, access).await {
            Ok(added) => record = added,
            Err(problem) => {
                // If this fails too, a retry must wait until this request counts as dead.
                let _recorded = meter_client::issue(context, &name, IssueStep::Failed).await;
                return Err(problem);
            }
        }
        meter_client::issue(context, &name, IssueStep::Done).await?;
    }
    let mint = || ApiKey::mint_named(environment, record.id, record.tier, at, drawn.secret, signing).0;
    created_once(&record, &secret, mint)
}
