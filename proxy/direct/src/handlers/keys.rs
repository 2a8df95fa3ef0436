//! The keys API. Every proxy in direct mode reads a client's own key. Only the authority issues and
//! changes keys.

use std::sync::Arc;

use shared::caller;
use shared::idempotency::{IdempotencyKey, IssueStep};
use shared::key::{ApiKey, KeyEntropy, KeyEnv, KeyId, KeyRecord, SecretId, Subject, VerifiedKey};
use shared::keys_api::{
    IssueRequest, ListRequest, MAX_BODY, describe, describe_own, describe_rotated, describe_usage,
    includes_usage, key_unknown, read_change, read_grace, with_secrets,
};
use shared::meter::{Change, SecretChange};
use shared::problem::{Problem, codes};
use shared::quota::QuotaStatus;
use shared::request::{stalled, too_large, too_slow};
use shared::response::Response;
use shared::secret::AdminSecret;
use shared::tier::Tier;

use tokio::task::spawn_blocking;

use super::Context;
use crate::authenticate;
use crate::key_admin::Unsaved;
use config::Authority;
use transport::clock;
use transport::incoming::{BodyError, Incoming};

/// `GET /v1/keys/me`
pub(super) async fn read_own(
    context: &Context<'_>,
    quota: &mut Option<QuotaStatus>,
) -> Result<Response, Problem> {
    let key = own(context)?;
    let snapshot = context.direct.read(&key, context.moment()).await?;
    *quota = snapshot.response.quota;
    let usage = describe_own(&snapshot, &key, context.now).ok_or_else(unavailable)?;
    Ok(Response::json(usage.to_string()))
}

/// `GET /v1/usage`
pub(super) fn read_history(context: &Context<'_>) -> Result<Response, Problem> {
    own(context)?;
    let detail = "past hours are kept at the edge, not here; GET /v1/keys/me has the calls of today";
    Err(Problem::new(codes::ROUTE_UNKNOWN, detail))
}

/// `GET /v1/usage/calls`
pub(super) fn read_calls(context: &Context<'_>) -> Result<Response, Problem> {
    own(context)?;
    let detail = "calls are logged at the edge, not here; the access log of the proxy has a line for each";
    Err(Problem::new(codes::ROUTE_UNKNOWN, detail))
}

/// `GET /v1/keys/me/alerts`
pub(super) fn read_alerts(context: &Context<'_>) -> Result<Response, Problem> {
    own(context)?;
    let detail = "alerts are raised at the edge, not here; GET /v1/keys/me has the calls of today";
    Err(Problem::new(codes::ROUTE_UNKNOWN, detail))
}

/// `POST /v1/keys/me/rotate`
pub(super) async fn rotate_own(
    context: &Context<'_>,
    incoming: &mut Incoming<'_>,
) -> Result<Response, Problem> {
    let key = own(context)?;
    let (_, environment) = here(context)?;
    renew(context, Subject::Own(&key), key.issued_tier, environment, incoming).await
}

/// `DELETE /v1/keys/me`
pub(super) async fn revoke_own(context: &Context<'_>) -> Result<Response, Problem> {
    let key = own(context)?;
    here(context)?;
    change(context, Subject::Own(&key), Change::Revoke).await
}

/// `POST /v1/keys/issue`
pub(super) async fn issue(context: &Context<'_>, incoming: &mut Incoming<'_>) -> Result<Response, Problem> {
    let (admin, environment) = administered(context)?;
    context.scheme.check_confidential()?;
    let body = read_body(context, incoming).await?;
    let parameters = IssueRequest::read(&body, context.authorization)?;
    if let Some(secret) = parameters.admin_secret() {
        check(context, secret, admin)?;
    }
    let new = parameters.check(context.now)?;
    let signing = &context.config.signing;
    let Some(key) = IdempotencyKey::read(context.idempotency_key)? else {
        let issued = new.issue(environment, draw()?, signing, context.now);
        save(context, context.direct.add_unsaved(issued.record.clone())).await?;
        return Ok(issued.response());
    };
    let step = |step| context.direct.issue(key.name(), step, clock::now());
    let attempt = IdempotencyKey::attempt(&new, draw()?.secret, signing);
    let (nonce, at, stores) = step(IssueStep::Begin(attempt)).resolve()?;
    let issued = new.issue(environment, key.entropy(&nonce, signing), signing, at);
    if stores {
        let unsaved = context.direct.add_unsaved(issued.record.clone());
        // Before the save, so that one write makes the key and the end of its request durable.
        step(IssueStep::Done);
        if let Err(problem) = save(context, unsaved).await {
            // Left as done, a retry would get 201 for a key that no file has, as it once did.
            step(IssueStep::Failed);
            return Err(problem);
        }
    }
    Ok(issued.response())
}

/// `GET /v1/keys`
pub(super) fn list(context: &Context<'_>) -> Result<Response, Problem> {
    authorize(context)?;
    let signing = &context.config.signing;
    let request = ListRequest::read(context.query, signing)?;
    let page = request.page(context.direct.keys.records());
    Ok(Response::json(request.describe(&page.to_message(), signing)))
}

/// `GET /v1/keys/{id}`
pub(super) async fn read(context: &Context<'_>, id: &KeyId) -> Result<Response, Problem> {
    authorize(context)?;
    if includes_usage(context.query)? {
        let snapshot = context.direct.show(id, context.counted_at).await?.ok_or_else(key_unknown)?;
        let usage = describe_usage(&snapshot, context.now).zip(snapshot.record.as_ref());
        let (usage, record) = usage.ok_or_else(unavailable)?;
        return Ok(Response::json(with_secrets(usage, record).to_string()));
    }
    let record = context.direct.change(Subject::Named(id), Change::None, context.now)?;
    Ok(Response::json(with_secrets(describe(&record), &record).to_string()))
}

/// `PATCH /v1/keys/{id}`
pub(super) async fn patch(
    context: &Context<'_>,
    id: &KeyId,
    incoming: &mut Incoming<'_>,
) -> Result<Response, Problem> {
    authorize(context)?;
    let body = read_body(context, incoming).await?;
    change(context, Subject::Named(id), read_change(&body, context.now)?).await
}

/// `POST /v1/keys/{id}/revoke`
pub(super) async fn revoke(context: &Context<'_>, id: &KeyId) -> Result<Response, Problem> {
    authorize(context)?;
    change(context, Subject::Named(id), Change::Revoke).await
}

/// `POST /v1/keys/{id}/rotate`
pub(super) async fn rotate(
    context: &Context<'_>,
    id: &KeyId,
    incoming: &mut Incoming<'_>,
) -> Result<Response, Problem> {
    let environment = authorize(context)?;
    let tier = context.direct.change(Subject::Named(id), Change::None, context.now)?.tier;
    renew(context, Subject::Named(id), tier, environment, incoming).await
}

/// `DELETE /v1/keys/{id}/secrets/{secret_id}`
pub(super) async fn revoke_secret(
    context: &Context<'_>,
    id: &KeyId,
    secret: SecretId,
) -> Result<Response, Problem> {
    authorize(context)?;
    let wanted = Change::Secret(SecretChange::Revoke { id: secret });
    changed(context, Subject::Named(id), wanted).await?;
    Ok(Response::no_content())
}

pub(super) fn own(context: &Context<'_>) -> Result<VerifiedKey, Problem> {
    authenticate(context.head, context.scheme, &context.config.signing)
}

/// Replaces the secret of a key. The id stays.
async fn renew(
    context: &Context<'_>,
    subject: Subject<'_>,
    tier: Tier,
    environment: KeyEnv,
    incoming: &mut Incoming<'_>,
) -> Result<Response, Problem> {
    let body = read_body(context, incoming).await?;
    let grace_ms = read_grace(&body)?;
    let (signing, now) = (&context.config.signing, context.now);
    let (key, minted) = ApiKey::mint(environment, *subject.id(), tier, now, draw()?.secret, signing);
    let record = changed(context, subject, Change::Rotate { secret: minted.secret, grace_ms }).await?;
    Ok(Response::json(describe_rotated(&record, &key).to_string()))
}

async fn change(context: &Context<'_>, subject: Subject<'_>, change: Change) -> Result<Response, Problem> {
    let record = changed(context, subject, change).await?;
    Ok(Response::json(describe(&record).to_string()))
}

pub(super) async fn changed(
    context: &Context<'_>,
    subject: Subject<'_>,
    change: Change,
) -> Result<KeyRecord, Problem> {
    save(context, context.direct.change_unsaved(subject, change, clock::now())?).await
}

/// Saves the records, one of which has changed, and publishes that one. If they cannot be saved, the
/// change is taken back.
pub(super) async fn save(context: &Context<'_>, unsaved: Unsaved) -> Result<KeyRecord, Problem> {
    if let Err(problem) = store(context).await {
        // The caller gets a 503. With a full disk, the key was active all the same, and a rotation
        // locked its holder out.
        context.direct.undo(unsaved);
        return Err(problem);
    }
    context.direct.publish(&unsaved.record).await;
    Ok(unsaved.record)
}

/// Saves the records before the response that depends on them is sent.
async fn store(context: &Context<'_>) -> Result<(), Problem> {
    let direct = Arc::clone(context.direct);
    // A slow disk must not stop the calls that this thread serves.
    let stored = spawn_blocking(move || direct.save_records());
    if stored.await.unwrap_or(false) { Ok(()) } else { Err(unavailable()) }
}

/// Returns the admin secret and the environment of this authority.
///
/// # Errors
/// Returns a problem if keys are issued and changed at an edge.
pub(super) fn here<'a>(context: &'a Context<'_>) -> Result<(Option<&'a AdminSecret>, KeyEnv), Problem> {
    match &context.config.authority {
        Authority::Here { admin, environment } => Ok((admin.as_ref(), *environment)),
        Authority::Edge(feed) => Err(Problem::new(
            codes::ROUTE_UNKNOWN,
            format!("keys are issued and changed at {}, not here", feed.edge),
        )),
    }
}

fn administered<'a>(context: &'a Context<'_>) -> Result<(&'a AdminSecret, KeyEnv), Problem> {
    let (admin, environment) = here(context)?;
    let disabled = || {
        Problem::new(codes::ROUTE_UNKNOWN, "keys are not administered here: no admin secret is configured")
    };
    Ok((admin.ok_or_else(disabled)?, environment))
}

/// Checks the admin secret in the head of an administrative call.
fn authorize(context: &Context<'_>) -> Result<KeyEnv, Problem> {
    let (admin, environment) = administered(context)?;
    let secret = caller::bearer(context.authorization)?;
    context.scheme.check_confidential()?;
    check(context, secret, admin)?;
    Ok(environment)
}

fn check(context: &Context<'_>, secret: &str, admin: &AdminSecret) -> Result<(), Problem> {
    let address = context.address.as_deref();
    context.direct.attempts.check(secret, admin, address, &context.config.signing, context.counted_at)
}

/// Draws the entropy of a new key.
pub(super) fn draw() -> Result<KeyEntropy, Problem> {
    let mut entropy = KeyEntropy { id: [0; 12], secret: [0; 16] };
    let drawn = getrandom::fill(&mut entropy.id).and_then(|()| getrandom::fill(&mut entropy.secret));
    drawn.map_err(|error| {
        log::error!("random number generator failed: error=\"{error}\"");
        Problem::new(codes::INTERNAL, "the system random number generator failed")
    })?;
    Ok(entropy)
}

/// Reads the whole body, which is small.
pub(super) async fn read_body(
    context: &Context<'_>,
    incoming: &mut Incoming<'_>,
) -> Result<Vec<u8>, Problem> {
    let limit = u64::try_from(MAX_BODY).unwrap_or(u64::MAX);
    context.head.check_own_body(context.method, &[])?;
    context.head.check_length(limit)?;
    incoming.read_body(MAX_BODY).await.map_err(|error| match error {
        BodyError::TooLong => too_large(limit),
        BodyError::Stalled => stalled(),
        BodyError::TooSlow { min_rate } => too_slow(min_rate),
        BodyError::Malformed => {
            Problem::new(codes::BODY_MALFORMED, "the body ends too early or its framing is wrong")
        }
    })
}

fn unavailable() -> Problem {
    Problem::new(
        codes::KEY_STORE_UNAVAILABLE,
        "the key store is not available; this says nothing about your key",
    )
    .retry_after(1)
}
