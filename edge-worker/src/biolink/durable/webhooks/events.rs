//! The table of events: the account's event log.

use biolink::page::PageId;
use biolink::webhooks::{EventId, WebhookKind};
use biolink::webhooks_api::{EventQuery, LoggedEvent};
use shared::time::UnixMillis;
use worker::{Result, SqlStorage, SqlStorageValue};

use crate::runtime::sql::{integer, number, rows, text};

const CREATE: &str = "CREATE TABLE IF NOT EXISTS event
    (sequence INTEGER PRIMARY KEY, id TEXT NOT NULL, page TEXT NOT NULL, kind TEXT NOT NULL, at INTEGER NOT NULL,
    stored INTEGER NOT NULL, body TEXT NOT NULL)";
const ADD: &str =
    "INSERT INTO event (sequence, id, page, kind, at, stored, body) VALUES (?, ?, ?, ?, ?, ?, ?)";
const BODY: &str = "SELECT body FROM event WHERE sequence = ?";
const FIND: &str = "SELECT body FROM event WHERE sequence = ? AND id = ?";
const ID: &str = "SELECT id FROM event WHERE sequence = ?";
const KIND: &str = "SELECT kind FROM event WHERE sequence = ?";
const LIST: &str = "SELECT sequence, body FROM event WHERE sequence > ? AND (? = '' OR kind = ?)
    AND (? = '' OR page = ?) ORDER BY sequence LIMIT ?";
const SPAN: &str = "SELECT id, page, kind, LENGTH(body) FROM event
    WHERE stored >= ? AND stored < ? ORDER BY sequence LIMIT ?";
const OLDEST: &str = "SELECT MIN(sequence) FROM event";
const PURGE: &str = "DELETE FROM event WHERE page = ?";
const EXPIRE: &str = "DELETE FROM event WHERE stored < ?";
const ERASE: &str = "DELETE FROM event";

/// The table of events.
pub(super) struct EventTable(pub(super) SqlStorage);

/// An event of the log.
pub(super) struct StoredEvent {
    pub(super) id: EventId,
    /// The page; `None` for an alert, whose row has an empty text.
    pub(super) page: Option<PageId>,
    pub(super) kind: WebhookKind,
    /// The moment at which it happened.
    pub(super) at: UnixMillis,
    /// The envelope.
    pub(super) body: String,
}

impl EventTable {
    /// Makes the table if there is none.
    pub(super) fn create(&self) -> Result<()> {
        self.0.exec(CREATE, None).map(drop)
    }

    /// Adds an event.
    pub(super) fn add(&self, event: &StoredEvent, now: UnixMillis) -> Result<()> {
        let values = vec![
            integer(event.id.number())?,
            event.id.to_string().into(),
            page_text(event.page).into(),
            event.kind.as_str().into(),
            integer(event.at.0)?,
            integer(now.0)?,
            event.body.as_str().into(),
        ];
        self.0.exec(ADD, values).map(drop)
    }

    /// Returns the envelopes of events, without those that are gone.
    pub(super) fn bodies(&self, sequences: &[u64]) -> Result<Vec<String>> {
        self.each(BODY, sequences)
    }

    /// Returns the ids of events, without those that are gone.
    pub(super) fn ids(&self, sequences: &[u64]) -> Result<Vec<String>> {
        self.each(ID, sequences)
    }

    /// Returns the kinds of events, without those that are gone.
    pub(super) fn kinds(&self, sequences: &[u64]) -> Result<Vec<WebhookKind>> {
        Ok(self.each(KIND, sequences)?.iter().filter_map(|kind| kind.parse::<WebhookKind>().ok()).collect())
    }

    /// Returns the envelope of an event.
    pub(super) fn find(&self, id: &EventId) -> Result<Option<String>> {
        // By both: the number finds the row, and the random part of the id must be right too.
        let values = vec![integer(id.number())?, id.to_string().into()];
        Ok(rows(&self.0, FIND, values, text)?.into_iter().next())
    }

    /// Returns the events that a reader asks for, each with its sequence, and one more if there are
    /// more.
    pub(super) fn list(&self, query: &EventQuery) -> Result<Vec<(u64, String)>> {
        let kind = query.kind.map_or("", WebhookKind::as_str);
        let page = page_text(query.page);
        let values = vec![
            integer(query.after)?,
            kind.into(),
            kind.into(),
            page.as_str().into(),
            page.as_str().into(),
            integer(query.limit.saturating_add(1))?,
        ];
        rows(&self.0, LIST, values, |row| match row {
            [sequence, SqlStorageValue::String(body)] => Some((number(sequence)?, body.clone())),
            _ => None,
        })
    }

    /// Returns the events that came within this span of time, the oldest first.
    pub(super) fn span(&self, since: UnixMillis, until: UnixMillis, limit: u64) -> Result<Vec<LoggedEvent>> {
        let values = vec![integer(since.0)?, integer(until.0)?, integer(limit)?];
        rows(&self.0, SPAN, values, |row| match row {
            [
                SqlStorageValue::String(id),
                SqlStorageValue::String(page),
                SqlStorageValue::String(kind),
                bytes,
            ] => Some(LoggedEvent {
                id: EventId::parse(id)?,
                page: if page.is_empty() { None } else { Some(PageId::parse(page)?) },
                kind: kind.parse::<WebhookKind>().ok()?,
                bytes: usize::try_from(number(bytes)?).ok()?,
            }),
            _ => None,
        })
    }

    /// Returns the sequence of the oldest event.
    pub(super) fn oldest(&self) -> Result<Option<u64>> {
        let oldest = rows(&self.0, OLDEST, Vec::new(), |row| row.first().map(number))?;
        Ok(oldest.into_iter().next().flatten())
    }

    /// Removes the events of a page.
    pub(super) fn purge(&self, page: &PageId) -> Result<()> {
        self.0.exec(PURGE, vec![page.to_string().into()]).map(drop)
    }

    /// Removes events that came before this moment.
    pub(super) fn expire(&self, before: UnixMillis) -> Result<()> {
        self.0.exec(EXPIRE, vec![integer(before.0)?]).map(drop)
    }

    /// Removes all.
    pub(super) fn erase(&self) -> Result<()> {
        self.0.exec(ERASE, None).map(drop)
    }

    fn each(&self, query: &str, sequences: &[u64]) -> Result<Vec<String>> {
        let mut found = Vec::with_capacity(sequences.len());
        for sequence in sequences {
            found.extend(rows(&self.0, query, vec![integer(*sequence)?], text)?);
        }
        Ok(found)
    }
}

fn page_text(page: Option<PageId>) -> String {
    page.map(|page| page.to_string()).unwrap_or_default()
}
