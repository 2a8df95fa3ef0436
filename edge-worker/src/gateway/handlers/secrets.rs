//! Named secrets of the caller's key: `/v1/keys/me/secrets` and below. The key's meter makes every
//! change, and decides whether the caller's secret may make it.

use portal::endpoint::Endpoint;
use shared::idempotency::{IDEMPOTENCY_KEY, IdempotencyKey, IssueStep};
use shared::key::{ApiKey, Subject, VerifiedKey};
use shared::keys_api::{MAX_BODY, NewSecret, created_once, describe_secrets};
use shared::meter::{Change, SecretChange};
use shared::response::Response;
use shared::route::{KeysEndpoint, SecretCall};

use super::change_key;
use crate::caller::{Answer, Caller, Found};
use crate::context::RequestContext;
use crate::gateway::authenticate::authenticate;
use crate::gateway::{key_record, meter_client};
use crate::runtime::{body, entropy};

/// `GET /v1/keys/me/secrets`
pub(crate) async fn list(context: &RequestContext<'_>) -> Answer {
    let found = key_record::read(context, Endpoint::Keys(KeysEndpoint::ListSecrets)).await?;
    Ok(found.map(|record| Response::json(describe_secrets(&record).to_string())))
}

/// Makes, changes, rotates or revokes a secret.
pub(crate) async fn change(context: &RequestContext<'_>, call: SecretCall) -> Answer {
    let key = authenticate(context)?;
    let caller = Caller::of(&key);
    let body = match call.has_body() {
        true => caller.check(body::read(context.request, &context.head, MAX_BODY).await)?,
        false => Vec::new(),
    };
    let once = context.request.header(IDEMPOTENCY_KEY).filter(|_| call.takes_idempotency_key());
    if let Some(once) = caller.check(IdempotencyKey::read(once))? {
        return create_once(context, &key, &body, once).await;
    }
    let (bindings, now) = (context.bindings, context.request.now);
    let drawn = caller.check(entropy::draw_key(context.request.id))?;
    let (id, wanted) = caller.check(call.read(&body, &drawn, now))?;
    // Before the change: a secret that cannot be shown would stay in the record for nobody.
    let environment = caller.check(bindings.key_env())?;
    let found = change_key::change(context, Subject::Own(&key), Change::Secret(wanted)).await?;
    let record = found.value;
    let mint =
        || ApiKey::mint_named(environment, record.id, record.tier, now, drawn.secret, &bindings.signing).0;
    found.caller.with_record(&record, &key).answer(call.respond(&record, id, mint))
}

/// Makes a secret under an `Idempotency-Key`, as a key is issued under one. Nothing is begun, and
/// nothing shown again, for a caller who may not make the secret.
async fn create_once(
    context: &RequestContext<'_>,
    key: &VerifiedKey,
    body: &[u8],
    once: IdempotencyKey<'_>,
) -> Answer {
    let (caller, signing) = (Caller::of(key), &context.bindings.signing);
    let environment = caller.check(context.bindings.key_env())?;
    let new = caller.check(NewSecret::read(body, context.request.now))?;
    // Without it, a secret that may not make others would be shown one by a known
    // `Idempotency-Key`.
    let check = Change::Secret(new.check());
    let Found { value: mut record, caller } = change_key::change(context, Subject::Own(key), check).await?;
    let caller = caller.with_record(&record, key);
    let name = once.name_of_secret(&key.id);
    let drawn = caller.check(entropy::draw_key(context.request.id))?.secret;
    let attempt = IdempotencyKey::attempt_secret(&new, drawn, signing);
    let turn = caller.check(meter_client::issue(context, &name, IssueStep::Begin(attempt)).await)?;
    let (nonce, at, stores) = caller.check(turn.resolve())?;
    let drawn = once.entropy(&nonce, signing);
    let secret = new.make(&drawn, at);
    if stores {
        let add = Change::Secret(SecretChange::Add(secret.clone()));
        match change_key::change(context, Subject::Own(key), add).await {
            Ok(added) => record = added.value,
            Err(refused) => {
                // If this fails too, a retry must wait until this request counts as dead.
                let _recorded = meter_client::issue(context, &name, IssueStep::Failed).await;
                return caller.answer(Err(refused.value));
            }
        }
        caller.check(meter_client::issue(context, &name, IssueStep::Done).await)?;
    }
    let mint = || ApiKey::mint_named(environment, record.id, record.tier, at, drawn.secret, signing).0;
    caller.answer(created_once(&record, &secret, mint))
}
