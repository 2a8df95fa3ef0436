//! The record that KV holds, for a meter and a lease cache that have not met the key yet.

use shared::{
    key::{KeyError, VerifiedKey},
    meter::{MeterRequest, MeterResponse, Verdict},
    problem::Problem,
};

use crate::{context::RequestContext, key_store, lease_caches};

/// Adds the record that KV holds to a request, if the isolate has none.
///
/// # Errors
/// `key-store-unavailable`. This is not a reason to refuse the key: the meter may know it. Pass the
/// outcome to [`check`].
pub(super) async fn add(
    context: &RequestContext<'_>,
    key: &VerifiedKey,
    request: &mut MeterRequest,
) -> Result<(), Problem> {
    if request.record.is_some() || request.version > 0 {
        return Ok(());
    }
    if let Some(record) = key_store::find(&context.bindings.keys, &key.id, context.request.id).await? {
        lease_caches::with(key, |cache, _| cache.learn(record.clone()))?;
        request.version = record.version;
        request.record = Some(record);
    }
    Ok(())
}

/// Checks that a meter which does not know the key was sent the stored record, if there is one.
/// Otherwise the key's cache is removed, because its refusal may be wrong.
///
/// # Errors
/// The outcome of [`add`], if it is an error and the meter does not know the key.
pub(super) fn check(
    key: &VerifiedKey,
    added: Result<(), Problem>,
    response: &MeterResponse,
) -> Result<(), Problem> {
    match (added, response.verdict) {
        (Err(problem), Verdict::Refuse(KeyError::Invalid)) => {
            lease_caches::remove(&key.id);
            Err(problem)
        }
        _ => Ok(()),
    }
}
