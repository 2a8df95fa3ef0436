//! The last calls of a key: rows of its meter object with many calls each, beside those of its state.
//!
//! They are there to be read by people. A failure is logged, and decides nothing.

use shared::json;
use shared::meter::{CallFilter, CallLog, CallPage, CallRow, RefusedCalls, oldest};
use shared::time::UnixMillis;
use worker::{Result, SqlStorage, SqlStorageValue};

use crate::runtime::message::parse;
use crate::runtime::{log, sql};

const ERASE: &str = "DROP TABLE IF EXISTS calls";
const TABLE: &str =
    "CREATE TABLE IF NOT EXISTS calls (n INTEGER PRIMARY KEY, last_at INTEGER NOT NULL, j TEXT NOT NULL)";
const STORE: &str = "INSERT INTO calls (n, last_at, j) VALUES (?, ?, ?) ON CONFLICT (n) DO UPDATE SET last_at = excluded.last_at, j = excluded.j";
const DROP_OLD: &str = "DELETE FROM calls WHERE last_at < ?";
const DROP_PUSHED_OUT: &str = "DELETE FROM calls WHERE n <= ? AND n % 2 = ?";
const LOAD: &str = "SELECT j FROM calls WHERE last_at >= ?";
const LOAD_FAILED: &str = "SELECT j FROM calls WHERE last_at >= ? AND n % 2 = 0 ORDER BY n DESC LIMIT ?";

/// Keeps a row of calls, and drops those that are too old or too many.
pub(super) fn keep(storage: &SqlStorage, row: &CallRow, now: UnixMillis) {
    if let Err(error) = try_keep(storage, row, now) {
        log::error(log::Event("call log write failed"), None, &[("error", &error)]);
    }
}

fn try_keep(storage: &SqlStorage, row: &CallRow, now: UnixMillis) -> Result<()> {
    storage.exec(TABLE, None)?;
    let last_at = sql::integer(row.last_at().0)?;
    storage.exec(STORE, vec![sql::integer(row.number)?, last_at, json::to_string(row)?.into()])?;
    storage.exec(DROP_OLD, vec![sql::integer(oldest(now).0)?])?;
    if let Some(number) = row.pushed_out() {
        storage.exec(DROP_PUSHED_OUT, vec![sql::integer(number)?, sql::integer(row.number % 2)?])?;
    }
    Ok(())
}

/// Removes all.
///
/// # Errors
/// If the storage fails.
pub(super) fn erase(storage: &SqlStorage) -> Result<()> {
    storage.exec(ERASE, None).map(drop)
}

/// Returns a page of the log.
pub(super) fn page(storage: &SqlStorage, calls: &CallLog, filter: &CallFilter, now: UnixMillis) -> CallPage {
    let since = filter.since(now);
    // Failed calls have rows of their own, so that their last ones are found without those that
    // succeeded.
    let failed_rows = (!filter.wants_successes()).then_some(CallRow::KEPT);
    filter.page(calls.unstored().chain(load(storage, calls, since, failed_rows)), now)
}

/// Returns the last refused calls by reason and route.
pub(super) fn refusals(storage: &SqlStorage, calls: &CallLog, now: UnixMillis) -> Vec<RefusedCalls> {
    let since = oldest(now);
    let rows = load(storage, calls, since, Some(RefusedCalls::ROWS));
    RefusedCalls::of(calls.unstored().chain(rows), since)
}

/// Returns the rows from `since` on: all of them, or the last few of failed calls.
fn load(storage: &SqlStorage, calls: &CallLog, since: UnixMillis, failed_rows: Option<u64>) -> Vec<CallRow> {
    // Without a full row there is no table.
    if !calls.has_rows() {
        return Vec::new();
    }
    try_load(storage, since, failed_rows).unwrap_or_else(|error| {
        log::error(log::Event("call log read failed"), None, &[("error", &error)]);
        Vec::new()
    })
}

fn try_load(storage: &SqlStorage, since: UnixMillis, failed_rows: Option<u64>) -> Result<Vec<CallRow>> {
    let since = sql::integer(since.0)?;
    let (query, values): (_, Vec<SqlStorageValue>) = match failed_rows {
        Some(rows) => (LOAD_FAILED, vec![since, sql::integer(rows)?]),
        None => (LOAD, vec![since]),
    };
    sql::rows(storage, query, values, sql::text)?.iter().map(|text| parse(text)).collect()
}
