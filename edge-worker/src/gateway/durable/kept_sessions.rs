//! The sessions of a key: a row of its meter object beside the state, which no call of a tool reads or writes.

use shared::meter::Sessions;
use worker::{Result, SqlStorage};

use crate::runtime::stored::{Rows, Store, row};

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
