//! Changes of a key's record, which its meter makes.

use shared::{
    key::{KeyRecord, Subject},
    keys_api::changed,
    meter::{Change, ChangeOutcome, Message, Reply},
    problem::Problem,
};

use super::rpc;
use crate::{context::RequestContext, key_store, lease_caches};

/// Changes a key's record through its meter. Returns the new record.
///
/// # Errors
/// As [`changed`], `meter-unavailable`, or `key-store-unavailable` if the meter does not know the
/// key and KV fails, or does not show a young key yet.
pub(crate) async fn change(
    context: &RequestContext<'_>,
    subject: Subject<'_>,
    change: Change,
) -> Result<KeyRecord, Problem> {
    let (record, found) =
        match key_store::find(&context.bindings.keys, subject.id(), context.request.id).await {
            Ok(record) => (record, Ok(())),
            Err(problem) => (None, Err(problem)),
        };
    let message = Message::Change { record, by: subject.by(), change };
    let reply = rpc::call(context, &subject.id().to_string(), &message).await;
    let Ok(Reply::Change(outcome)) = reply else { return Err(rpc::unavailable(context, reply)) };
    match (&outcome, subject.by()) {
        (ChangeOutcome::Unknown, None) => found?,
        // The key has been verified, so it exists and KV is behind.
        (ChangeOutcome::Unknown, Some(_)) => return Err(key_store::unavailable()),
        _ => {}
    }
    let record = changed(outcome)?;
    lease_caches::learn(&record);
    Ok(record)
}
