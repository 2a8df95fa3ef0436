//! The meter object of one key: loads the state, steps it, and stores it before the reply leaves.
//!
//! The state is an outbox for its record. An alarm writes a changed record to KV, to the key-change
//! feed, and to the directory of keys: immediately, or a second after the previous write. It retries until
//! all succeed. Until KV shows the change, the responses of the meter do.
//!
//! The state is an outbox for alerts too: the alarm delivers them to the webhooks of the account.
//!
//! The meter of a client address or of an `Idempotency-Key` is not kept: its alarm deletes the object
//! once nothing of its state matters.
//!
//! Why: docs/decisions/edge.md, "A message to an object is handled in one call of wasm".

use std::cell::{Cell, RefCell};
use std::ops::ControlFlow;

use futures_util::future::join;
use shared::json;
use shared::key::KeyRecord;
use shared::meter::{CallFilter, HeldMeter, Message, Meter as State, MeterSnapshot, Reply, Sessions};
use shared::time::UnixMillis;
use wasm_bindgen::JsValue;
use wasm_bindgen::prelude::wasm_bindgen;
use worker::{
    DurableObject, Env, Request, Response, Result, SqlStorage, State as ObjectState, durable_object,
};

use super::alert_outbox::AlertOutbox;
use super::{kept_calls, kept_rows};
use crate::bindings;
use crate::gateway::{key_change_feed, key_directory, key_store};
use crate::runtime::message::parse;
use crate::runtime::stored::Stored;
use crate::runtime::{alarm, clock, log, recent, sql};

const TABLE: &str = "CREATE TABLE IF NOT EXISTS state (k INTEGER PRIMARY KEY CHECK (k = 1), j TEXT NOT NULL)";
const LOAD: &str = "SELECT j FROM state";
const STORE: &str = "INSERT INTO state (k, j) VALUES (1, ?) ON CONFLICT (k) DO UPDATE SET j = excluded.j";

/// The minimum gap between two writes, in milliseconds: KV accepts one write a second for each key.
const WRITE_GAP_MS: u64 = 1_000;
/// The maximum wait between two retries, in milliseconds.
const MAX_RETRY_MS: u64 = 60_000;

/// The meter of one key. The runtime holds each reply back until the writes before it are durable.
#[durable_object(alarm)]
pub struct Meter {
    object: ObjectState,
    env: Env,
    sql: SqlStorage,
    /// Time of the last write to KV.
    written: Cell<UnixMillis>,
    failures: Cell<u32>,
    /// The record version for which the alarm was last set, and those that KV has, and the feed with
    /// the directory.
    armed: Cell<u64>,
    stored: Cell<u64>,
    appended: Cell<u64>,
    /// Whether the table is there. A state that was never changed is not stored.
    is_stored: Cell<bool>,
    /// Whether the alarm is set to delete the object.
    is_expiry_armed: Cell<bool>,
    /// Whether the alarm is set to look at the reserve.
    is_reserve_armed: Cell<bool>,
    /// `None` until the first message and after a failed write: the row is then read again.
    /// Boxed, because a step takes it out and puts it back.
    state: RefCell<Option<Box<HeldMeter>>>,
    alerts: AlertOutbox,
    sessions: Stored<Sessions>,
}

impl DurableObject for Meter {
    fn new(object: ObjectState, env: Env) -> Self {
        let storage = object.storage();
        let sql = storage.sql();
        Self {
            object,
            env,
            sql,
            written: Cell::default(),
            failures: Cell::default(),
            armed: Cell::default(),
            stored: Cell::default(),
            appended: Cell::default(),
            is_stored: Cell::default(),
            is_expiry_armed: Cell::default(),
            is_reserve_armed: Cell::default(),
            state: RefCell::new(None),
            alerts: AlertOutbox::default(),
            sessions: Stored::new(storage.sql()),
        }
    }

    /// Handles a message. `entry.js` does the same by [`Meter::receive`], without wasm's part in the
    /// request, the response and the wait for them.
    async fn fetch(&self, mut request: Request) -> Result<Response> {
        let reply = self.handle(&request.text().await?)?;
        self.arm().await?;
        Response::ok(reply)
    }

    /// Never returns an error: the platform gives up on an alarm that fails, and the record would
    /// stay unwritten.
    async fn alarm(&self) -> Result<Response> {
        // There is one alarm, and it has just been used up, whatever it was set for.
        self.is_expiry_armed.set(false);
        self.is_reserve_armed.set(false);
        self.alerts.disarm();
        if let Err(error) = self.end_reserve() {
            log::error(log::Event("meter store failed"), None, &[("error", &error)]);
        }
        if let Err(error) = self.write_record().await {
            self.failures.set(self.failures.get().saturating_add(1));
            log::error(log::Event("key record write failed"), None, &[("error", &error)]);
        }
        // Even if the record could not be written: neither may hold the other back.
        if let Err(error) = self.deliver_alerts().await {
            log::error(log::Event("alert step failed"), None, &[("error", &error)]);
        }
        // Last, because it looks at what the two above have left undone.
        if let Err(error) = self.arm().await {
            log::error(log::Event("meter alarm failed"), None, &[("error", &error)]);
        }
        Response::empty()
    }
}

#[wasm_bindgen(js_sys = worker::js_sys, wasm_bindgen_futures = worker::wasm_bindgen_futures)]
impl Meter {
    /// Handles a message, for `entry.js`. Returns the reply, which must not leave before
    /// [`Meter::set_alarm`] is done if [`Meter::needs_alarm`] says so.
    ///
    /// # Errors
    /// If the message cannot be read, or the step fails.
    pub fn receive(&self, message: &str) -> std::result::Result<String, JsValue> {
        Ok(self.handle(message)?)
    }

    /// Returns true if the state has a record to write, an alert to deliver, or an end to wait for: its own or
    /// that of its reserve.
    ///
    /// # Errors
    /// If the stored state cannot be read.
    #[wasm_bindgen(js_name = needsAlarm)]
    pub fn needs_alarm(&self) -> std::result::Result<bool, JsValue> {
        let expires = self.is_stored.get() && !self.is_expiry_armed.get();
        Ok(self.with_held(|held| {
            let state = held.meter();
            state.unstored().is_some()
                || self.alerts.needs_alarm(state.next_alert_at())
                || (expires && state.expires_in(clock::now()).is_some())
                || (!self.is_reserve_armed.get() && held.looks_in(clock::now()).is_some())
        })?)
    }

    /// Sets the alarm that the state needs.
    ///
    /// # Errors
    /// If the runtime fails to.
    #[wasm_bindgen(js_name = setAlarm)]
    pub async fn set_alarm(&self) -> std::result::Result<(), JsValue> {
        Ok(self.arm().await?)
    }
}

impl Meter {
    fn handle(&self, message: &str) -> Result<String> {
        self.step(parse(message)?).inspect_err(|error| {
            log::error(log::Event("meter step failed"), None, &[("error", error)]);
        })
    }

    /// Sets the alarm if the record must be written and no alarm is set. A newer record does not
    /// wait for the retry of an older one.
    async fn arm(&self) -> Result<()> {
        let Some(record) = self.unstored()? else {
            self.arm_reserve().await?;
            self.alerts.arm(&self.object, self.with_state(State::next_alert_at)?).await?;
            return self.expire().await;
        };
        let storage = self.object.storage();
        // A new version begins anew: a revocation must not wait out the pause of an earlier
        // failure.
        if record.version > self.armed.replace(record.version) {
            self.failures.set(0);
        } else if storage.get_alarm().await?.is_some() {
            return Ok(());
        }
        let gap = WRITE_GAP_MS.saturating_sub(clock::now().since(self.written.get()));
        let retry = WRITE_GAP_MS.saturating_mul(1 << self.failures.get().min(6)).min(MAX_RETRY_MS);
        let wait = if self.failures.get() > 0 { retry } else { gap };
        storage.set_alarm(i64::try_from(wait).unwrap_or(0)).await
    }

    /// Sets the alarm for the next look at the reserve, unless it is set: it runs once for many messages, and arms
    /// again.
    async fn arm_reserve(&self) -> Result<()> {
        if self.is_reserve_armed.get() {
            return Ok(());
        }
        let Some(wait) = self.with_held(|held| held.looks_in(clock::now()))? else { return Ok(()) };
        self.is_reserve_armed.set(true);
        alarm::ensure(&self.object, clock::now().plus(wait)).await
    }

    /// Stores the state without its reserve, if that is over or the key pauses: what is left of it would count as
    /// spent.
    fn end_reserve(&self) -> Result<()> {
        // A meter that was loaded for this alarm has no reserve in memory: what it had counts as spent.
        let Some(mut held) = self.state.borrow_mut().take() else { return Ok(()) };
        if held.look(clock::now()) {
            self.write(&mut held)?;
        }
        self.state.replace(Some(held));
        Ok(())
    }

    /// Deletes the object if nothing of its state matters. Sets the alarm for it if that is later.
    async fn expire(&self) -> Result<()> {
        let expires_in = self.with_state(|state| state.expires_in(clock::now()))?;
        let Some(wait) = expires_in.filter(|_| self.is_stored.get()) else { return Ok(()) };
        if wait == 0 {
            // Before the wait. A message that comes during it must create the table again.
            self.is_stored.set(false);
            self.state.replace(None);
            return self.object.storage().delete_all().await;
        }
        // An earlier alarm, for the record or an alert, arms again for this one when it runs.
        if self.is_expiry_armed.replace(true) {
            return Ok(());
        }
        alarm::ensure(&self.object, clock::now().plus(wait)).await
    }

    /// Delivers the alerts that wait, with those that are due by now.
    async fn deliver_alerts(&self) -> Result<()> {
        let is_due = |next: Option<UnixMillis>| next.is_some_and(|at| at <= clock::now());
        if !is_due(self.with_state(State::next_alert_at)?) {
            return Ok(());
        }
        // First, so that an alert about the expiry, whose moment has come, is among them.
        self.step(Message::Alerts { delivered: Vec::new() })?;
        let (record, alerts) = self.with_state(|state| (state.record().cloned(), state.alerts().to_vec()))?;
        let Some(record) = record.filter(|_| !alerts.is_empty()) else { return Ok(()) };
        let delivered = self.alerts.deliver(&self.env, &record, alerts).await;
        self.step(Message::Alerts { delivered }).map(drop)
    }

    /// Writes the record to KV and to the feed with the directory in parallel. If one fails, only that
    /// one is retried.
    async fn write_record(&self) -> Result<()> {
        let Some(record) = self.unstored()? else { return Ok(()) };
        let (stored, appended) = join(self.store(&record), self.append(&record)).await;
        stored.and(appended)?;
        self.failures.set(0);
        // The version that was written, not the newest: a change during the wait has still to be
        // written.
        self.step(Message::Stored { version: record.version }).map(drop)
    }

    async fn store(&self, record: &KeyRecord) -> Result<()> {
        if record.version > self.stored.get() {
            // Before the write, which KV may count even if its reply is lost.
            self.written.set(clock::now());
            key_store::put(&bindings::key_store(&self.env)?, record).await?;
            self.stored.set(record.version);
        }
        Ok(())
    }

    async fn append(&self, record: &KeyRecord) -> Result<()> {
        if record.version > self.appended.get() {
            let objects = bindings::key_changes(&self.env)?;
            key_change_feed::append(&objects, record).await?;
            key_directory::enter(&objects, record).await?;
            self.appended.set(record.version);
        }
        Ok(())
    }

    fn unstored(&self) -> Result<Option<KeyRecord>> {
        self.with_state(|state| state.unstored().cloned())
    }

    fn with_state<T>(&self, read: impl FnOnce(&State) -> T) -> Result<T> {
        self.with_held(|held| read(held.meter()))
    }

    fn with_held<T>(&self, read: impl FnOnce(&HeldMeter) -> T) -> Result<T> {
        let mut place = self.state.borrow_mut();
        let state = match place.take() {
            Some(state) => state,
            None => self.load()?,
        };
        Ok(read(place.insert(state)))
    }

    /// Handles a message in one synchronous step, so that no other message sees the state in
    /// between. A message that changes nothing writes no row. Returns the reply as JSON.
    fn step(&self, message: Message) -> Result<String> {
        let message = match message {
            Message::Session(_) | Message::InSession { .. } => {
                match self.sessions.change(|sessions| Ok(sessions.receive(message, clock::now())))? {
                    ControlFlow::Continue(message) => message,
                    ControlFlow::Break(reply) => return Ok(json::to_string(&reply)?),
                }
            }
            other => other,
        };
        // Before `step` takes the message.
        let wanted = Wanted::of(&message);
        let mut place = self.state.borrow_mut();
        // Taken out: if a write below fails, this copy is dropped, and the next message reads the
        // row.
        let mut held = match place.take() {
            Some(held) => held,
            None => self.load()?,
        };
        let (mut reply, is_changed) = held.step(message, clock::now());
        let next = held.meter_mut();
        // In the same commit as the state. A crash in between would lose the row or keep it twice.
        for row in next.take_full_rows() {
            kept_calls::keep(&self.sql, &row, clock::now());
        }
        if next.take_erased() {
            kept_calls::erase(&self.sql)?;
            recent::erase(&self.sql)?;
        }
        if let Some(ended) = next.take_ended_hour() {
            kept_rows::keep_hour(&self.sql, &ended)?;
        }
        kept_rows::list_alerts(&self.sql, next);
        if let Reply::Read(snapshot) | Reply::Show(Some(snapshot)) = &mut reply {
            self.complete(snapshot, wanted, next)?;
        }
        let reply = json::to_string(&reply)?;
        // Of a subject that was refused immediately, nothing matters: a row would be deleted again.
        let matters = self.is_stored.get() || next.expires_in(clock::now()) != Some(0);
        if is_changed && matters {
            // Not when the object begins: looking at an unknown subject would leave a database
            // behind.
            if !self.is_stored.replace(true) {
                self.sql.exec(TABLE, None)?;
            }
            self.write(&mut held)?;
        }
        *place = Some(held);
        Ok(reply)
    }

    fn write(&self, held: &mut HeldMeter) -> Result<()> {
        let stored = held.row(json::to_string)?;
        self.sql.exec(STORE, vec![stored.into()]).map(drop)
    }

    /// Adds what is stored beside the state.
    fn complete(&self, snapshot: &mut MeterSnapshot, wanted: Wanted, state: &State) -> Result<()> {
        let now = clock::now();
        match wanted {
            Wanted::State => snapshot.refusals = Some(kept_calls::refusals(&self.sql, state.calls(), now)),
            Wanted::Hours { since } => snapshot.hours = kept_rows::load_hours(&self.sql, since)?,
            Wanted::Calls(filter) => {
                snapshot.calls = Some(kept_calls::page(&self.sql, state.calls(), &filter, now));
            }
            Wanted::Alerts => snapshot.alerts = kept_rows::load_alerts(&self.sql),
        }
        Ok(())
    }

    /// Returns the stored state. An unreadable one is an error, because a new one would give every
    /// call back.
    fn load(&self) -> Result<Box<HeldMeter>> {
        self.is_stored.set(sql::has_table(&self.sql, "state")?);
        let held = |state| Box::new(HeldMeter::new(state));
        if !self.is_stored.get() {
            return Ok(held(State::default()));
        }
        let rows = self.sql.exec(LOAD, None)?.raw().collect::<Result<Vec<_>>>()?;
        match rows.into_iter().flatten().next() {
            None => Ok(held(State::default())),
            Some(worker::SqlStorageValue::String(text)) => parse(&text).map(held),
            Some(_) => Err("the stored state is not text".into()),
        }
    }
}

/// The part of a snapshot that is stored beside the state.
enum Wanted {
    /// The groups of refused calls.
    State,
    Hours {
        since: u64,
    },
    Calls(CallFilter),
    Alerts,
}

impl Wanted {
    fn of(message: &Message) -> Self {
        match message {
            Message::History { since, .. } => Self::Hours { since: *since },
            Message::Calls { filter, .. } => Self::Calls(filter.clone()),
            Message::ReadAlerts(_) => Self::Alerts,
            _ => Self::State,
        }
    }
}
