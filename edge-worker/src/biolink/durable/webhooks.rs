//! The object of one account's webhooks: endpoints, the event log, and deliveries.
//!
//! Events arrive from the stores of pages, from the account and from the meters of its keys, and become
//! deliveries in the same commit. The alarm sends them. It continues until nothing is due, so that an endpoint
//! that hangs delays none of the others.
//!
//! # An event on its way to a receiver
//!
//! Paths are relative to `src/`, or begin with the name of another crate.
//!
//! 1. The account knows which kinds its endpoints want of each page
//!    (`biolink/src/webhooks/subscriptions.rs`) and tells the stores of its pages
//!    (`biolink/durable/account.rs`, `Task::Subscribe`).
//! 2. `biolink/durable/stats.rs` writes the events that are wanted to an outbox in the commit that counts
//!    them (`biolink/src/stats/outbox.rs`, `biolink/durable/stats/outbox.rs`). Its alarm sends the rows to
//!    the account's Webhooks object until they are taken. A publication comes from the account's own outbox
//!    (`biolink/src/pages_api/account/outbox.rs`, `Task::Published`). An alert about a key comes from its
//!    meter, whose state decides it and is its outbox (`shared/src/meter/alerts.rs`,
//!    `gateway/durable/alert_outbox.rs`), and `biolink/durable/webhooks/alerts.rs` knows those that it has
//!    had. Both objects also keep a short list of theirs for `GET /v1/keys/me/alerts`
//!    (`runtime/recent.rs`).
//! 3. `biolink/durable/webhooks/append.rs` knows rows and publications that it has had. It asks the account
//!    for the names of the page (`biolink/src/webhooks/card.rs`), renders each envelope
//!    (`biolink/src/webhooks/envelope.rs`) and logs it under the next `sequence`
//!    (`biolink/durable/webhooks/events.rs`).
//! 4. In the same commit, `biolink/src/webhooks_api/fan_out.rs` makes a delivery for each endpoint that
//!    wants the event, or adds it to the endpoint's open batch (`biolink/durable/webhooks/deliveries.rs`).
//!    `biolink/src/webhooks/backlog.rs` says what is dropped if too many wait.
//! 5. The alarm (`biolink/durable/webhooks/send.rs`) takes what is due, at most six requests at the same
//!    time, and as many to each endpoint as its `biolink/src/webhooks/health.rs` allows.
//!    `biolink/src/webhooks_api/request.rs` signs each attempt afresh, and `biolink/guarded_fetch.rs` sends
//!    it.
//! 6. The result decides what follows: `biolink/src/webhooks/schedule.rs` the next attempt,
//!    `biolink/src/webhooks/health.rs` the circuit and the failure budget.
//!
//! `biolink/handlers/webhooks.rs` serves the API: the account admits the call, and
//! `biolink/durable/webhooks/calls.rs` handles it.

mod alert_table;
mod alerts;
mod append;
mod calls;
mod deliveries;
mod events;
mod in_flight;
mod pages;
mod send;

use std::cell::{Cell, RefCell};

use biolink::page::PageId;
use biolink::webhooks::EncryptionKeys;
use biolink::webhooks_api::{Endpoints, WebhooksMessage};
use serde::{Deserialize, Serialize};
use shared::key::KeyId;
use shared::time::UnixMillis;
use worker::{
    DurableObject, Env, Request, Response, Result, SqlStorage, State as ObjectState, durable_object,
    wasm_bindgen,
};

use self::alert_table::AlertTable;
use self::deliveries::DeliveryTable;
use self::events::EventTable;
use self::in_flight::InFlight;
use self::pages::PageTable;
use crate::bindings;
use crate::runtime::message::parse;
use crate::runtime::stored::{Rows, Store, Stored, row};
use crate::runtime::{alarm, clock, log, recent};

const CREATE: &str = "CREATE TABLE IF NOT EXISTS state (k TEXT PRIMARY KEY, j TEXT NOT NULL) WITHOUT ROWID";
const ERASE: &str = "DELETE FROM state";
const COUNTERS: &str = "counters";
const ENDPOINTS: &str = "endpoints";
const DONE: &str = "true";
/// Time from an alarm that failed to the next, in milliseconds.
const RETRY_MS: u64 = 60_000;

/// The webhooks of one account.
#[durable_object(alarm)]
pub struct Webhooks {
    object: ObjectState,
    env: Env,
    sql: SqlStorage,
    events: EventTable,
    deliveries: DeliveryTable,
    pages: PageTable,
    alerts: AlertTable,
    in_flight: RefCell<InFlight>,
    /// Whether a run of the alarm has not ended.
    is_running: Cell<bool>,
    state: Stored<State>,
}

/// The object's knowledge of its store.
struct State {
    counters: Counters,
    endpoints: Endpoints,
}

impl Store for State {
    const TABLE: &'static str = "state";

    fn create(sql: &SqlStorage) -> Result<()> {
        sql.exec(CREATE, None)?;
        EventTable(sql.clone()).create()?;
        DeliveryTable(sql.clone()).create()?;
        PageTable::new(sql.clone()).create()?;
        AlertTable(sql.clone()).create()
    }

    fn load(rows: &Rows<'_>) -> Result<Self> {
        Ok(Self { counters: rows.value(COUNTERS)?, endpoints: rows.value(ENDPOINTS)? })
    }

    fn texts(&self) -> Result<Vec<(&'static str, String)>> {
        Ok(vec![row(COUNTERS, &self.counters)?, row(ENDPOINTS, &self.endpoints)?])
    }
}

/// The object's counters, and its knowledge of the account.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
struct Counters {
    /// The sequence of the last event.
    sequence: u64,
    /// The number of the last delivery.
    delivery: u64,
    /// The address below which pages are shown.
    base: String,
    account: Option<KeyId>,
    /// The moment at which old events are dropped.
    expires_at: UnixMillis,
    /// Whether the account does not know yet which events are wanted.
    unannounced: bool,
}

impl DurableObject for Webhooks {
    fn new(object: ObjectState, env: Env) -> Self {
        let storage = object.storage();
        Self {
            sql: storage.sql(),
            events: EventTable(storage.sql()),
            deliveries: DeliveryTable(storage.sql()),
            pages: PageTable::new(storage.sql()),
            alerts: AlertTable(storage.sql()),
            in_flight: RefCell::default(),
            is_running: Cell::new(false),
            state: Stored::new(storage.sql()),
            object,
            env,
        }
    }

    async fn fetch(&self, mut request: Request) -> Result<Response> {
        let handled = match parse(&request.text().await?)? {
            WebhooksMessage::Call(request) => self.call(&request).await,
            WebhooksMessage::Append { account, page, rows, dropped } => {
                self.append(account, page, &rows, dropped).await
            }
            WebhooksMessage::Published { account, page, version, publication } => {
                self.publish(account, page, version, &publication).await
            }
            WebhooksMessage::Alert(alerts) => self.alert(alerts).await,
            WebhooksMessage::ReadAlerts => self.read_alerts(),
            WebhooksMessage::Purge(page) => self.purge(&page),
            WebhooksMessage::Erase => self.erase(),
            WebhooksMessage::Export => self.export(),
        };
        match handled {
            Ok(reply) => Response::ok(reply),
            Err(error) => {
                // What was changed in memory may not be stored. The next step reads it again.
                self.state.forget();
                log::error(log::Event("webhooks step failed"), None, &[("error", &error)]);
                Err(error)
            }
        }
    }

    /// Never returns an error: the platform gives up on an alarm that fails, and deliveries would
    /// stay.
    async fn alarm(&self) -> Result<Response> {
        if self.is_running.replace(true) {
            // The other run looks for what is due until nothing is.
            return Response::empty();
        }
        let ran = self.run().await;
        self.is_running.set(false);
        if ran.is_err() {
            self.state.forget();
        }
        alarm::end(
            &self.object,
            ran,
            RETRY_MS,
            [log::Event("webhooks alarm failed"), log::Event("webhooks alarm not set")],
        )
        .await
    }
}

impl Webhooks {
    /// Sets the alarm, unless it is set for an earlier moment.
    async fn wake(&self, at: UnixMillis) -> Result<()> {
        // An alarm in the past is one that runs now, and that may have looked for work before this
        // came.
        // One that is overdue is not waited for: the platform may have put it off.
        if at <= clock::now() {
            return alarm::set(&self.object, at).await;
        }
        alarm::ensure(&self.object, at).await
    }

    /// Drops the events of a deleted page.
    fn purge(&self, page: &PageId) -> Result<String> {
        self.read(|_| Ok(()))?;
        self.events.purge(page)?;
        self.pages.purge(page)?;
        Ok(DONE.to_owned())
    }

    /// Drops everything.
    fn erase(&self) -> Result<String> {
        self.read(|_| Ok(()))?;
        self.events.erase()?;
        self.deliveries.erase()?;
        self.pages.erase()?;
        self.alerts.erase()?;
        recent::erase(&self.sql)?;
        self.sql.exec(ERASE, None)?;
        self.state.forget();
        Ok(DONE.to_owned())
    }

    fn encryption(&self) -> Result<EncryptionKeys> {
        bindings::webhook_encryption(&self.env)
    }

    fn read<T>(&self, read: impl FnOnce(&State) -> Result<T>) -> Result<T> {
        self.state.read(read)
    }

    fn change<T>(&self, change: impl FnOnce(&mut State) -> Result<T>) -> Result<T> {
        // A copy: a change that fails half-way must leave nothing behind in memory.
        // A row that is written costs money, and most steps change one of both.
        // After the writes. A reader that waits would otherwise look before the event is there.
        self.state.change(change)
    }
}
