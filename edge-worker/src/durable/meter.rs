//! The object of one key: loads the meter's state, steps it, stores it before the reply leaves.

use std::cell::RefCell;

use shared::meter::{Message, Meter as State};
use worker::{
    DurableObject, Env, Request, Response, Result, SqlStorage, State as ObjectState, durable_object,
    wasm_bindgen,
};

use crate::{clock, log};

const TABLE: &str = "CREATE TABLE IF NOT EXISTS state (k INTEGER PRIMARY KEY CHECK (k = 1), j TEXT NOT NULL)";
const LOAD: &str = "SELECT j FROM state";
const STORE: &str = "INSERT INTO state (k, j) VALUES (1, ?) ON CONFLICT (k) DO UPDATE SET j = excluded.j";

/// One key's meter. The runtime holds every reply back until what was written before it is safe.
#[durable_object(fetch)]
pub struct Meter {
    sql: SqlStorage,
    /// `None` until the first message, and after a write that failed: then the row is read again.
    state: RefCell<Option<State>>,
}

impl DurableObject for Meter {
    fn new(state: ObjectState, _env: Env) -> Self {
        Self { sql: state.storage().sql(), state: RefCell::new(None) }
    }

    async fn fetch(&self, mut request: Request) -> Result<Response> {
        let message = serde_json::from_str(&request.text().await?)?;
        match self.step(message) {
            Ok(reply) => Response::ok(reply),
            Err(fault) => {
                log::cause("stepping a meter", None, &fault);
                Err(fault)
            }
        }
    }
}

impl Meter {
    /// One synchronous step: nothing comes between reading the state and storing the next.
    fn step(&self, message: Message) -> Result<String> {
        let mut place = self.state.borrow_mut();
        let mut next = match place.take() {
            Some(state) => state,
            None => self.load()?,
        };
        let reply = serde_json::to_string(&next.handle(message, clock::now()))?;
        self.sql.exec(STORE, vec![serde_json::to_string(&next)?.into()])?;
        *place = Some(next);
        Ok(reply)
    }

    /// The stored state. One that cannot be read is an error: to begin anew would give every call back.
    fn load(&self) -> Result<State> {
        self.sql.exec(TABLE, None)?;
        let rows = self.sql.exec(LOAD, None)?.raw().collect::<Result<Vec<_>>>()?;
        match rows.into_iter().flatten().next() {
            None => Ok(State::default()),
            Some(worker::SqlStorageValue::String(text)) => Ok(serde_json::from_str(&text)?),
            Some(_) => Err("the stored state is not text".into()),
        }
    }
}
