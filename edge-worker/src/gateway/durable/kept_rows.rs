//! Separate rows in a key's meter object: hours that have ended, the last alerts, and sessions.
//!
//! The alerts are there to be read by people. A failure there is logged, and decides nothing. No call of a tool reads or
//! writes the sessions.

use shared::json;
use shared::key::KeyId;
use shared::meter::{Alert, HourCounts, Meter, Sessions};
use worker::{Result, SqlStorage};

use crate::runtime::message::parse;
use crate::runtime::stored::{Rows, Store, row};
use crate::runtime::{clock, log, recent, sql};

const HOURS: &str = "CREATE TABLE IF NOT EXISTS hours (hour INTEGER PRIMARY KEY, j TEXT NOT NULL)";
const STORE_HOUR: &str =
    "INSERT INTO hours (hour, j) VALUES (?, ?) ON CONFLICT (hour) DO UPDATE SET j = excluded.j";
const DROP_HOURS: &str = "DELETE FROM hours WHERE hour < ?";
const LOAD_HOURS: &str = "SELECT j FROM hours WHERE hour >= ? ORDER BY hour";

/// Keeps an hour that has ended, and drops those that are too old.
pub(super) fn keep_hour(storage: &SqlStorage, ended: &HourCounts) -> Result<()> {
    storage.exec(HOURS, None)?;
    storage.exec(STORE_HOUR, vec![sql::integer(ended.hour)?, json::to_string(ended)?.into()])?;
    storage.exec(DROP_HOURS, vec![sql::integer(ended.hour.saturating_sub(HourCounts::KEPT))?])?;
    Ok(())
}

/// Returns the hours from `since` on, the first one first.
pub(super) fn load_hours(storage: &SqlStorage, since: u64) -> Result<Vec<HourCounts>> {
    // A read must not create a table: a key that was never called would cost a write.
    if !sql::has_table(storage, "hours")? {
        return Ok(Vec::new());
    }
    let rows = sql::rows(storage, LOAD_HOURS, vec![sql::integer(since)?], sql::text)?;
    rows.iter().map(|text| parse(text)).collect()
}

/// Lists the alerts that the last message has caused.
pub(super) fn list_alerts(storage: &SqlStorage, state: &mut Meter) {
    let raised = state.take_raised_alerts();
    let Some(record) = state.record() else { return };
    for alert in raised {
        if let Err(error) = try_list(storage, record.id, &alert) {
            log::error(log::Event("alert list write failed"), None, &[("error", &error)]);
        }
    }
}

fn try_list(storage: &SqlStorage, key: KeyId, alert: &Alert) -> Result<()> {
    recent::add(storage, (alert.id(key), alert.at), json::to_string(alert)?, clock::now())
}

/// Returns the last alerts, the newest first.
pub(super) fn load_alerts(storage: &SqlStorage) -> Vec<Alert> {
    try_load_alerts(storage).unwrap_or_else(|error| {
        log::error(log::Event("alert list read failed"), None, &[("error", &error)]);
        Vec::new()
    })
}

fn try_load_alerts(storage: &SqlStorage) -> Result<Vec<Alert>> {
    recent::list(storage, clock::now())?.iter().map(|(_, text)| parse(text)).collect()
}

/// The key of the row. The column is an integer, to which the store converts it.
const KEY: &str = "1";

impl Store for Sessions {
    const TABLE: &'static str = "sessions";
    const IS_LAZY: bool = true;

    fn create(sql: &SqlStorage) -> Result<()> {
        let table =
            "CREATE TABLE IF NOT EXISTS sessions (k INTEGER PRIMARY KEY CHECK (k = 1), j TEXT NOT NULL)";
        sql.exec(table, None).map(drop)
    }

    fn load(rows: &Rows<'_>) -> Result<Self> {
        rows.value(KEY)
    }

    fn texts(&self) -> Result<Vec<(&'static str, String)>> {
        Ok(vec![row(KEY, self)?])
    }
}
