//! The record that KV holds, for a key that neither its meter nor the isolate has met yet.

use shared::key::VerifiedKey;
use shared::problem::Problem;

use crate::context::RequestContext;
use crate::gateway::{key_store, lease_caches};

/// Reads the record from KV into the key's cache.
///
/// # Errors
/// `key-store-unavailable`. This is not a reason to refuse the key: the meter may know it. Pass the
/// outcome to [`check`].
pub(super) async fn learn(context: &RequestContext<'_>, key: &VerifiedKey) -> Result<(), Problem> {
    let found = key_store::find(&context.bindings.keys, &key.id, context.request.id).await?;
    if let Some(record) = found {
        lease_caches::with(key, |cache, _| cache.learn(record))?;
    }
    Ok(())
}

/// Checks that a meter which refuses a key as unknown was sent the stored record, if there is one.
/// Otherwise the key's cache is removed, because its refusal may be wrong.
///
/// # Errors
/// The outcome of [`learn`], if it is an error and the key `is_unknown`.
pub(super) fn check(key: &VerifiedKey, read: Result<(), Problem>, is_unknown: bool) -> Result<(), Problem> {
    match (read, is_unknown) {
        (Err(problem), true) => {
            // The refusal is in it, and would hold for later calls although KV was only down.
            lease_caches::remove(&key.id);
            Err(problem)
        }
        _ => Ok(()),
    }
}
