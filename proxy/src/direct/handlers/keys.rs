//! The keys API. Every proxy in direct mode reads a client's own key. Only the authority issues and
//! changes keys.

use std::sync::Arc;

use shared::{
    caller,
    idempotency::IssueStep,
    key::{ApiKey, KeyEntropy, KeyEnv, KeyId, KeyRecord, Subject, VerifiedKey},
    keys_api::{
        IdempotencyKey, IssueRequest, ListRequest, MAX_BODY, describe, describe_page, describe_rotated,
        describe_usage, includes_usage, key_unknown, read_change, read_grace,
    },
    meter::Change,
    problem::{Code, Problem},
    request::{stalled, too_large, too_slow},
    response::Response,
    secret::AdminSecret,
    tier::Tier,
};

use super::OwnRequest;
use crate::{call::Record, config::Authority, direct::authenticate};
use transport::{
    clock,
    relay::{BodyFault, Incoming},
};

/// `GET /v1/keys/me`
pub(super) fn read_own(request: &OwnRequest<'_>, record: &mut Record) -> Result<Response, Problem> {
    let key = own(request)?;
    request.direct.check_revocations_known()?;
    let reading = request.direct.keys.read(&key, request.now)?;
    record.log.standing = reading.response.quota;
    let usage = describe_usage(&reading, request.now).ok_or_else(unavailable)?;
    Ok(Response::json(usage.to_string()))
}

/// `POST /v1/keys/me/rotate`
pub(super) async fn rotate_own(
    request: &OwnRequest<'_>,
    incoming: &mut Incoming<'_>,
) -> Result<Response, Problem> {
    let key = own(request)?;
    let (_, environment) = here(request)?;
    renew(request, Subject::Own(&key), key.issued_tier, environment, incoming).await
}

/// `DELETE /v1/keys/me`
pub(super) async fn revoke_own(request: &OwnRequest<'_>) -> Result<Response, Problem> {
    let key = own(request)?;
    here(request)?;
    change(request, Subject::Own(&key), Change::Revoke).await
}

/// `POST /v1/keys/issue`
pub(super) async fn issue(
    request: &OwnRequest<'_>,
    incoming: &mut Incoming<'_>,
) -> Result<Response, Problem> {
    let (admin, environment) = administered(request)?;
    request.scheme.check_confidential()?;
    let body = read_body(request, incoming).await?;
    let parameters = IssueRequest::read(&body)?;
    if let Some(secret) = parameters.admin_secret() {
        check(request, secret, admin)?;
    }
    let new = parameters.check(request.now)?;
    let signing = &request.config.signing;
    let Some(key) = IdempotencyKey::read(request.idempotency_key)? else {
        let issued = new.issue(environment, draw()?, signing, request.now);
        request.direct.keys.merge_record(issued.record.clone());
        store(request).await?;
        return Ok(issued.response());
    };
    let step = |step| request.direct.issue(key.name(), step, clock::now());
    let attempt = IdempotencyKey::attempt(&new, draw()?.secret, signing);
    let (nonce, at, stores) = step(IssueStep::Begin(attempt)).resolve()?;
    let issued = new.issue(environment, key.entropy(&nonce, signing), signing, at);
    if stores {
        request.direct.keys.merge_record(issued.record.clone());
        step(IssueStep::Done);
        if let Err(problem) = store(request).await {
            step(IssueStep::Failed);
            return Err(problem);
        }
    }
    Ok(issued.response())
}

/// `GET /v1/keys`
pub(super) fn list(request: &OwnRequest<'_>) -> Result<Response, Problem> {
    authorize(request)?;
    let signing = &request.config.signing;
    let (records, next) = request.direct.list(&ListRequest::read(request.query, signing)?);
    Ok(Response::json(describe_page(&records, next.as_ref(), signing).to_string()))
}

/// `GET /v1/keys/{id}`
pub(super) fn read(request: &OwnRequest<'_>, id: &KeyId) -> Result<Response, Problem> {
    authorize(request)?;
    if includes_usage(request.query)? {
        let reading = request.direct.keys.show(id, request.now).ok_or_else(key_unknown)?;
        let usage = describe_usage(&reading, request.now).ok_or_else(unavailable)?;
        return Ok(Response::json(usage.to_string()));
    }
    let record = request.direct.change(Subject::Named(id), Change::None, request.now)?;
    Ok(Response::json(describe(&record).to_string()))
}

/// `PATCH /v1/keys/{id}`
pub(super) async fn patch(
    request: &OwnRequest<'_>,
    id: &KeyId,
    incoming: &mut Incoming<'_>,
) -> Result<Response, Problem> {
    authorize(request)?;
    let body = read_body(request, incoming).await?;
    change(request, Subject::Named(id), read_change(&body, request.now)?).await
}

/// `POST /v1/keys/{id}/revoke`
pub(super) async fn revoke(request: &OwnRequest<'_>, id: &KeyId) -> Result<Response, Problem> {
    authorize(request)?;
    change(request, Subject::Named(id), Change::Revoke).await
}

/// `POST /v1/keys/{id}/rotate`
pub(super) async fn rotate(
    request: &OwnRequest<'_>,
    id: &KeyId,
    incoming: &mut Incoming<'_>,
) -> Result<Response, Problem> {
    let environment = authorize(request)?;
    let tier = request.direct.change(Subject::Named(id), Change::None, request.now)?.tier;
    renew(request, Subject::Named(id), tier, environment, incoming).await
}

fn own(request: &OwnRequest<'_>) -> Result<VerifiedKey, Problem> {
    authenticate(request.head, request.scheme, &request.config.signing)
}

/// Replaces the secret of a key. The id stays.
async fn renew(
    request: &OwnRequest<'_>,
    subject: Subject<'_>,
    tier: Tier,
    environment: KeyEnv,
    incoming: &mut Incoming<'_>,
) -> Result<Response, Problem> {
    let body = read_body(request, incoming).await?;
    let grace_ms = read_grace(&body)?;
    let (signing, now) = (&request.config.signing, request.now);
    let (key, minted) = ApiKey::mint(environment, *subject.id(), tier, now, draw()?.secret, signing);
    let record = changed(request, subject, Change::Rotate { secret: minted.secret, grace_ms }).await?;
    Ok(Response::json(describe_rotated(&record, &key).to_string()))
}

async fn change(request: &OwnRequest<'_>, subject: Subject<'_>, change: Change) -> Result<Response, Problem> {
    let record = changed(request, subject, change).await?;
    Ok(Response::json(describe(&record).to_string()))
}

async fn changed(
    request: &OwnRequest<'_>,
    subject: Subject<'_>,
    change: Change,
) -> Result<KeyRecord, Problem> {
    let record = request.direct.change(subject, change, clock::now())?;
    store(request).await?;
    Ok(record)
}

/// Saves the records before the response that depends on them is sent.
async fn store(request: &OwnRequest<'_>) -> Result<(), Problem> {
    let state = Arc::clone(request.state);
    let stored =
        tokio::task::spawn_blocking(move || state.direct.as_ref().is_some_and(super::Direct::save_records));
    if stored.await.unwrap_or(false) { Ok(()) } else { Err(unavailable()) }
}

/// Returns the admin secret and the environment of this authority. Refuses if keys are changed at
/// an edge.
fn here<'a>(request: &'a OwnRequest<'_>) -> Result<(Option<&'a AdminSecret>, KeyEnv), Problem> {
    match &request.config.authority {
        Authority::Here { admin, environment } => Ok((admin.as_ref(), *environment)),
        Authority::Edge(feed) => Err(Problem::new(
            Code::RouteUnknown,
            format!("keys are issued and changed at {}, not here", feed.edge),
        )),
    }
}

fn administered<'a>(request: &'a OwnRequest<'_>) -> Result<(&'a AdminSecret, KeyEnv), Problem> {
    let (admin, environment) = here(request)?;
    let disabled =
        || Problem::new(Code::RouteUnknown, "nobody administers keys here: there is no admin secret");
    Ok((admin.ok_or_else(disabled)?, environment))
}

/// Checks the admin secret in the head of an administrative call.
fn authorize(request: &OwnRequest<'_>) -> Result<KeyEnv, Problem> {
    let (admin, environment) = administered(request)?;
    let secret = caller::bearer(request.authorization)?;
    request.scheme.check_confidential()?;
    check(request, secret, admin)?;
    Ok(environment)
}

fn check(request: &OwnRequest<'_>, secret: &str, admin: &AdminSecret) -> Result<(), Problem> {
    let address = request.address.as_deref();
    request.direct.attempts.check(secret, admin, address, &request.config.signing, request.now)
}

/// Draws the entropy of a new key.
fn draw() -> Result<KeyEntropy, Problem> {
    let mut entropy = KeyEntropy { id: [0; 12], secret: [0; 16] };
    let drawn = getrandom::fill(&mut entropy.id).and_then(|()| getrandom::fill(&mut entropy.secret));
    drawn.map_err(|error| {
        log::error!("random number generator failed: error=\"{error}\"");
        Problem::new(Code::Internal, "the system random number generator failed")
    })?;
    Ok(entropy)
}

/// Reads the whole body, which is small.
async fn read_body(request: &OwnRequest<'_>, incoming: &mut Incoming<'_>) -> Result<Vec<u8>, Problem> {
    let limit = u64::try_from(MAX_BODY).unwrap_or(u64::MAX);
    request.head.check_media_type(&[])?;
    request.head.check_length(limit)?;
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
