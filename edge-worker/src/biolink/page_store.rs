//! Published snapshots in KV, one for each slug; which account has a page; and the deny list. KV is eventually consistent and caches absence, so
//! a missing snapshot proves nothing: the account knows.

use biolink::domains::{DomainSnapshot, HostName};
use biolink::page::{PageId, Slug};
use biolink::pages_api::Snapshot;
use shared::key::KeyId;
use shared::problem::Problem;

use crate::context::RequestContext;
use crate::runtime::kv::{KvError, KvStore, within};
use crate::runtime::log;

/// Time for which a location may respond from its own copy, in seconds: within it, changes show
/// everywhere.
const CACHE_S: u32 = 60;
/// Timeout of a read, in milliseconds.
const READ_TIMEOUT_MS: u64 = 1_000;

/// Returns the snapshot of a slug; `None` if KV shows none, or fails: then the account is asked.
///
/// # Errors
/// `not-configured`.
pub(crate) async fn find(context: &RequestContext<'_>, slug: &Slug) -> Result<Option<Snapshot>, Problem> {
    match read(&context.biolink()?.pages, &Snapshot::key(slug), CACHE_S).await {
        Ok(text) => Ok(text.as_deref().and_then(Snapshot::from_json)),
        Err(error) => {
            log::error(
                log::Event("page snapshot read failed"),
                Some(context.request.id),
                &[("error", &error)],
            );
            // KV is a copy. The account has the page, and takes longer.
            Ok(None)
        }
    }
}

/// Returns the text stored under a name. A location may respond from its own copy for `cache_s`
/// seconds.
///
/// # Errors
/// If KV fails or does not respond in time.
pub(crate) async fn read(store: &KvStore, name: &str, cache_s: u32) -> Result<Option<String>, KvError> {
    within(READ_TIMEOUT_MS, store.get(name, cache_s)).await
}

/// Returns the account that has a page; `None` if KV shows none.
///
/// # Errors
/// As [`read`].
pub(crate) async fn account_of(store: &KvStore, page: PageId) -> Result<Option<KeyId>, KvError> {
    Ok(read(store, &index_key(page), CACHE_S).await?.as_deref().and_then(KeyId::parse))
}

/// Stores which account has a page, or removes it.
///
/// # Errors
/// As KV says.
pub(crate) async fn index(store: &KvStore, page: PageId, account: Option<KeyId>) -> worker::Result<()> {
    let name = index_key(page);
    match account {
        Some(account) => Ok(store.put(&name, &account.to_string(), None).await?),
        None => Ok(store.delete(&name).await?),
    }
}

/// Returns what visitors of a host see; `None` if KV shows nothing.
///
/// # Errors
/// As [`read`].
pub(crate) async fn find_domain(store: &KvStore, host: &HostName) -> Result<Option<DomainSnapshot>, KvError> {
    let text = read(store, &DomainSnapshot::key(host), CACHE_S).await?;
    Ok(text.as_deref().and_then(DomainSnapshot::from_json))
}

/// Stores what visitors of a host see, or removes it.
///
/// # Errors
/// As KV says.
pub(crate) async fn put_domain(
    store: &KvStore,
    host: &HostName,
    snapshot: Option<&DomainSnapshot>,
) -> worker::Result<()> {
    let name = DomainSnapshot::key(host);
    match snapshot {
        Some(snapshot) => Ok(store.put(&name, &snapshot.to_json(), None).await?),
        None => Ok(store.delete(&name).await?),
    }
}

fn index_key(page: PageId) -> String {
    format!("account-of:{page}")
}

/// Stores the snapshot of a slug, or removes it.
///
/// # Errors
/// As KV says.
pub(crate) async fn put(store: &KvStore, slug: &Slug, snapshot: Option<&Snapshot>) -> worker::Result<()> {
    let name = Snapshot::key(slug);
    let Some(snapshot) = snapshot else { return Ok(store.delete(&name).await?) };
    Ok(store.put(&name, &snapshot.to_json(), snapshot.lifetime()).await?)
}
