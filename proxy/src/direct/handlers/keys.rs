//! The keys API. Reading one's own key is everywhere; the rest is where this proxy is the one that issues keys.

use std::sync::Arc;

use shared::{
    caller,
    key::{
        ApiKey, IdempotencyKey, IssueRequest, IssueStep, KeyEntropy, KeyEnv, KeyId, KeyRecord, ListRequest,
        MAX_BODY, VerifiedKey, describe, describe_page, describe_rotated, describe_usage, includes_usage,
        key_unknown, read_change, read_grace,
    },
    meter::Change,
    problem::{Code, Problem},
    request::{stalled, too_large, too_slow},
    secret::AdminSecret,
    tier::Tier,
    written::Written,
};

use super::Asked;
use crate::{
    clock,
    config::Authority,
    ctx::RequestCtx,
    direct::{authenticate, authority::Subject},
    relay::{BodyFault, Incoming},
};

/// `GET /v1/keys/me`
pub(super) fn read_own(asked: &Asked<'_>, ctx: &mut RequestCtx) -> Result<Written, Problem> {
    let key = own(asked)?;
    asked.direct.check_known()?;
    let reading = asked.direct.ledger.read(&key, asked.now)?;
    ctx.standing = reading.answer.standing;
    let usage = describe_usage(&reading, asked.now).ok_or_else(unavailable)?;
    Ok(Written::json(usage.to_string()))
}

/// `POST /v1/keys/me/rotate`
pub(super) async fn rotate_own(
    asked: &Asked<'_>,
    incoming: &mut Incoming<'_>,
    ctx: &mut RequestCtx,
) -> Result<Written, Problem> {
    let key = own(asked)?;
    let (_, environment) = here(asked)?;
    renew(asked, Subject::Own(&key), key.issued_tier, environment, incoming, ctx).await
}

/// `DELETE /v1/keys/me`
pub(super) async fn revoke_own(asked: &Asked<'_>) -> Result<Written, Problem> {
    let key = own(asked)?;
    here(asked)?;
    change(asked, Subject::Own(&key), Change::Revoke).await
}

/// `POST /v1/keys/issue`
pub(super) async fn issue(
    asked: &Asked<'_>,
    incoming: &mut Incoming<'_>,
    ctx: &mut RequestCtx,
) -> Result<Written, Problem> {
    let (admin, environment) = administered(asked)?;
    asked.way.check_confidential()?;
    let body = read_body(asked, incoming, ctx).await?;
    let request = IssueRequest::read(&body)?;
    if let Some(secret) = request.admin_secret() {
        check(asked, secret, admin)?;
    }
    let new = request.check(asked.now)?;
    let signing = &asked.config.signing;
    let Some(key) = IdempotencyKey::read(asked.idempotency_key)? else {
        let issued = new.issue(environment, draw()?, signing, asked.now);
        asked.direct.ledger.learn(issued.record.clone());
        store(asked).await?;
        return Ok(issued.answer());
    };
    let step = |step| asked.direct.issue(key.name(), step, clock::now());
    let attempt = IdempotencyKey::attempt(&new, draw()?.secret, signing);
    let (nonce, at, stores) = step(IssueStep::Begin(attempt)).resolve()?;
    let issued = new.issue(environment, key.entropy(&nonce, signing), signing, at);
    if stores {
        asked.direct.ledger.learn(issued.record.clone());
        step(IssueStep::Done);
        if let Err(problem) = store(asked).await {
            step(IssueStep::Failed);
            return Err(problem);
        }
    }
    Ok(issued.answer())
}

/// `GET /v1/keys`
pub(super) fn list(asked: &Asked<'_>) -> Result<Written, Problem> {
    authorize(asked)?;
    let signing = &asked.config.signing;
    let (records, next) = asked.direct.list(&ListRequest::read(asked.query, signing)?);
    Ok(Written::json(describe_page(&records, next.as_ref(), signing).to_string()))
}

/// `GET /v1/keys/{id}`
pub(super) fn read(asked: &Asked<'_>, id: &KeyId) -> Result<Written, Problem> {
    authorize(asked)?;
    if includes_usage(asked.query)? {
        let reading = asked.direct.ledger.show(id, asked.now).ok_or_else(key_unknown)?;
        let usage = describe_usage(&reading, asked.now).ok_or_else(unavailable)?;
        return Ok(Written::json(usage.to_string()));
    }
    let record = asked.direct.change(Subject::Named(id), Change::None, asked.now)?;
    Ok(Written::json(describe(&record).to_string()))
}

/// `PATCH /v1/keys/{id}`
pub(super) async fn patch(
    asked: &Asked<'_>,
    id: &KeyId,
    incoming: &mut Incoming<'_>,
    ctx: &mut RequestCtx,
) -> Result<Written, Problem> {
    authorize(asked)?;
    let body = read_body(asked, incoming, ctx).await?;
    change(asked, Subject::Named(id), read_change(&body, asked.now)?).await
}

/// `POST /v1/keys/{id}/revoke`
pub(super) async fn revoke(asked: &Asked<'_>, id: &KeyId) -> Result<Written, Problem> {
    authorize(asked)?;
    change(asked, Subject::Named(id), Change::Revoke).await
}

/// `POST /v1/keys/{id}/rotate`
pub(super) async fn rotate(
    asked: &Asked<'_>,
    id: &KeyId,
    incoming: &mut Incoming<'_>,
    ctx: &mut RequestCtx,
) -> Result<Written, Problem> {
    let environment = authorize(asked)?;
    let tier = asked.direct.change(Subject::Named(id), Change::None, asked.now)?.tier;
    renew(asked, Subject::Named(id), tier, environment, incoming, ctx).await
}

fn own(asked: &Asked<'_>) -> Result<VerifiedKey, Problem> {
    authenticate(&asked.head, asked.way, &asked.config.signing)
}

/// Puts a new secret in the place of the old one, under the same id.
async fn renew(
    asked: &Asked<'_>,
    subject: Subject<'_>,
    tier: Tier,
    environment: KeyEnv,
    incoming: &mut Incoming<'_>,
    ctx: &mut RequestCtx,
) -> Result<Written, Problem> {
    let body = read_body(asked, incoming, ctx).await?;
    let grace_ms = read_grace(&body)?;
    let (signing, now) = (&asked.config.signing, asked.now);
    let (key, minted) = ApiKey::mint(environment, *subject.id(), tier, now, draw()?.secret, signing);
    let record = changed(asked, subject, Change::Rotate { secret: minted.secret, grace_ms }).await?;
    Ok(Written::json(describe_rotated(&record, &key).to_string()))
}

async fn change(asked: &Asked<'_>, subject: Subject<'_>, change: Change) -> Result<Written, Problem> {
    let record = changed(asked, subject, change).await?;
    Ok(Written::json(describe(&record).to_string()))
}

async fn changed(asked: &Asked<'_>, subject: Subject<'_>, change: Change) -> Result<KeyRecord, Problem> {
    let record = asked.direct.change(subject, change, clock::now())?;
    store(asked).await?;
    Ok(record)
}

/// Writes the records down before the answer that depends on them leaves.
async fn store(asked: &Asked<'_>) -> Result<(), Problem> {
    let state = Arc::clone(asked.state);
    let stored =
        tokio::task::spawn_blocking(move || state.direct.as_ref().is_some_and(super::Direct::save_records));
    if stored.await.unwrap_or(false) { Ok(()) } else { Err(unavailable()) }
}

/// Whether keys are changed here; if not, who changes them is told.
fn here<'a>(asked: &'a Asked<'_>) -> Result<(Option<&'a AdminSecret>, KeyEnv), Problem> {
    match &asked.config.authority {
        Authority::Here { admin, environment } => Ok((admin.as_ref(), *environment)),
        Authority::Edge(feed) => Err(Problem::new(
            Code::RouteUnknown,
            format!("keys are issued and changed at {}, not here", feed.edge),
        )),
    }
}

fn administered<'a>(asked: &'a Asked<'_>) -> Result<(&'a AdminSecret, KeyEnv), Problem> {
    let (admin, environment) = here(asked)?;
    let nobody =
        || Problem::new(Code::RouteUnknown, "nobody administers keys here: there is no admin secret");
    Ok((admin.ok_or_else(nobody)?, environment))
}

/// Lets an administrative call pass that carries the admin secret in its head.
fn authorize(asked: &Asked<'_>) -> Result<KeyEnv, Problem> {
    let (admin, environment) = administered(asked)?;
    let secret = caller::bearer(asked.authorization)?;
    asked.way.check_confidential()?;
    check(asked, secret, admin)?;
    Ok(environment)
}

fn check(asked: &Asked<'_>, secret: &str, admin: &AdminSecret) -> Result<(), Problem> {
    let address = asked.address.as_deref();
    asked.direct.attempts.check(secret, admin, address, &asked.config.signing, asked.now)
}

/// Fresh randomness for a key.
fn draw() -> Result<KeyEntropy, Problem> {
    let mut entropy = KeyEntropy { id: [0; 12], secret: [0; 16] };
    let drawn = getrandom::fill(&mut entropy.id).and_then(|()| getrandom::fill(&mut entropy.secret));
    drawn.map_err(|error| {
        log::error!("a key cannot be drawn: {error}");
        Problem::new(Code::Internal, "the gateway has no randomness")
    })?;
    Ok(entropy)
}

/// The whole body, which is small.
async fn read_body(
    asked: &Asked<'_>,
    incoming: &mut Incoming<'_>,
    ctx: &mut RequestCtx,
) -> Result<Vec<u8>, Problem> {
    let limit = u64::try_from(MAX_BODY).unwrap_or(u64::MAX);
    asked.head.check_media_type(&[])?;
    asked.head.check_length(limit)?;
    if std::mem::take(&mut ctx.expects_continue) {
        incoming.tell_to_continue().await;
    }
    incoming.whole(MAX_BODY).await.map_err(|fault| match fault {
        BodyFault::TooLong => too_large(limit),
        BodyFault::Stalled => stalled(),
        BodyFault::TooSlow(least) => too_slow(least),
        BodyFault::Broken => {
            Problem::new(Code::BodyMalformed, "the body ends too early or its framing is wrong")
        }
    })
}

fn unavailable() -> Problem {
    Problem::new(
        Code::KeyStoreUnavailable,
        "the store of keys does not answer; this says nothing about your key",
    )
    .retry_after(1)
}
