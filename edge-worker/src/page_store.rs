//! Published snapshots in KV, one for each slug. KV is eventually consistent and caches absence, so
//! a missing snapshot proves nothing: the account knows.

use shared::{page::Slug, pages_api::Snapshot};
use worker::KvStore;

use crate::{context::RequestContext, log, promise};

/// Time for which a location may respond from its own copy, in seconds: within it, changes show
/// everywhere.
const CACHE_S: u64 = 60;
/// Timeout of a read, in milliseconds.
const READ_TIMEOUT_MS: u64 = 1_000;

/// Returns the snapshot of a slug; `None` if KV shows none, or fails: then the account is asked.
pub(crate) async fn find(context: &RequestContext<'_>, slug: &Slug) -> Option<Snapshot> {
    let name = Snapshot::key(slug);
    let read = context.bindings.pages.get(&name).cache_ttl(CACHE_S).text();
    match promise::timeout(READ_TIMEOUT_MS, read).await {
        Some(Ok(text)) => text.as_deref().and_then(Snapshot::from_json),
        Some(Err(error)) => {
            log::error("page snapshot read failed", Some(context.request.id), &[("error", &error)]);
            None
        }
        None => {
            let ms = READ_TIMEOUT_MS;
            log::error("page snapshot read timed out", Some(context.request.id), &[("ms", &ms)]);
            None
        }
    }
}

/// Stores the snapshot of a slug, or removes it.
///
/// # Errors
/// As KV says.
pub(crate) async fn put(store: &KvStore, slug: &Slug, snapshot: Option<&Snapshot>) -> worker::Result<()> {
    let name = Snapshot::key(slug);
    let Some(snapshot) = snapshot else { return Ok(store.delete(&name).await?) };
    let put = store.put(&name, snapshot.to_json())?;
    let put = match snapshot.lifetime() {
        Some(seconds) => put.expiration_ttl(seconds),
        None => put,
    };
    Ok(put.execute().await?)
}
