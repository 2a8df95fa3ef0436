//! The table of the alerts that were logged, by which a repeated one is known.

use shared::time::UnixMillis;
use worker::{Result, SqlStorage};

use crate::runtime::sql::{integer, rows, text};

const CREATE: &str =
    "CREATE TABLE IF NOT EXISTS alert (id TEXT PRIMARY KEY, at INTEGER NOT NULL) WITHOUT ROWID";
const ADD: &str = "INSERT INTO alert (id, at) VALUES (?, ?) ON CONFLICT (id) DO NOTHING RETURNING id";
const EXPIRE: &str = "DELETE FROM alert WHERE at < ?";
const ERASE: &str = "DELETE FROM alert";

/// The table of alerts that were logged.
pub(super) struct AlertTable(pub(super) SqlStorage);

impl AlertTable {
    /// Makes the table if there is none.
    pub(super) fn create(&self) -> Result<()> {
        self.0.exec(CREATE, None).map(drop)
    }

    /// Adds an alert. Returns false if it is there.
    pub(super) fn add(&self, id: String, now: UnixMillis) -> Result<bool> {
        Ok(!rows(&self.0, ADD, vec![id.into(), integer(now.0)?], text)?.is_empty())
    }

    /// Removes alerts that were logged before this moment.
    pub(super) fn expire(&self, before: UnixMillis) -> Result<()> {
        self.0.exec(EXPIRE, vec![integer(before.0)?]).map(drop)
    }

    /// Removes all.
    pub(super) fn erase(&self) -> Result<()> {
        self.0.exec(ERASE, None).map(drop)
    }
}
