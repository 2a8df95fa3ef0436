//! Changes of a key's record, which its meter makes.

use shared::key::{FreeCall, KeyId, KeyRecord, Subject};
use shared::keys_api::changed;
use shared::meter::{Change, ChangeOutcome, Message, Reply};
use shared::problem::Problem;

use super::{free_calls, rpc};
use crate::context::RequestContext;
use crate::gateway::{key_store, lease_caches};

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
        free_calls::record(&key.id, FreeCall::Change)?;
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
