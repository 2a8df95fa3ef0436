//! Events that wait until the account's webhooks have taken them.

use biolink::stats::{MAX_OUTBOX, OUTBOX_ROWS_PER_MESSAGE, OutboxRow};
use worker::{Result, SqlStorage, SqlStorageValue};

use crate::runtime::sql::{integer, number, rows};

/// The numbers continue when the table is empty, because the webhooks know rows by them.
const CREATE: &str =
    "CREATE TABLE IF NOT EXISTS outbox (number INTEGER PRIMARY KEY AUTOINCREMENT, events TEXT NOT NULL)";
const ADD: &str = "INSERT INTO outbox (events) VALUES (?)";
const COUNT: &str = "SELECT COUNT(*) FROM outbox";
const FIRST: &str = "SELECT number, events FROM outbox ORDER BY number LIMIT ?";
const ANY: &str = "SELECT number FROM outbox LIMIT 1";
const REMOVE: &str = "DELETE FROM outbox WHERE number <= ?";
const ERASE: &str = "DELETE FROM outbox";

/// The table of rows.
pub(super) struct OutboxTable(pub(super) SqlStorage);

impl OutboxTable {
    /// Makes the table if there is none.
    pub(super) fn create(&self) -> Result<()> {
        self.0.exec(CREATE, None).map(drop)
    }

    /// Adds rows. Returns the number of events that were dropped for them.
    pub(super) fn add(&self, texts: &[String]) -> Result<u64> {
        for text in texts {
            self.0.exec(ADD, vec![text.as_str().into()])?;
        }
        if texts.is_empty() {
            return Ok(0);
        }
        let count = rows(&self.0, COUNT, Vec::new(), |row| row.first().and_then(number))?;
        // Webhooks that are down for long must not fill the object, which has to count visits too.
        let surplus = count.first().copied().unwrap_or(0).saturating_sub(MAX_OUTBOX);
        if surplus == 0 {
            return Ok(0);
        }
        let oldest = self.select(surplus)?;
        let events = oldest.iter().map(|row| row.segment().map_or(0, |segment| segment.rows() as u64)).sum();
        oldest.last().map(|row| self.remove(row.number)).transpose()?;
        Ok(events)
    }

    /// Returns the first rows, as many as one message has.
    pub(super) fn first(&self) -> Result<Vec<OutboxRow>> {
        self.select(OUTBOX_ROWS_PER_MESSAGE)
    }

    /// Returns true if nothing waits.
    pub(super) fn is_empty(&self) -> Result<bool> {
        Ok(rows(&self.0, ANY, Vec::new(), |row| row.first().and_then(number))?.is_empty())
    }

    /// Removes all rows up to this number.
    pub(super) fn remove(&self, last: u64) -> Result<()> {
        self.0.exec(REMOVE, vec![integer(last)?]).map(drop)
    }

    /// Removes all rows.
    pub(super) fn erase(&self) -> Result<()> {
        self.0.exec(ERASE, None).map(drop)
    }

    fn select(&self, count: u64) -> Result<Vec<OutboxRow>> {
        rows(&self.0, FIRST, vec![integer(count)?], |row| match row {
            [number_of, SqlStorageValue::String(events)] => {
                Some(OutboxRow { number: number(number_of)?, events: events.clone() })
            }
            _ => None,
        })
    }
}
