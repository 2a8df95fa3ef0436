//! The object of one product source: fetches the feed by its alarm, takes in what the shop pushes,
//! and gives the products to the account.
//!
//! # The products of a shop
//!
//! Paths are relative to `src/`, or begin with the name of another crate.
//!
//! 1. `biolink/handlers/product_sources.rs` prepares a source: it checks the URL under the rules of
//!    `biolink/src/fetch_url.rs` and encrypts the secret. The account stores it
//!    (`biolink/src/pages_api/account/sources.rs`), and its outbox sends it to the source's object.
//! 2. `biolink/durable/product_source.rs` runs by its alarm. `biolink/src/product_sync/state.rs` decides
//!    when, `product_source/download.rs` fetches with `biolink/guarded_fetch.rs`, and
//!    `biolink/src/product_feed.rs` reads the feed.
//! 3. `product_source/give.rs` sends the products to the account as an edit.
//!    `biolink/src/pages_api/source_products.rs` merges them with those that were made by hand. A live page
//!    is published again.
//! 4. `biolink/handlers/push_products.rs` takes pushes without a key. `biolink/src/product_sync/push.rs`
//!    verifies them, and step 3 follows.

mod download;
mod give;
mod push;

use biolink::product_sync::{Catalog, RefreshReply, SourceMessage, SyncState, runs_body};
use shared::json;
use shared::time::UnixMillis;
use worker::{
    DurableObject, Env, Request, Response, Result, SqlStorage, State as ObjectState, durable_object,
    wasm_bindgen,
};

use crate::biolink::domains;
use crate::runtime::message::parse;
use crate::runtime::sql::{integer, rows, text};
use crate::runtime::stored::{Rows, Store, Stored, row};
use crate::runtime::{alarm, clock, log};

const CREATE: &str = "CREATE TABLE IF NOT EXISTS part (k TEXT PRIMARY KEY, j TEXT NOT NULL) WITHOUT ROWID;
    CREATE TABLE IF NOT EXISTS push (id TEXT PRIMARY KEY, at INTEGER NOT NULL) WITHOUT ROWID";
const ERASE: &str = "DELETE FROM part; DELETE FROM push";
const PUSHED: &str = "SELECT id FROM push WHERE id = ?";
const NOTE_PUSH: &str = "INSERT OR REPLACE INTO push (id, at) VALUES (?, ?)";
const FORGET_PUSHES: &str = "DELETE FROM push WHERE at < ?";
const STATE: &str = "state";
const CATALOG: &str = "catalogue";
const DONE: &str = "true";
/// Time for which the names of pushes are kept, in milliseconds: three days. Shops repeat a push for
/// two.
const KEEP_PUSHES_MS: u64 = 3 * 86_400_000;
/// Time from an alarm that failed to the next, in milliseconds.
const RETRY_MS: u64 = 60_000;

/// One product source.
#[durable_object(alarm)]
pub struct ProductSource {
    object: ObjectState,
    env: Env,
    sql: SqlStorage,
    parts: Stored<Parts>,
}

/// The stored state.
struct Parts {
    state: SyncState,
    catalog: Catalog,
}

impl Store for Parts {
    const TABLE: &'static str = "part";

    fn create(sql: &SqlStorage) -> Result<()> {
        sql.exec(CREATE, None).map(drop)
    }

    fn load(rows: &Rows<'_>) -> Result<Self> {
        Ok(Self { state: rows.value(STATE)?, catalog: rows.value(CATALOG)? })
    }

    fn texts(&self) -> Result<Vec<(&'static str, String)>> {
        Ok(vec![row(STATE, &self.state)?, row(CATALOG, &self.catalog)?])
    }
}

impl DurableObject for ProductSource {
    fn new(object: ObjectState, env: Env) -> Self {
        let sql = object.storage().sql();
        Self { parts: Stored::new(object.storage().sql()), object, env, sql }
    }

    async fn fetch(&self, mut request: Request) -> Result<Response> {
        match self.handle(parse(&request.text().await?)?).await {
            Ok(reply) => Response::ok(reply),
            Err(error) => {
                self.parts.forget();
                log::error(log::Event("product source step failed"), None, &[("error", &error)]);
                Err(error)
            }
        }
    }

    /// Never returns an error: the platform gives up on an alarm that fails, and the source would
    /// never run again.
    async fn alarm(&self) -> Result<Response> {
        let ran = self.run().await.map(|()| None);
        if ran.is_err() {
            self.parts.forget();
        }
        let events = [log::Event("product source alarm failed"), log::Event("product source alarm not set")];
        alarm::end(&self.object, ran, RETRY_MS, events).await
    }
}

impl ProductSource {
    async fn handle(&self, message: SourceMessage) -> Result<String> {
        match message {
            SourceMessage::Configure { account, source } => {
                self.change(|parts| parts.state.configure(account, source, clock::now()))?;
                self.arm().await?;
                Ok(DONE.to_owned())
            }
            SourceMessage::Delete => {
                self.erase().await?;
                Ok(DONE.to_owned())
            }
            // What the account has just sent may not have arrived.
            SourceMessage::Status => self.read(|parts| match parts.state.source() {
                Some(_) => parts.state.describe().to_string(),
                None => "null".to_owned(),
            }),
            SourceMessage::Runs => self.read(|parts| runs_body(parts.state.runs())),
            SourceMessage::Refresh => {
                let refreshed = self.change(|parts| parts.state.refresh(clock::now()))?;
                self.arm().await?;
                let reply = refreshed.map_or_else(RefreshReply::TooEarly, |()| RefreshReply::Accepted);
                Ok(json::to_string(&reply)?)
            }
            SourceMessage::Push(request) => {
                let reply = self.push(&request).await?;
                self.arm().await?;
                Ok(json::to_string(&reply)?)
            }
        }
    }

    /// Fetches the feed if it is time, and gives the account what is pending.
    async fn run(&self) -> Result<()> {
        if let Some(attempt) = self.change(|parts| parts.state.begin(clock::now()))? {
            // At each run: a domain that an account has got since would lead back into the gateway.
            let policy = domains::fetch_policy(&self.env, &attempt.settings.url).await;
            let outcome = download::fetch(&attempt, &policy).await;
            self.change(|Parts { state, catalog }| state.finish(&attempt, outcome, catalog, clock::now()))?;
        }
        // Also without a run: an edit that failed is pending until it succeeds.
        self.give().await?;
        self.arm().await
    }

    /// Sets the alarm for what is due next.
    async fn arm(&self) -> Result<()> {
        let next: Option<UnixMillis> = self.parts.read(|parts| Ok(parts.state.next_due()))?;
        let Some(next) = next else { return Ok(()) };
        alarm::set(&self.object, next).await
    }

    /// Drops everything. The source is gone.
    async fn erase(&self) -> Result<()> {
        self.sql.exec(CREATE, None)?;
        self.sql.exec(ERASE, None)?;
        // Otherwise the alarm would wake an empty object for nothing.
        self.parts.forget();
        self.object.storage().delete_alarm().await
    }

    fn is_repeated(&self, push: &str) -> Result<bool> {
        Ok(!rows(&self.sql, PUSHED, vec![push.into()], text)?.is_empty())
    }

    fn note_push(&self, push: &str, now: UnixMillis) -> Result<()> {
        // Here, because each push adds one row: no alarm is needed to keep the table small.
        self.sql.exec(FORGET_PUSHES, vec![integer(now.minus(KEEP_PUSHES_MS).0)?])?;
        self.sql.exec(NOTE_PUSH, vec![push.into(), integer(now.0)?]).map(drop)
    }

    fn read(&self, read: impl FnOnce(&Parts) -> String) -> Result<String> {
        self.parts.read(|parts| Ok(read(parts)))
    }

    fn change<T>(&self, change: impl FnOnce(&mut Parts) -> T) -> Result<T> {
        // A catalog may be megabytes. Written at each step, it would cost more than the sync
        // itself.
        self.parts.change(|parts| Ok(change(parts)))
    }
}
