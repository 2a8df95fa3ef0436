//! A short list that an object keeps for people to read: the last things that happened, each once, as JSON.
//!
//! It costs a row for each entry, and nothing while there is none.

use shared::time::UnixMillis;
use worker::{Result, SqlStorage, SqlStorageValue};

use super::sql;

const TABLE: &str = "CREATE TABLE IF NOT EXISTS recent (n INTEGER PRIMARY KEY, id TEXT NOT NULL, at INTEGER NOT NULL, j TEXT NOT NULL)";
const STORE: &str =
    "INSERT INTO recent (id, at, j) SELECT ?1, ?2, ?3 WHERE NOT EXISTS (SELECT 1 FROM recent WHERE id = ?1)";
const DROP: &str = "DELETE FROM recent WHERE at < ? OR n <= (SELECT MAX(n) FROM recent) - 50";
const LOAD: &str = "SELECT at, j FROM recent WHERE at >= ? ORDER BY n DESC";
const ERASE: &str = "DROP TABLE IF EXISTS recent";
/// Time for which an entry is listed, in milliseconds: 30 days.
const KEEP_MS: u64 = 30 * 86_400_000;

/// Adds an entry, unless one has its id. Drops those that are older than 30 days, and all but the last 50.
///
/// # Errors
/// If the storage fails.
pub(crate) fn add(
    storage: &SqlStorage,
    (id, at): (String, UnixMillis),
    entry: String,
    now: UnixMillis,
) -> Result<()> {
    storage.exec(TABLE, None)?;
    storage.exec(STORE, vec![id.into(), sql::integer(at.0)?, entry.into()])?;
    storage.exec(DROP, vec![sql::integer(now.minus(KEEP_MS).0)?]).map(drop)
}

/// Returns the entries of the last 30 days, the newest first, each with its moment.
///
/// # Errors
/// If the storage fails.
pub(crate) fn list(storage: &SqlStorage, now: UnixMillis) -> Result<Vec<(UnixMillis, String)>> {
    if !sql::has_table(storage, "recent")? {
        return Ok(Vec::new());
    }
    sql::rows(storage, LOAD, vec![sql::integer(now.minus(KEEP_MS).0)?], entry)
}

fn entry(row: &[SqlStorageValue]) -> Option<(UnixMillis, String)> {
    let (at, text) = row.split_first()?;
    Some((UnixMillis(sql::number(at)?), sql::text(text)?))
}

/// Removes all.
///
/// # Errors
/// If the storage fails.
pub(crate) fn erase(storage: &SqlStorage) -> Result<()> {
    storage.exec(ERASE, None).map(drop)
}
