//! The object of one slug: who has it. It is asked by accounts that want it, and by visitors whom
//! KV cannot serve. An object that was never claimed stores nothing.

use std::cell::RefCell;

use biolink::pages_api::{SlugMessage, SlugState};
use shared::json;
use worker::{
    DurableObject, Env, Request, Response, Result, SqlStorage, State, durable_object, wasm_bindgen,
};

use crate::runtime::clock;
use crate::runtime::message::{parse, respond};
use crate::runtime::sql::{has_table, rows, text};

const CREATE: &str =
    "CREATE TABLE IF NOT EXISTS state (k INTEGER PRIMARY KEY CHECK (k = 1), j TEXT NOT NULL)";
const LOAD: &str = "SELECT j FROM state";
const STORE: &str = "INSERT INTO state (k, j) VALUES (1, ?) ON CONFLICT (k) DO UPDATE SET j = excluded.j";

/// The owner of one slug. The runtime holds each reply back until the writes before it are durable.
#[durable_object(fetch)]
pub struct Slug {
    sql: SqlStorage,
    /// `None` until the first message and after a failed write: the row is then read again.
    state: RefCell<Option<SlugState>>,
}

impl DurableObject for Slug {
    fn new(object: State, _env: Env) -> Self {
        Self { sql: object.storage().sql(), state: RefCell::new(None) }
    }

    async fn fetch(&self, request: Request) -> Result<Response> {
        respond(request, "slug step failed", |message| self.step(message)).await
    }
}

impl Slug {
    /// Handles a message in one synchronous step. Returns the reply as JSON.
    fn step(&self, message: SlugMessage) -> Result<String> {
        let mut place = self.state.borrow_mut();
        let before = match place.take() {
            Some(state) => state,
            None => self.load()?,
        };
        let mut next = before.clone();
        let reply = json::to_string(&next.handle(message, clock::now()))?;
        // A look at a name stores nothing. Otherwise a client that tries names would fill the
        // platform with objects.
        if next != before {
            self.sql.exec(CREATE, None)?;
            self.sql.exec(STORE, vec![json::to_string(&next)?.into()])?;
        }
        *place = Some(next);
        Ok(reply)
    }

    /// Returns the stored state. An unreadable one is an error, because a new one would give the
    /// slug away.
    fn load(&self) -> Result<SlugState> {
        // The table is made at the first claim. A read that made it would be a write.
        if !has_table(&self.sql, "state")? {
            return Ok(SlugState::default());
        }
        match rows(&self.sql, LOAD, Vec::new(), text)?.first() {
            Some(stored) => parse(stored),
            None => Ok(SlugState::default()),
        }
    }
}
