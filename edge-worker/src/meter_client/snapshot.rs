//! The whole state of a key's meter, read at no charge.

use shared::{
    key::{KeyId, VerifiedKey},
    keys_api::key_unknown,
    meter::{Message, MeterSnapshot, Reply, Verdict},
    problem::Problem,
};

use super::{rpc, stored_record};
use crate::{clock, context::RequestContext, key_store, lease_caches};

/// Reads the state of a key's meter for the key itself.
///
/// # Errors
/// Returns the problem of the key, `meter-unavailable`, or `key-store-unavailable`.
pub(crate) async fn read(context: &RequestContext<'_>, key: &VerifiedKey) -> Result<MeterSnapshot, Problem> {
    let mut request = lease_caches::with(key, |cache, now| cache.read(key, now))?;
    let added = stored_record::add(context, key, &mut request).await;
    let sent = clock::now();
    let reply = rpc::call(context, &key.id.to_string(), &Message::Read(request.clone())).await;
    let Ok(Reply::Read(snapshot)) = reply else { return Err(rpc::unavailable(context, reply)) };
    lease_caches::with(key, |cache, now| cache.handle_response(&request, sent, &snapshot.response, now))?;
    stored_record::check(key, added, &snapshot.response)?;
    match snapshot.response.verdict {
        Verdict::Refuse(fault) => Err(fault.into()),
        Verdict::Allow | Verdict::Deny(_) | Verdict::Noted => Ok(snapshot),
    }
}

/// Reads the state of a key's meter for an administrator.
///
/// # Errors
/// `key-unknown`, `meter-unavailable`, or `key-store-unavailable` if the meter does not know the
/// key and KV fails.
pub(crate) async fn read_as_admin(
    context: &RequestContext<'_>,
    id: &KeyId,
) -> Result<MeterSnapshot, Problem> {
    let (record, found) = match key_store::find(&context.bindings.keys, id, context.request.id).await {
        Ok(record) => (record, Ok(())),
        Err(problem) => (None, Err(problem)),
    };
    match rpc::call(context, &id.to_string(), &Message::Show { record }).await {
        Ok(Reply::Show(Some(snapshot))) => Ok(snapshot),
        Ok(Reply::Show(None)) => found.and_then(|()| Err(key_unknown())),
        other => Err(rpc::unavailable(context, other)),
    }
}
