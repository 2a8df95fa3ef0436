//! The sessions of a key: a row of its meter object beside the state, which no call of a tool reads or writes.

use std::cell::RefCell;
use std::ops::ControlFlow;

use shared::json;
use shared::meter::{Message, Reply, Sessions};
use worker::{Result, SqlStorage};

use crate::runtime::message::parse;
use crate::runtime::{clock, sql};

const TABLE: &str =
    "CREATE TABLE IF NOT EXISTS sessions (k INTEGER PRIMARY KEY CHECK (k = 1), j TEXT NOT NULL)";
const LOAD: &str = "SELECT j FROM sessions";
const STORE: &str = "INSERT INTO sessions (k, j) VALUES (1, ?) ON CONFLICT (k) DO UPDATE SET j = excluded.j";

/// `None` until the first message and after a failure: the row is then read again.
#[derive(Default)]
pub(super) struct KeptSessions(RefCell<Option<Sessions>>);

impl KeptSessions {
    /// Handles a message about sessions or in one: see [`Sessions::receive`].
    pub(super) fn receive(
        &self,
        storage: &SqlStorage,
        message: Message,
    ) -> Result<ControlFlow<Reply, Message>> {
        let mut place = self.0.borrow_mut();
        let before = match place.take() {
            Some(sessions) => sessions,
            None => load(storage)?,
        };
        let mut sessions = before.clone();
        let received = sessions.receive(message, clock::now());
        // Each message in a session comes through here, and nearly none changes anything.
        if sessions != before {
            storage.exec(TABLE, None)?;
            storage.exec(STORE, vec![json::to_string(&sessions)?.into()])?;
        }
        *place = Some(sessions);
        Ok(received)
    }
}

fn load(storage: &SqlStorage) -> Result<Sessions> {
    if !sql::has_table(storage, "sessions")? {
        return Ok(Sessions::default());
    }
    let rows = sql::rows(storage, LOAD, Vec::new(), sql::text)?;
    rows.first().map_or_else(|| Ok(Sessions::default()), |text| parse(text))
}
