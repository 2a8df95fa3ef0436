//! The object that keeps the key-change feed: the newest record of each changed key, ordered by
//! the last change. There is one object for all keys. Meters append changes, which are rare, and
//! proxies in direct mode read them in pages. No tool call waits for it.
//!
//! It keeps the directory of keys too, which gets the same changes, and which administrators read.

use std::cell::Cell;

use shared::key::KeyRecord;
use shared::keys_api::{ChangesMessage, ChangesPage, ChangesRequest, Cursor, ListRequest};
use shared::time::UnixMillis;
use worker::{
    DurableObject, Env, Request, Response, Result, SqlStorage, SqlStorageValue, State as ObjectState,
    durable_object, wasm_bindgen,
};

use super::key_directory;
use crate::bindings;
use crate::runtime::log;
use crate::runtime::message::{parse, reply};
use crate::runtime::sql::{integer, number, rows};
use crate::runtime::{alarm, clock};

/// Age of the directory's last copy of KV's records at which a reader has the next one made, in
/// milliseconds: a day.
const COPY_EVERY_MS: u64 = 86_400_000;
/// Time until a copy that has failed is tried again, in milliseconds.
const RETRY_MS: u64 = 60_000;

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

/// The key-change feed, and the directory of keys.
#[durable_object(alarm)]
pub struct KeyChanges {
    object: ObjectState,
    env: Env,
    sql: SqlStorage,
    /// Whether the tables exist.
    created: Cell<bool>,
}

impl DurableObject for KeyChanges {
    fn new(object: ObjectState, env: Env) -> Self {
        let sql = object.storage().sql();
        Self { object, env, sql, created: Cell::new(false) }
    }

    async fn fetch(&self, mut request: Request) -> Result<Response> {
        let response = match parse(&request.text().await?)? {
            message @ ChangesMessage::List(_) => self.list(message).await,
            message => self.handle(message),
        };
        reply(log::Event("key-change feed step failed"), response)
    }

    async fn alarm(&self) -> Result<Response> {
        let ran = self.copy().await.map(|ended| (!ended).then(clock::now));
        alarm::end(
            &self.object,
            ran,
            RETRY_MS,
            [log::Event("key copy failed"), log::Event("key copy alarm not set")],
        )
        .await
    }
}

impl KeyChanges {
    fn handle(&self, message: ChangesMessage) -> Result<String> {
        self.create()?;
        match message {
            ChangesMessage::Note(record) => self.append(&record).map(|()| String::new()),
            ChangesMessage::Read(request) => self.page(&request).map(|page| page.to_json()),
            ChangesMessage::Enter(record) => key_directory::enter(&self.sql, &record).map(|()| String::new()),
            ChangesMessage::List(request) => {
                let request =
                    ListRequest::from_message(&request).map_err(|problem| problem.detail().to_owned())?;
                key_directory::page(&self.sql, &request).map(|page| page.to_message())
            }
        }
    }

    fn create(&self) -> Result<()> {
        if !self.created.get() {
            self.sql.exec(CREATE, vec![integer(clock::now().0)?])?;
            self.sql.exec(key_directory::CREATE, None)?;
            self.created.set(true);
        }
        Ok(())
    }

    /// Returns a page of the directory. Fills it first if it was never filled. If that takes longer than
    /// a request, the alarm continues, and the page is empty.
    async fn list(&self, message: ChangesMessage) -> Result<String> {
        self.create()?;
        let is_filled = match key_directory::copied_at(&self.sql)? {
            Some(at) => {
                if clock::now().since(at) >= COPY_EVERY_MS {
                    // The reader gets the directory of yesterday at once. The alarm brings the copy
                    // up to date.
                    alarm::set(&self.object, clock::now()).await?;
                }
                true
            }
            None => self.copy().await?,
        };
        if !is_filled {
            alarm::set(&self.object, clock::now()).await?;
            // Empty, so that the client is told to come again: half a directory would look like a
            // whole one.
            return Ok(String::new());
        }
        self.handle(message)
    }

    async fn copy(&self) -> Result<bool> {
        self.create()?;
        key_directory::copy(&self.sql, &bindings::key_store(&self.env)?).await
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
        // Without a record, the reader's own place: a cursor must never go back.
        let end = found.last().map_or(after, |(number, _)| *number);
        Ok(ChangesPage::new(found.into_iter().map(|(_, record)| record), Cursor::new(begun, end), more))
    }
}

fn unreadable() -> worker::Error {
    "a stored row of the key-change feed has an unexpected format".into()
}
