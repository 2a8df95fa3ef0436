//! `POST /v1/keys/issue`.

use shared::{
    idempotency::IssueStep,
    key::KeyEntropy,
    keys_api::{IDEMPOTENCY_KEY, IdempotencyKey, IssueRequest, IssuedKey, MAX_BODY, NewKey},
    problem::{Code, Problem},
    response::Response,
    time::UnixMillis,
};

use crate::{admin, body, edge::Edge, entropy, key_changes, key_store, log, log::Line, meter};

pub(crate) async fn handle(edge: &Edge<'_>, line: &mut Line) -> Result<Response, Problem> {
    edge.address.check_confidential(edge.bindings.http_allowed)?;
    let body = body::read(edge.incoming, &edge.head, MAX_BODY).await?;
    let request = IssueRequest::read(&body)?;
    if let Some(secret) = request.admin_secret() {
        admin::check(edge, secret).await?;
    }
    let new = request.check(edge.incoming.now)?;
    match IdempotencyKey::read(edge.incoming.header(IDEMPOTENCY_KEY))? {
        Some(key) => issue_once(edge, new, key, line).await,
        None => {
            let issued = issue(edge, new, draw(edge)?, edge.incoming.now, line);
            store(edge, &issued).await?;
            Ok(issued.response())
        }
    }
}

/// Issues a key under an `Idempotency-Key`. Nothing is responded before it is on record that the key is stored, since a
/// retry must not write its first record over a later one.
async fn issue_once(
    edge: &Edge<'_>,
    new: NewKey,
    key: IdempotencyKey<'_>,
    line: &mut Line,
) -> Result<Response, Problem> {
    let (name, signing) = (key.name(), &edge.bindings.signing);
    let attempt = IdempotencyKey::attempt(&new, draw(edge)?.secret, signing);
    let turn = meter::issue(edge, &name, IssueStep::Begin(attempt)).await?;
    let (nonce, at, stores) = turn.resolve()?;
    let issued = issue(edge, new, key.entropy(&nonce, signing), at, line);
    if stores {
        if let Err(problem) = store(edge, &issued).await {
            // If this is lost too, a retry waits for the time that a request may take.
            let _released = meter::issue(edge, &name, IssueStep::Failed).await;
            return Err(problem);
        }
        meter::issue(edge, &name, IssueStep::Done).await?;
    }
    Ok(issued.response())
}

fn issue(edge: &Edge<'_>, new: NewKey, entropy: KeyEntropy, at: UnixMillis, line: &mut Line) -> IssuedKey {
    let issued = new.issue(edge.bindings.key_env, entropy, &edge.bindings.signing, at);
    line.key_id = Some(issued.record.id);
    line.tier = Some(issued.record.tier);
    issued
}

async fn store(edge: &Edge<'_>, issued: &IssuedKey) -> Result<(), Problem> {
    if issued.beyond_text {
        key_changes::note_issued(edge, &issued.record).await?;
    }
    key_store::store(&edge.bindings.keys, &issued.record, edge.incoming).await
}

/// Fresh randomness for a key.
///
/// # Errors
/// `internal`, when the runtime has none.
pub(super) fn draw(edge: &Edge<'_>) -> Result<KeyEntropy, Problem> {
    let drawn = entropy::random().and_then(|id| Ok(KeyEntropy { id, secret: entropy::random()? }));
    drawn.map_err(|fault| {
        log::cause("drawing a key", Some(edge.incoming), fault);
        Problem::new(Code::Internal, "the gateway has no randomness")
    })
}
