//! Key records in KV.
//!
//! KV shows a write everywhere only after a while, and remembers that something was absent. So a record that is
//! not found proves nothing, and one that is found may be old: the key's meter has the last word on both.

use shared::{
    key::{KeyId, KeyRecord},
    problem::{Code, Problem},
};
use worker::KvStore;

use crate::{incoming::Incoming, log, promise};

const PREFIX: &str = "key:";
/// How long a location may answer from its own copy, in seconds.
const CACHE_S: u64 = 60;
/// How long KV may take, in milliseconds, before the key is treated as unreadable.
const WITHIN_MS: u64 = 2_000;

/// The stored record of a key, if the store shows one.
///
/// # Errors
/// `key-store-unavailable` when the store fails, is silent, or holds something else than a record.
pub(crate) async fn find(
    store: &KvStore,
    id: &KeyId,
    incoming: &Incoming,
) -> Result<Option<KeyRecord>, Problem> {
    let name = format!("{PREFIX}{id}");
    let fault = match promise::within(WITHIN_MS, store.get(&name).cache_ttl(CACHE_S).text()).await {
        Some(Ok(None)) => return Ok(None),
        Some(Ok(Some(text))) => match KeyRecord::from_json(&text) {
            Ok(record) => return Ok(Some(record)),
            Err(fault) => fault.to_string(),
        },
        Some(Err(fault)) => fault.to_string(),
        None => format!("no answer within {WITHIN_MS} ms"),
    };
    log::cause("reading a key record", Some(incoming), fault);
    Err(unavailable())
}

/// Writes a record in place of what was there.
///
/// # Errors
/// `key-store-unavailable`.
pub(crate) async fn store(store: &KvStore, record: &KeyRecord, incoming: &Incoming) -> Result<(), Problem> {
    let name = format!("{PREFIX}{}", record.id);
    let written = match store.put(&name, record.to_json()) {
        Ok(put) => put.execute().await,
        Err(fault) => Err(fault),
    };
    written.map_err(|fault| {
        log::cause("writing a key record", Some(incoming), fault);
        unavailable()
    })
}

/// The refusal of a key that cannot be read at the moment.
pub(crate) fn unavailable() -> Problem {
    Problem::new(
        Code::KeyStoreUnavailable,
        "the store of keys does not answer; this says nothing about your key",
    )
    .retry_after(1)
}
