//! Key records in KV.
//!
//! KV shows a write everywhere only after a while, and remembers that something was absent. So a record that is
//! not found proves nothing, and one that is found may be old: the key's meter has the last word on both.

use std::collections::HashMap;

use shared::{
    key::{KeyId, KeyRecord},
    keys_api::{ListRequest, Position},
    problem::{Code, Problem},
};
use worker::{KvError, KvStore};

use crate::{incoming::Incoming, log, promise};

const PREFIX: &str = "key:";
/// How long a location may answer from its own copy, in seconds.
const CACHE_S: u64 = 60;
/// How long KV may take, in milliseconds, before the key is treated as unreadable.
const WITHIN_MS: u64 = 2_000;
/// Records that are looked through at once for those that match: as many as KV reads in bulk.
const STRETCH: u64 = 100;
/// Most stretches that one request looks through. Each takes two calls of the fifty that a request may make.
const MOST_STRETCHES: usize = 10;

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

/// A page of records, and where the next one begins.
///
/// # Errors
/// `key-store-unavailable`.
pub(crate) async fn list(
    store: &KvStore,
    asked: &ListRequest,
    incoming: &Incoming,
) -> Result<(Vec<KeyRecord>, Option<Position>), Problem> {
    page(store, asked).await.map_err(|fault| {
        log::cause("listing key records", Some(incoming), fault);
        unavailable()
    })
}

type Fault = Box<dyn std::error::Error>;

/// Looks through stretches of the store until the page is full. A page of few matches may end before it is full, so that
/// one request reads no more than [`MOST_STRETCHES`].
async fn page(store: &KvStore, asked: &ListRequest) -> Result<(Vec<KeyRecord>, Option<Position>), Fault> {
    let limit = usize::try_from(asked.limit).unwrap_or(usize::MAX);
    let length = if asked.filter.is_empty() { asked.limit.into() } else { STRETCH };
    let mut at = asked.from.clone().unwrap_or_default();
    let mut found = Vec::new();
    for _ in 0..MOST_STRETCHES {
        let (records, next) = stretch(store, &at.store, length).await?;
        let seen = at.after.take();
        for record in records.into_iter().filter(|record| seen.is_none_or(|seen| record.id > seen)) {
            if found.len() == limit {
                return Ok((found, Some(at)));
            }
            at.after = Some(record.id);
            if asked.filter.matches(&record) {
                found.push(record);
            }
        }
        match next {
            Some(store) => at = Position { store, after: None },
            None => return Ok((found, None)),
        }
        if found.len() == limit {
            break;
        }
    }
    Ok((found, Some(at)))
}

/// Records from the store's own cursor on, by id, and the cursor behind them.
async fn stretch(
    store: &KvStore,
    cursor: &str,
    length: u64,
) -> Result<(Vec<KeyRecord>, Option<String>), Fault> {
    let mut request = store.list().prefix(PREFIX.to_owned()).limit(length);
    if !cursor.is_empty() {
        request = request.cursor(cursor.to_owned());
    }
    let listed = request.execute().await?;
    let names: Vec<&str> = listed.keys.iter().map(|key| key.name.as_str()).collect();
    let mut texts = match names.is_empty() {
        true => HashMap::new(),
        false => store.get_bulk(&names).text().await?,
    };
    // A record that is listed and not shown was written a moment ago; the next listing has it.
    let found = names.iter().filter_map(|name| texts.remove(*name).flatten());
    let records = found.map(|text| KeyRecord::from_json(&text)).collect::<Result<_, _>>();
    let next = listed.cursor.filter(|cursor| !listed.list_complete && !cursor.is_empty());
    Ok((records.map_err(|fault| fault.to_string())?, next))
}

/// Writes a record in place of what was there.
///
/// # Errors
/// `key-store-unavailable`.
pub(crate) async fn store(store: &KvStore, record: &KeyRecord, incoming: &Incoming) -> Result<(), Problem> {
    put(store, record).await.map_err(|fault| {
        log::cause("writing a key record", Some(incoming), fault);
        unavailable()
    })
}

/// Writes a record, for the one who is neither asked nor answers for it.
///
/// # Errors
/// As the store says.
pub(crate) async fn put(store: &KvStore, record: &KeyRecord) -> Result<(), KvError> {
    store.put(&format!("{PREFIX}{}", record.id), record.to_json())?.execute().await
}

/// The refusal of a key that cannot be read at the moment.
pub(crate) fn unavailable() -> Problem {
    Problem::new(
        Code::KeyStoreUnavailable,
        "the store of keys does not answer; this says nothing about your key",
    )
    .retry_after(1)
}
