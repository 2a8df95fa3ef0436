//! `POST /v1/keys/issue`.

use shared::{
    idempotency::IssueStep,
    key::KeyEntropy,
    keys_api::{IDEMPOTENCY_KEY, IdempotencyKey, IssueRequest, IssuedKey, MAX_BODY, NewKey},
    problem::{Code, Problem},
    response::Response,
    time::UnixMillis,
};

use crate::{
    admin, body, context::RequestContext, entropy, key_change_feed, key_store, log, log::Line, meter_client,
};

pub(crate) async fn handle(context: &RequestContext<'_>, line: &mut Line) -> Result<Response, Problem> {
    context.address.check_confidential(context.bindings.http_allowed)?;
    let body = body::read(context.incoming, &context.head, MAX_BODY).await?;
    let request = IssueRequest::read(&body)?;
    if let Some(secret) = request.admin_secret() {
        admin::check(context, secret).await?;
    }
    let new = request.check(context.incoming.now)?;
    match IdempotencyKey::read(context.incoming.header(IDEMPOTENCY_KEY))? {
        Some(key) => issue_once(context, new, key, line).await,
        None => {
            let issued = issue(context, new, draw(context)?, context.incoming.now, line);
            store(context, &issued).await?;
            Ok(issued.response())
        }
    }
}

/// Issues a key under an `Idempotency-Key`. Nothing is responded before it is on record that the key is stored, since a
/// retry must not write its first record over a later one.
async fn issue_once(
    context: &RequestContext<'_>,
    new: NewKey,
    key: IdempotencyKey<'_>,
    line: &mut Line,
) -> Result<Response, Problem> {
    let (name, signing) = (key.name(), &context.bindings.signing);
    let attempt = IdempotencyKey::attempt(&new, draw(context)?.secret, signing);
    let turn = meter_client::issue(context, &name, IssueStep::Begin(attempt)).await?;
    let (nonce, at, stores) = turn.resolve()?;
    let issued = issue(context, new, key.entropy(&nonce, signing), at, line);
    if stores {
        if let Err(problem) = store(context, &issued).await {
            // If this is lost too, a retry waits for the time that a request may take.
            let _released = meter_client::issue(context, &name, IssueStep::Failed).await;
            return Err(problem);
        }
        meter_client::issue(context, &name, IssueStep::Done).await?;
    }
    Ok(issued.response())
}

fn issue(
    context: &RequestContext<'_>,
    new: NewKey,
    entropy: KeyEntropy,
    at: UnixMillis,
    line: &mut Line,
) -> IssuedKey {
    let issued = new.issue(context.bindings.key_env, entropy, &context.bindings.signing, at);
    line.key_id = Some(issued.record.id);
    line.tier = Some(issued.record.tier);
    issued
}

async fn store(context: &RequestContext<'_>, issued: &IssuedKey) -> Result<(), Problem> {
    if issued.beyond_text {
        key_change_feed::note_issued(context, &issued.record).await?;
    }
    key_store::store(&context.bindings.keys, &issued.record, context.incoming).await
}

/// Fresh randomness for a key.
///
/// # Errors
/// `internal`, when the runtime has none.
pub(super) fn draw(context: &RequestContext<'_>) -> Result<KeyEntropy, Problem> {
    let drawn = entropy::random().and_then(|id| Ok(KeyEntropy { id, secret: entropy::random()? }));
    drawn.map_err(|fault| {
        log::cause("drawing a key", Some(context.incoming), fault);
        Problem::new(Code::Internal, "the gateway has no randomness")
    })
}
