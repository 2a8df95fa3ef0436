//! The object that keeps the key-change feed: the newest record of each changed key, ordered by
//! the last change. There is one object for all keys. Meters append changes, which are rare, and
//! proxies in direct mode read them in pages. No tool call waits for it.

use std::cell::Cell;

use shared::key::KeyRecord;
use shared::keys_api::{ChangesMessage, ChangesPage, ChangesRequest, Cursor};
use shared::time::UnixMillis;
use worker::{
    DurableObject, Env, Request, Response, Result, SqlStorage, SqlStorageValue, State as ObjectState,
    durable_object, wasm_bindgen,
};

use crate::runtime::clock;
use crate::runtime::message::respond;
use crate::runtime::sql::{integer, number, rows};

/// The feed's start time identifies it: a cursor of a feed that was lost is not valid in a new one.
const CREATE: &str =
    "CREATE TABLE IF NOT EXISTS feed (k INTEGER PRIMARY KEY CHECK (k = 1), begun INTEGER NOT NULL);
    CREATE TABLE IF NOT EXISTS changes
        (number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, version INTEGER NOT NULL, j TEXT NOT NULL);
    INSERT INTO feed (k, begun) VALUES (1, ?) ON CONFLICT (k) DO NOTHING";
/// Moves a changed key to the end. A known or older record changes nothing. The highest number is
/// only ever replaced by a higher one, so that no reader skips a change.
const APPEND: &str = "INSERT INTO changes (number, id, version, j)
    VALUES ((SELECT COALESCE(MAX(number), 0) + 1 FROM changes), ?, ?, ?)
    ON CONFLICT (id) DO UPDATE SET number = excluded.number, version = excluded.version, j = excluded.j
    WHERE excluded.version > changes.version";
const POSITION: &str = "SELECT begun, (SELECT COALESCE(MAX(number), 0) FROM changes) FROM feed";
const PAGE: &str = "SELECT number, j FROM changes WHERE number > ? ORDER BY number LIMIT ?";

/// The key-change feed.
#[durable_object(fetch)]
pub struct KeyChanges {
    sql: SqlStorage,
    /// Whether the tables exist.
    created: Cell<bool>,
}

impl DurableObject for KeyChanges {
    fn new(object: ObjectState, _env: Env) -> Self {
        Self { sql: object.storage().sql(), created: Cell::new(false) }
    }

    async fn fetch(&self, request: Request) -> Result<Response> {
        respond(request, "key-change feed step failed", |message| self.handle(message)).await
    }
}

impl KeyChanges {
    fn handle(&self, message: ChangesMessage) -> Result<String> {
        if !self.created.get() {
            self.sql.exec(CREATE, vec![integer(clock::now().0)?])?;
            self.created.set(true);
        }
        match message {
            ChangesMessage::Note(record) => self.append(&record).map(|()| String::new()),
            ChangesMessage::Read(request) => self.page(&request).map(|page| page.to_json()),
        }
    }

    fn append(&self, record: &KeyRecord) -> Result<()> {
        let row = vec![record.id.to_string().into(), integer(record.version)?, record.to_json().into()];
        self.sql.exec(APPEND, row).map(drop)
    }

    fn page(&self, request: &ChangesRequest) -> Result<ChangesPage> {
        let position = rows(&self.sql, POSITION, Vec::new(), |row| match row {
            [begun, last] => Some((UnixMillis(number(begun)?), number(last)?)),
            _ => None,
        })?;
        let &[(begun, last)] = position.as_slice() else { return Err(unreadable()) };
        let after = request.cursor.as_ref().map_or(0, |cursor| cursor.number_in(begun, last));
        // One record more than the page holds shows whether there is another page.
        let limit = u64::try_from(request.limit).unwrap_or(u64::MAX).saturating_add(1);
        let mut found = rows(&self.sql, PAGE, vec![integer(after)?, integer(limit)?], |row| match row {
            [place, SqlStorageValue::String(text)] => {
                Some((number(place)?, KeyRecord::from_json(text).ok()?))
            }
            _ => None,
        })?;
        let more = found.len() > request.limit;
        found.truncate(request.limit);
        let end = found.last().map_or(after, |(number, _)| *number);
        Ok(ChangesPage::new(found.into_iter().map(|(_, record)| record), Cursor::new(begun, end), more))
    }
}

fn unreadable() -> worker::Error {
    "a stored row of the key-change feed has an unexpected format".into()
}
