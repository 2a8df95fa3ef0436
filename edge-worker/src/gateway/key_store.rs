//! Key records in KV.
//!
//! KV is eventually consistent, and caches absence. So a missing record proves nothing, and a found
//! one may be old: the key's meter is the authority on both.
//!
//! Why: docs/decisions/keys.md, "A write of KV that a client waits for ends after five seconds".

use shared::key::{KeyId, KeyRecord, RecordError};
use shared::problem::{Problem, codes};
use shared::request_id::RequestId;

use crate::runtime::kv::{KvError, KvStore, within};
use crate::runtime::log;

const PREFIX: &str = "key:";
/// Time for which a location may respond from its own copy, in seconds.
const CACHE_S: u32 = 60;
/// Timeout of a read, in milliseconds.
const READ_TIMEOUT_MS: u64 = 2_000;
/// Timeout of a write that a client waits for, in milliseconds.
const WRITE_TIMEOUT_MS: u64 = 5_000;
/// Number of records of a batch: the maximum of a bulk read.
const BATCH_RECORDS: u32 = 100;

/// A failure of the key store.
#[derive(Debug, thiserror::Error)]
enum KeyStoreError {
    #[error(transparent)]
    Kv(#[from] KvError),
    #[error(transparent)]
    Record(#[from] RecordError),
}

/// Returns the stored record of a key, or `None` if KV shows none.
///
/// # Errors
/// `key-store-unavailable` if KV fails, does not respond in time, or holds something other than a
/// record.
pub(crate) async fn find(store: &KvStore, key: &KeyId, id: RequestId) -> Result<Option<KeyRecord>, Problem> {
    read(store, key).await.map_err(|error| failed(log::Event("key record read failed"), &error, id))
}

/// Returns the stored record of a key, for an object that works in the background.
///
/// # Errors
/// As [`find`].
pub(crate) async fn find_quietly(store: &KvStore, key: &KeyId) -> worker::Result<Option<KeyRecord>> {
    read(store, key).await.map_err(|error| error.to_string().into())
}

async fn read(store: &KvStore, key: &KeyId) -> Result<Option<KeyRecord>, KeyStoreError> {
    let name = format!("{PREFIX}{key}");
    let text = within(READ_TIMEOUT_MS, store.get(&name, CACHE_S)).await?;
    // A text that is no record is a failure and not a missing one: that would lift its limits or
    // its end.
    Ok(text.map(|text| KeyRecord::from_json(&text)).transpose()?)
}

/// Returns the records from KV's cursor on, and the cursor after them, for the directory of keys. What was
/// written within a minute may be left out.
///
/// # Errors
/// As [`find`].
pub(crate) async fn batch(store: &KvStore, cursor: &str) -> worker::Result<(Vec<KeyRecord>, Option<String>)> {
    let listed = within(READ_TIMEOUT_MS, store.list(PREFIX, BATCH_RECORDS, cursor)).await?;
    let records = listed.texts.iter().map(|text| KeyRecord::from_json(text)).collect::<Result<Vec<_>, _>>();
    Ok((records.map_err(|error| error.to_string())?, listed.cursor))
}

/// Writes a record, for a client that waits.
///
/// # Errors
/// `key-store-unavailable`. KV may have the record even so.
pub(crate) async fn store(store: &KvStore, record: &KeyRecord, id: RequestId) -> Result<(), Problem> {
    let written = within(WRITE_TIMEOUT_MS, put(store, record)).await;
    written.map_err(|error| failed(log::Event("key record write failed"), &error.into(), id))
}

/// Writes a record, in the background.
///
/// # Errors
/// If KV fails.
pub(crate) async fn put(store: &KvStore, record: &KeyRecord) -> Result<(), KvError> {
    // Without a lifetime: a record that expires would be a key without limits again.
    store.put(&format!("{PREFIX}{}", record.id), &record.to_json(), None).await
}

/// Logs a failure. Returns the problem for the client.
fn failed(event: log::Event, error: &KeyStoreError, id: RequestId) -> Problem {
    log::error(event, Some(id), &[("error", error)]);
    unavailable()
}

/// Returns the problem for a key whose record cannot be read at the moment.
pub(crate) fn unavailable() -> Problem {
    let detail = "the key store does not respond; this says nothing about your key";
    // Not 401: a client would throw a good key away.
    Problem::new(codes::KEY_STORE_UNAVAILABLE, detail).retry_after(1)
}
