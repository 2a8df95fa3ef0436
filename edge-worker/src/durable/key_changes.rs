//! The object that keeps the feed of key changes: the newest record of each changed key, in the order in which they
//! were changed last. There is one for all keys. It is told of changes, which are rare, and read by proxies, a page at
//! a time; no call of a tool waits for it.

use std::cell::Cell;

use shared::{
    key::KeyRecord,
    keys_api::{ChangesMessage, ChangesPage, ChangesRequest, Cursor},
    time::UnixMillis,
};
use worker::{
    DurableObject, Env, Request, Response, Result, SqlStorage, SqlStorageValue, State as ObjectState,
    durable_object, wasm_bindgen,
};

use crate::{clock, log};

/// When the feed began tells it from another that was lost: a reader's cursor means nothing in this one then.
const BEGIN: &str =
    "CREATE TABLE IF NOT EXISTS feed (k INTEGER PRIMARY KEY CHECK (k = 1), begun INTEGER NOT NULL);
    CREATE TABLE IF NOT EXISTS changes
        (number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, version INTEGER NOT NULL, j TEXT NOT NULL);
    INSERT INTO feed (k, begun) VALUES (1, ?) ON CONFLICT (k) DO NOTHING";
/// A changed key moves to the end; what is known already, or older, changes nothing. The highest number is never
/// given up but for a higher one, so that no reader is past a change that it has not seen.
const NOTE: &str = "INSERT INTO changes (number, id, version, j)
    VALUES ((SELECT COALESCE(MAX(number), 0) + 1 FROM changes), ?, ?, ?)
    ON CONFLICT (id) DO UPDATE SET number = excluded.number, version = excluded.version, j = excluded.j
    WHERE excluded.version > changes.version";
const STANDING: &str = "SELECT begun, (SELECT COALESCE(MAX(number), 0) FROM changes) FROM feed";
const PAGE: &str = "SELECT number, j FROM changes WHERE number > ? ORDER BY number LIMIT ?";

/// The feed.
#[durable_object(fetch)]
pub struct KeyChanges {
    sql: SqlStorage,
    begun: Cell<bool>,
}

impl DurableObject for KeyChanges {
    fn new(object: ObjectState, _env: Env) -> Self {
        Self { sql: object.storage().sql(), begun: Cell::new(false) }
    }

    async fn fetch(&self, mut request: Request) -> Result<Response> {
        let message = serde_json::from_str(&request.text().await?)?;
        match self.handle(message) {
            Ok(reply) => Response::ok(reply),
            Err(fault) => {
                log::cause("keeping key changes", None, &fault);
                Err(fault)
            }
        }
    }
}

impl KeyChanges {
    fn handle(&self, message: ChangesMessage) -> Result<String> {
        if !self.begun.get() {
            self.sql.exec(BEGIN, vec![integer(clock::now().0)?])?;
            self.begun.set(true);
        }
        match message {
            ChangesMessage::Note(record) => self.note(&record).map(|()| String::new()),
            ChangesMessage::Read(asked) => self.page(&asked).map(|page| page.to_json()),
        }
    }

    fn note(&self, record: &KeyRecord) -> Result<()> {
        let row = vec![record.id.to_string().into(), integer(record.version)?, record.to_json().into()];
        self.sql.exec(NOTE, row).map(drop)
    }

    fn page(&self, asked: &ChangesRequest) -> Result<ChangesPage> {
        let standing = self.rows(STANDING, Vec::new(), |row| match row {
            [begun, last] => Some((UnixMillis(number(begun)?), number(last)?)),
            _ => None,
        })?;
        let &[(begun, last)] = standing.as_slice() else { return Err(unreadable()) };
        let after = asked.cursor.as_ref().map_or(0, |cursor| cursor.number_in(begun, last));
        // One more than the page holds tells whether there is another.
        let limit = u64::try_from(asked.limit).unwrap_or(u64::MAX).saturating_add(1);
        let mut found = self.rows(PAGE, vec![integer(after)?, integer(limit)?], |row| match row {
            [place, SqlStorageValue::String(text)] => {
                Some((number(place)?, KeyRecord::from_json(text).ok()?))
            }
            _ => None,
        })?;
        let more = found.len() > asked.limit;
        found.truncate(asked.limit);
        let end = found.last().map_or(after, |(number, _)| *number);
        Ok(ChangesPage::new(found.into_iter().map(|(_, record)| record), Cursor::new(begun, end), more))
    }

    fn rows<T>(
        &self,
        query: &str,
        values: Vec<SqlStorageValue>,
        read: impl Fn(&[SqlStorageValue]) -> Option<T>,
    ) -> Result<Vec<T>> {
        self.sql.exec(query, values)?.raw().map(|row| read(&row?).ok_or_else(unreadable)).collect()
    }
}

/// A number as SQL takes it, as long as no digit of it is lost.
fn integer(number: u64) -> Result<SqlStorageValue> {
    SqlStorageValue::try_from_i64(i64::try_from(number).unwrap_or(i64::MAX))
}

fn number(value: &SqlStorageValue) -> Option<u64> {
    match value {
        SqlStorageValue::Integer(number) => u64::try_from(*number).ok(),
        _ => None,
    }
}

fn unreadable() -> worker::Error {
    "a stored row of the feed cannot be read".into()
}
