//! Changes that a meter makes: of its key's record, of the sessions of the console, and of the progress of issuing a
//! key under an `Idempotency-Key`.

use std::cell::RefCell;

use shared::idempotency::{IssueStep, IssueTurn};
use shared::key::{FreeCall, FreeCallGuard, KeyId, KeyRecord, Subject};
use shared::keys_api::changed;
use shared::meter::{Change, ChangeOutcome, Message, Reply, Session, SessionStep};
use shared::problem::Problem;

use super::rpc;
use crate::context::RequestContext;
use crate::gateway::{key_store, lease_caches};
use crate::runtime::clock;

/// Returns the record of a key for an administrator. It comes from KV if its meter may not exist
/// yet: the object would be created near the administrator and stay there, far from its traffic.
///
/// # Errors
/// As [`change`].
pub(crate) async fn read_record(context: &RequestContext<'_>, id: &KeyId) -> Result<KeyRecord, Problem> {
    let found = key_store::find(&context.bindings.keys, id, context.request.id).await;
    match found {
        Ok(Some(record)) if record.is_as_issued() && !lease_caches::has_met_meter(id) => Ok(record),
        found => change_found(context, Subject::Named(id), Change::None, found).await,
    }
}

/// Changes a key's record through its meter. Returns the new record.
///
/// # Errors
/// As [`changed`], `too-many-requests` for the key itself, `meter-unavailable`, or
/// `key-store-unavailable` if the meter does not know the key and KV fails, or does not show a young
/// key yet.
pub(crate) async fn change(
    context: &RequestContext<'_>,
    subject: Subject<'_>,
    change: Change,
) -> Result<KeyRecord, Problem> {
    if let Subject::Own(key) = subject {
        // No quota counts a change, and each is a write of the object and of KV.
        record_free_call(&key.id, FreeCall::Change)?;
    }
    let found = key_store::find(&context.bindings.keys, subject.id(), context.request.id).await;
    change_found(context, subject, change, found).await
}

/// Changes the record through the meter, with what was `found` in KV.
async fn change_found(
    context: &RequestContext<'_>,
    subject: Subject<'_>,
    change: Change,
    found: Result<Option<KeyRecord>, Problem>,
) -> Result<KeyRecord, Problem> {
    let (record, found) = match found {
        Ok(record) => (record, Ok(())),
        Err(problem) => (None, Err(problem)),
    };
    let message = Message::Change { record, by: subject.by(), change };
    let reply = rpc::call(context, &subject.id().to_string(), &message).await;
    let Ok(Reply::Change(outcome)) = reply else { return Err(rpc::unavailable(context, reply)) };
    match (&outcome, subject.by()) {
        // If KV failed, nobody knows whether the key exists. A 404 would say that it does not.
        (ChangeOutcome::Unknown, None) => found?,
        // The key has been verified, so it exists and KV is behind.
        (ChangeOutcome::Unknown, Some(_)) => return Err(key_store::unavailable()),
        _ => {}
    }
    let record = changed(outcome)?;
    // Here at least the change applies at once. Elsewhere it does with the next message to the
    // meter.
    lease_caches::learn(&record);
    lease_caches::record_meeting(&record.id);
    Ok(record)
}

/// Changes or reads the sessions of a key. Returns those that have not ended.
///
/// # Errors
/// `too-many-requests`, `meter-unavailable`, or `key-missing` if the session that asks has ended.
pub(crate) async fn step_sessions(
    context: &RequestContext<'_>,
    key: &KeyId,
    step: SessionStep,
) -> Result<Vec<Session>, Problem> {
    if step != SessionStep::List {
        record_free_call(key, FreeCall::Change)?;
    }
    match rpc::call(context, &key.to_string(), &Message::Session(step)).await {
        Ok(Reply::Sessions(sessions)) => Ok(sessions),
        other => Err(rpc::unavailable(context, other)),
    }
}

/// Records a step of issuing a key with the meter of this name. Returns how to proceed.
///
/// # Errors
/// `meter-unavailable`.
pub(crate) async fn issue(
    context: &RequestContext<'_>,
    name: &str,
    step: IssueStep,
) -> Result<IssueTurn, Problem> {
    match rpc::call(context, name, &Message::Issue(step)).await {
        Ok(Reply::Issue(turn)) => Ok(turn),
        other => Err(rpc::unavailable(context, other)),
    }
}

thread_local! {
    static GUARD: RefCell<FreeCallGuard> = const { RefCell::new(FreeCallGuard::new()) };
}

/// Counts a free call of a verified key or of its agent, before the key's meter is asked.
///
/// # Errors
/// `too-many-requests`.
pub(crate) fn record_free_call(key: &KeyId, call: FreeCall) -> Result<(), Problem> {
    GUARD.with_borrow_mut(|guard| guard.record(key, call, clock::now()))
}
