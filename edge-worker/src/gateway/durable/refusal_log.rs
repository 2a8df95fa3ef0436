//! The log of a key's refusals: a row of its meter object, which is written only with new ones.
//!
//! It is there to be read by people. A failure is logged, and decides nothing.

use std::cell::RefCell;

use shared::json;
use shared::meter::{RefusalLog, RefusedCalls};
use worker::{Result, SqlStorage};

use crate::runtime::message::parse;
use crate::runtime::{log, sql};

const HAS_TABLE: &str = "SELECT 1 FROM sqlite_master WHERE name = 'refusals'";
const TABLE: &str =
    "CREATE TABLE IF NOT EXISTS refusals (k INTEGER PRIMARY KEY CHECK (k = 1), j TEXT NOT NULL)";
const LOAD: &str = "SELECT j FROM refusals";
const STORE: &str = "INSERT INTO refusals (k, j) VALUES (1, ?) ON CONFLICT (k) DO UPDATE SET j = excluded.j";

/// The stored log. It is read once.
#[derive(Default)]
pub(super) struct StoredRefusals(RefCell<Option<RefusalLog>>);

impl StoredRefusals {
    /// Adds refusals.
    pub(super) fn add(&self, storage: &SqlStorage, refused: Vec<RefusedCalls>) {
        if refused.is_empty() {
            return;
        }
        let stored = self.with(storage, |log| {
            log.add(refused);
            storage.exec(TABLE, None)?;
            storage.exec(STORE, vec![json::to_string(log)?.into()])
        });
        if let Err(error) = stored.flatten() {
            log::error("refusal log write failed", None, &[("error", &error)]);
        }
    }

    /// Returns the refusals by reason and route. Without a readable log there are none.
    pub(super) fn groups(&self, storage: &SqlStorage) -> Vec<RefusedCalls> {
        self.with(storage, |log| log.groups()).unwrap_or_else(|error| {
            log::error("refusal log read failed", None, &[("error", &error)]);
            Vec::new()
        })
    }

    fn with<T>(&self, storage: &SqlStorage, step: impl FnOnce(&mut RefusalLog) -> T) -> Result<T> {
        let mut place = self.0.borrow_mut();
        let log = match place.take() {
            Some(log) => log,
            None => load(storage)?,
        };
        Ok(step(place.insert(log)))
    }
}

fn load(storage: &SqlStorage) -> Result<RefusalLog> {
    if sql::rows(storage, HAS_TABLE, vec![], |_| Some(()))?.is_empty() {
        return Ok(RefusalLog::default());
    }
    let rows = sql::rows(storage, LOAD, vec![], sql::text)?;
    rows.first().map_or_else(|| Ok(RefusalLog::default()), |text| parse(text))
}
