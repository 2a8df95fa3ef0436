//! Named secrets of the caller's key, on a proxy that is the authority over keys.

use shared::idempotency::{IdempotencyKey, IssueStep};
use shared::key::{ApiKey, KeyEnv, KeyRecord, Scope, Subject, VerifiedKey};
use shared::keys_api::{NewSecret, created_once, describe_secrets};
use shared::meter::{Change, SecretChange};
use shared::problem::Problem;
use shared::response::Response;
use shared::route::SecretCall;

use super::Context;
use super::keys::{changed, draw, here, own, read_body, save};
use transport::clock;
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
    let once = IdempotencyKey::read(context.idempotency_key.filter(|_| call.takes_idempotency_key()))?;
    if let Some(once) = once {
        return create_once(context, &key, &body, once, environment).await;
    }
    let (drawn, now) = (draw()?, context.now);
    let (id, wanted) = call.read(&body, &drawn, now)?;
    let record = changed(context, Subject::Own(&key), Change::Secret(wanted)).await?;
    let signing = &context.config.signing;
    let mint = || ApiKey::mint_named(environment, record.id, record.tier, now, drawn.secret, signing).0;
    call.respond(&record, id, mint)
}

/// Makes a secret under an `Idempotency-Key`. Nothing is begun, and nothing shown again, for a caller who
/// may not make the secret.
async fn create_once(
    context: &Context<'_>,
    key: &VerifiedKey,
    body: &[u8],
    once: IdempotencyKey<'_>,
    environment: KeyEnv,
) -> Result<Response, Problem> {
    let (direct, signing) = (context.direct, &context.config.signing);
    let new = NewSecret::read(body, context.now)?;
    let mut record = direct.change(Subject::Own(key), Change::Secret(new.check()), context.now)?;
    let step = |step| direct.issue(once.name_of_secret(&key.id), step, clock::now());
    let attempt = IdempotencyKey::attempt_secret(&new, draw()?.secret, signing);
    let (nonce, at, stores) = step(IssueStep::Begin(attempt)).resolve()?;
    let drawn = once.entropy(&nonce, signing);
    let secret = new.make(&drawn, at);
    if stores {
        let add = Change::Secret(SecretChange::Add(secret.clone()));
        let saved = match direct.change_unsaved(Subject::Own(key), add, context.now) {
            Ok(unsaved) => {
                // Before the record is saved, so that both are.
                step(IssueStep::Done);
                save(context, unsaved).await
            }
            Err(problem) => Err(problem),
        };
        match saved {
            Ok(added) => record = added,
            Err(problem) => {
                // Left as done, a retry would get a secret that no file has.
                step(IssueStep::Failed);
                return Err(problem);
            }
        }
    }
    let mint = || ApiKey::mint_named(environment, record.id, record.tier, at, drawn.secret, signing).0;
    created_once(&record, &secret, mint)
}
