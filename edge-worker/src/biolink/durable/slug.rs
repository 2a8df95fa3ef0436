//! The object of one slug: who has it. It is asked by accounts that want it, and by visitors whom
//! KV cannot serve. An object that was never claimed stores nothing.

use biolink::pages_api::{SlugMessage, SlugState};
use shared::json;
use worker::{
    DurableObject, Env, Request, Response, Result, SqlStorage, State, durable_object, wasm_bindgen,
};

use crate::runtime::clock;
use crate::runtime::log;
use crate::runtime::message::respond;
use crate::runtime::stored::{Rows, Store, Stored, row};

const CREATE: &str =
    "CREATE TABLE IF NOT EXISTS state (k INTEGER PRIMARY KEY CHECK (k = 1), j TEXT NOT NULL)";
/// The one key. The column makes a number of it.
const KEY: &str = "1";

/// The owner of one slug. The runtime holds each reply back until the writes before it are durable.
#[durable_object(fetch)]
pub struct Slug {
    state: Stored<SlugState>,
}

// An unreadable state is an error, because a new one would give the slug away.
impl Store for SlugState {
    const TABLE: &'static str = "state";
    const IS_LAZY: bool = true;

    fn create(sql: &SqlStorage) -> Result<()> {
        sql.exec(CREATE, None).map(drop)
    }

    fn load(rows: &Rows<'_>) -> Result<Self> {
        rows.value(KEY)
    }

    fn texts(&self) -> Result<Vec<(&'static str, String)>> {
        Ok(vec![row(KEY, self)?])
    }
}

impl DurableObject for Slug {
    fn new(object: State, _env: Env) -> Self {
        Self { state: Stored::new(object.storage().sql()) }
    }

    async fn fetch(&self, request: Request) -> Result<Response> {
        respond(request, log::Event("slug step failed"), |message| self.step(message)).await
    }
}

impl Slug {
    /// Handles a message in one synchronous step. Returns the reply as JSON.
    fn step(&self, message: SlugMessage) -> Result<String> {
        // A look at a name stores nothing. Otherwise a client that tries names would fill the
        // platform with objects.
        // The table is made at the first claim. A read that made it would be a write.
        self.state.change(|state| Ok(json::to_string(&state.handle(message, clock::now()))?))
    }
}
