//! The past hours of a key: a row of its meter object for each hour in which it was called.

use shared::json;
use shared::meter::HourCounts;
use worker::{Result, SqlStorage};

use crate::runtime::message::parse;
use crate::runtime::sql;

const TABLE: &str = "CREATE TABLE IF NOT EXISTS hours (hour INTEGER PRIMARY KEY, j TEXT NOT NULL)";
const STORE: &str =
    "INSERT INTO hours (hour, j) VALUES (?, ?) ON CONFLICT (hour) DO UPDATE SET j = excluded.j";
const DROP: &str = "DELETE FROM hours WHERE hour < ?";
const LOAD: &str = "SELECT j FROM hours WHERE hour >= ? ORDER BY hour";

/// Keeps an hour that has ended, and drops those that are too old.
pub(super) fn keep(storage: &SqlStorage, ended: &HourCounts) -> Result<()> {
    storage.exec(TABLE, None)?;
    storage.exec(STORE, vec![sql::integer(ended.hour)?, json::to_string(ended)?.into()])?;
    storage.exec(DROP, vec![sql::integer(ended.hour.saturating_sub(HourCounts::KEPT))?])?;
    Ok(())
}

/// Returns the hours from `since` on, the first one first.
pub(super) fn load(storage: &SqlStorage, since: u64) -> Result<Vec<HourCounts>> {
    // A read must not create a table: a key that was never called would cost a write.
    if !sql::has_table(storage, "hours")? {
        return Ok(Vec::new());
    }
    let rows = sql::rows(storage, LOAD, vec![sql::integer(since)?], sql::text)?;
    rows.iter().map(|text| parse(text)).collect()
}
