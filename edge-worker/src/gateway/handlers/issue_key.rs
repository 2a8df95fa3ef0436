//! `POST /v1/keys/issue`.

use shared::idempotency::{IDEMPOTENCY_KEY, IdempotencyKey, IssueStep};
use shared::key::KeyEntropy;
use shared::keys_api::{IssueRequest, IssuedKey, MAX_BODY, NewKey};
use shared::problem::Problem;
use shared::time::UnixMillis;

use crate::caller::{Answer, Caller};
use crate::context::RequestContext;
use crate::gateway::{authenticate, key_change_feed, key_directory, key_store, meter_client};
use crate::runtime::{body, entropy};

/// Issues a key for an administrator, whose secret is in the body or in the header `authorization`.
pub(crate) async fn handle(context: &RequestContext<'_>) -> Answer {
    context.address.check_confidential(context.bindings.http_allowed)?;
    let body = body::read(context.request, &context.head, MAX_BODY).await?;
    let request = IssueRequest::read(&body, context.request.header("authorization"))?;
    if let Some(secret) = request.admin_secret() {
        authenticate::check_admin(context, secret).await?;
    }
    // Before anything is begun that a retry would have to wait for.
    context.bindings.key_env()?;
    let new = request.check(context.request.now)?;
    match IdempotencyKey::read(context.request.header(IDEMPOTENCY_KEY))? {
        Some(key) => issue_once(context, new, key).await,
        None => {
            let drawn = entropy::draw_key(context.request.id)?;
            let issued = issue(context, new, drawn, context.request.now)?;
            let stored = store(context, &issued).await;
            caller(&issued).answer(stored.map(|()| issued.response()))
        }
    }
}

/// Issues a key under an `Idempotency-Key`. Responds only after the meter has recorded that the key
/// is stored, because a retry must not overwrite a later record with the first one.
async fn issue_once(context: &RequestContext<'_>, new: NewKey, key: IdempotencyKey<'_>) -> Answer {
    let (name, signing) = (key.name(), &context.bindings.signing);
    let attempt = IdempotencyKey::attempt(&new, entropy::draw_key(context.request.id)?.secret, signing);
    let turn = meter_client::issue(context, &name, IssueStep::Begin(attempt)).await?;
    let (nonce, at, stores) = turn.resolve()?;
    let issued = issue(context, new, key.entropy(&nonce, signing), at)?;
    let caller = caller(&issued);
    if stores {
        if let Err(problem) = store(context, &issued).await {
            // If this fails too, a retry must wait until this request counts as dead.
            let _recorded = meter_client::issue(context, &name, IssueStep::Failed).await;
            return caller.answer(Err(problem));
        }
        caller.check(meter_client::issue(context, &name, IssueStep::Done).await)?;
    }
    caller.answer(Ok(issued.response()))
}

fn issue(
    context: &RequestContext<'_>,
    new: NewKey,
    entropy: KeyEntropy,
    at: UnixMillis,
) -> Result<IssuedKey, Problem> {
    Ok(new.issue(context.bindings.key_env()?, entropy, &context.bindings.signing, at))
}

fn caller(issued: &IssuedKey) -> Caller {
    Caller::about(issued.record.id).with_tier(Some(&issued.record))
}

async fn store(context: &RequestContext<'_>, issued: &IssuedKey) -> Result<(), Problem> {
    // First: once KV has the key it may be used, and an origin in direct mode must know its limits
    // by then.
    if issued.beyond_text {
        key_change_feed::append_issued(context, &issued.record).await?;
    }
    key_store::store(&context.bindings.keys, &issued.record, context.request.id).await?;
    // Last, and without an error: the key is issued, and the daily copy brings what is missing
    // here.
    key_directory::enter_issued(context, &issued.record).await;
    Ok(())
}
